// The input of a worked attention: matrices that the reader gives at any stage, as in pellucid/worked/attention.py.
// Each is a list of Matrix, one for each head or one for all heads. An unknown number is NaN.

import { Matrix } from "../base/matrix.js";
import { Mask } from "../model/cache.js";
import { UsageError } from "./typed_matrix.js";

const ENTRIES = ["scores", "scaled_scores", "masked_scores", "weights"]; // an example without Q and K starts with one
const WEIGHT_OF = { queries: "w_query", keys: "w_key", values: "w_value" };

/** Prepare an attention: {ready: stages given or projected, run(model): compute the others, …}; shapes must fit. */
export const givenAttention = (asked) => {
  const { arrays, scale, mask } = asked;
  const entry = ENTRIES.find((name) => name in arrays) ?? null;
  const given = { arrays, entry, heads: headsOf(asked), ready: {} };
  for (const name of entry ? ["values"] : Object.keys(WEIGHT_OF)) project(name, given);
  if (entry) given.ready[entry] = forEachHead(arrays[entry], given);
  const { queries, keys, values } = given.ready;
  given.rows = (queries ?? given.ready[entry])[0].rows;
  given.columns = entry ? given.ready[entry][0].columns : keys[0].rows;
  if (queries) product("scores", "queries", queries[0], "keys^T", keys[0].transposed(), "keys");
  if (values) product("context", "weights", new Matrix(given.rows, given.columns), "values", values[0]);
  const output = values && arrays.w_output;
  if (output) {
    product("output", "concatenated", new Matrix(given.rows, values[0].columns * given.heads), "w_output", output[0]);
  }
  given.divisor = divisorOf(scale, given);
  given.causal = mask === "causal";
  if (given.causal || Array.isArray(mask)) readMask(mask, given);
  return { ...given, last: output ? "output" : values ? "concatenated" : "weights", run: runOf(given) };
};

/** Return a list with one entry for each head; a single entry is repeated. */
const forEachHead = (array, { heads }) => (array.length === 1 ? Array(heads).fill(array[0]) : array);

const runOf = (given) => (model) => {
  const { heads, rows, columns, divisor, causal, arrays } = given;
  const show = (name, value) => model.see("", name, "", value);
  const none = (length) => Array(heads).fill(new Matrix(length, 0)); // placeholders for stages that are missing
  const projected = [show("queries", none(rows)), show("keys", none(columns)), show("values", none(columns))];
  const context = model.attend("", ...projected, new Mask(null, causal ? 0 : null), 1 / (divisor ?? 1));
  const concatenated = show("concatenated", Matrix.besideEachOther(context));
  if (arrays.w_output) show("output", model.linear(concatenated, "w_output"));
};

/** Return the number of heads. All arguments that have a matrix for each head must agree. */
const headsOf = ({ arrays, heads, mask }) => {
  const counts = heads === undefined ? [] : [["heads", heads]];
  for (const [name, array] of Object.entries({ ...arrays, mask })) {
    if (!Array.isArray(array) || array.length === 1) continue;
    if (["inputs", "memory"].includes(name))
      throw new UsageError(`${name}: one matrix for all heads. Take the empty line out.`, name);
    counts.push([name, array.length]);
  }
  if (counts.some(([, count]) => count < 1)) throw new UsageError("heads must be a whole number, 1 or more.", "heads");
  if (new Set(counts.map(([, count]) => count)).size > 1) {
    const listed = counts.map((pair) => pair.join(" ")).join(", ");
    throw new UsageError(`different numbers of heads are given: ${listed}. Give one matrix for each head.`, "heads");
  }
  return counts[0]?.[1] ?? 1;
};

/** Make ready the queries, keys or values of each head: as given, or x · W of the inputs or the memory, or x itself. */
const project = (name, { arrays, heads, ready }) => {
  const [source, weight] = [name !== "queries" && arrays.memory ? "memory" : "inputs", WEIGHT_OF[name]];
  let [made, place] = [arrays[name], name];
  if (!made && arrays[source]) {
    place = arrays[weight] ? weight : source;
    made = arrays[weight]?.map((w) => product(name, source, arrays[source][0], weight, w)) ?? arrays[source];
  }
  if (!made && name === "values") return;
  if (!made) throw new UsageError(`there are no ${name}. Give ${name}, or inputs (and ${weight}).`, name);
  const [{ columns }] = made;
  if (made.length === 1 && columns % heads)
    throw new UsageError(`${name}: ${columns} columns are not a multiple of heads = ${heads}.`, place);
  ready[name] = made.length === 1 ? made[0].split(heads) : made;
};

/** Return a · b; throw an error if the shapes do not fit. */
export const product = (result, left, a, right, b, place = right) => {
  if (a.columns === b.rows) return a.times(b);
  const turned = a.columns === b.columns && right.startsWith("w_");
  const hint = turned ? ` Its transpose would: ${right} is written in × out.` : "";
  const sizes = `(${a.size})·(${b.size}), which does not multiply`;
  const why = `the left has ${a.columns} columns, the right ${b.rows} rows.${hint}`;
  throw new UsageError(`${result}: ${left} · ${right} is ${sizes}: ${why}`, place);
};

/** Throw an error if a matrix does not have this size. */
export const checkSize = (name, { size }, rows, columns) => {
  if (size === `${rows}×${columns}`) return;
  throw new UsageError(`${name} is ${size} and must be ${rows}×${columns}, to fit what it meets.`, name);
};

/** Return the number that divides the scores, or null. Without queries there is no d_k. */
const divisorOf = (scale, { ready, arrays, heads }) => {
  const width = ready.queries?.[0].columns;
  const model = arrays.inputs?.[0].columns ?? width * heads;
  if (scale === "none" || (scale === "sqrt_dk" && !width)) return null;
  if (scale === "sqrt_dmodel" && !model)
    throw new UsageError("scale: no inputs or queries say d_model. Give its root, a number.", "scale");
  const divisor = { sqrt_dk: Math.sqrt(width), sqrt_dmodel: Math.sqrt(model) }[scale] ?? scale;
  if (divisor > 0 && Number.isFinite(divisor)) return divisor;
  throw new UsageError("scale must be a number above 0: it divides the scores.", "scale");
};

/** Check the mask: "causal", or the reader's matrices (one for each head or one for all) of numbers that are ≤ 0. */
const readMask = (mask, given) => {
  const { rows, columns, causal } = given;
  if (causal && rows !== columns) {
    const why = "It is for self-attention, where queries and keys share their positions. Give an array of 0 and -inf.";
    throw new UsageError(`mask = "causal": the scores are ${rows}×${columns}. ${why}`, "mask");
  }
  if (causal) return;
  if (mask.some(({ data }) => data.some((value) => !(value <= 0))))
    throw new UsageError("mask: it is added to the scores: 0 where a query may look, -inf where not.", "mask");
  checkSize("mask", mask[0], rows, columns);
  given.ready.mask = forEachHead(mask, given);
};
