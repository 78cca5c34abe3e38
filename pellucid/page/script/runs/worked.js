// A worked example: from matrices, entered at any stage, to every stage of an attention, through the page's own
// `attend`, as pellucid/worked has it in Python. A matrix that somebody gives is a list of rows, for several heads a
// list of such; a stage is a list of Matrix, one for each head. A number that is not known is NaN.

import { Matrix } from "../base/matrix.js";
import { makeTensor } from "../base/numbers.js";
import { page } from "../base/page.js";
import { Mask } from "../model/cache.js";
import { Transformer } from "../model/model.js";
import { noSuchName } from "./runs.js";
import { UNSWITCHED } from "./switches.js";

/** A wrong setting or matrix; `place` names the field to mend. */
export class UsageError extends Error {
  constructor(message, place = "") {
    super(message);
    this.place = place;
  }
}

const ENTRIES = ["scores", "scaled_scores", "masked_scores", "weights"]; // where an example may start, after Q and K
export const WEIGHT_OF = { queries: "w_query", keys: "w_key", values: "w_value" };

export const GIVEN_MATRICES = [
  "inputs",
  "memory",
  "w_query",
  "w_key",
  "w_value",
  "w_output",
  "queries",
  "keys",
  "values",
  ...ENTRIES,
];

/** The stages and their axes; the table of slips and the ways of shapes come with them, from Python. */
export const stageAxes = () => page.header.own.stages;
export const stageNames = () => Object.keys(stageAxes());
export const isPerHead = (value) => Array.isArray(value[0]?.[0]);
export const columnsOf = (matrix) => matrix[0].length;
export const transpose = (matrix) => matrix[0].map((_, column) => matrix.map((row) => row[column]));
export const eachHead = (matrix, heads = 1) => (isPerHead(matrix) ? matrix : Array(heads).fill(matrix));
export const toMatrix = (rows) => new Matrix(rows.length, columnsOf(rows), Float64Array.from(rows.flat()));
export const sizeOf = ({ rows, columns }) => `${rows}×${columns}`;

/** Every stage by its name, in order, and how its shape comes about, of {arrays, heads, scale, mask, tokens …}. */
export const workedExample = (asked) => {
  const given = givenOf(asked);
  const stages = {};
  runStages(given, (name, heads) => (stages[name] = heads));
  const isKnown = !Object.values(given.arrays).flat(3).some(Number.isNaN);
  for (const [name, heads] of Object.entries(stages)) {
    const numbers = heads.flatMap(({ data }) => [...data]);
    if (!numbers.some((value) => value === Infinity || (isKnown && Number.isNaN(value)))) continue;
    throw new UsageError(`${name}: from these numbers it overflows float64 (1.8e308). Give smaller ones.`);
  }
  return { given, stages, shapes: shapesOf(given, stages) };
};

/** All stages; `see` is shown each of them, and returns what the next stages use. */
export const runStages = (given, see) => {
  const { rows, columns, heads } = given;
  let masks = null;
  const show = (name, computed) => {
    let made = given.ready[name] ?? computed;
    // A masked score is −∞ even where the score is not known: NaN − ∞ would be NaN.
    const hidden = (head) => (score, l, m) => (masks[head].at(l, m) === -Infinity ? -Infinity : score);
    if (name === "masked_scores") made = made.map((scores, head) => scores.map(hidden(head)));
    if (given.reached.includes(name)) made = see(name, made);
    if (name === "mask") masks = made;
    return made;
  };
  const empty = (length) => Array.from({ length: heads }, () => new Matrix(length, 0));
  const projected = [show("queries", empty(rows)), show("keys", empty(columns)), show("values", empty(columns))];
  const model = new Transformer({ heads }, new Map(), (_, name, axes, computed) => show(name, computed));
  const context = model.attend("", ...projected, new Mask(null, given.causal ? 0 : null), 1 / (given.divisor ?? 1));
  const concatenated = show("concatenated", [Matrix.besideEachOther(context)]);
  if (given.reached.includes("output")) show("output", [concatenated[0].times(toMatrix(given.wOutput))]);
};

/** What the stages are made from; throws where something does not fit, or would have no effect. */
const givenOf = (asked) => {
  const { arrays } = asked;
  const entry = ENTRIES.find((name) => name in arrays) ?? null;
  const given = { arrays, entry, heads: headsOf(asked), matrices: {}, projections: {}, ready: {} };
  for (const name of entry ? ["values"] : Object.keys(WEIGHT_OF)) projectFrom(name, given);
  if (entry) {
    given.matrices[entry] = arrays[entry];
    given.ready[entry] = eachHead(arrays[entry], given.heads).map(toMatrix);
  }
  const { queries, keys, values } = given.ready;
  given.rows = (queries ?? given.ready[entry])[0].rows;
  given.columns = entry ? given.ready[entry][0].columns : keys[0].rows;
  if (queries) product("scores", "queries", queries[0], "keys^T", keys[0].transposed(), "keys");
  if (values) product("context", "weights", new Matrix(given.rows, given.columns), "values", values[0]);
  refuseIdle(given, asked);
  given.wOutput = arrays.w_output ? eachHead(arrays.w_output).flat() : null;
  const width = values ? values[0].columns * given.heads : 0;
  if (given.wOutput)
    product("output", "concatenated", new Matrix(given.rows, width), "w_output", toMatrix(given.wOutput));
  given.divisor = divisorOf(asked.scale, given);
  given.causal = asked.mask === "causal";
  if (given.causal && given.rows !== given.columns) {
    const why = "It is for self-attention, where those who ask are those who are asked. Give an array of 0 and -inf.";
    throw new UsageError(`mask = "causal": the scores are ${given.rows}×${given.columns}. ${why}`, "mask");
  }
  if (Array.isArray(asked.mask)) readMask(asked.mask, given);
  given.tokens = tokensAlong(asked, given);
  given.reached = reachedStages(given);
  return given;
};

/** The stages that have numbers: from the entry to the end. */
const reachedStages = ({ entry, ready, wOutput }) => {
  const names = stageNames();
  const last = !ready.values ? "weights" : wOutput ? "output" : "concatenated";
  const later = names.slice(names.indexOf(entry ?? "scores"), names.indexOf(last) + 1);
  return [...Object.keys(WEIGHT_OF).filter((name) => ready[name]), ...later];
};

/** The number of heads, on which all that has a matrix for each of them agrees. */
const headsOf = ({ arrays, heads }) => {
  const counts = heads === null ? [] : [["heads", heads]];
  for (const [name, array] of Object.entries(arrays)) if (isPerHead(array)) counts.push([name, array.length]);
  if (counts.some(([, count]) => !(Number.isInteger(count) && count >= 1)))
    throw new UsageError("heads must be a whole number, 1 or more.", "heads");
  if (new Set(counts.map(([, count]) => count)).size > 1) {
    const listed = counts.map((pair) => pair.join(" ")).join(", ");
    throw new UsageError(`the numbers of heads differ: ${listed}. Give every head its matrix.`, "heads");
  }
  return counts[0]?.[1] ?? 1;
};

/** Queries, keys or values for each head: as given, or x · W from the inputs or the memory, or x itself. */
const projectFrom = (name, given) => {
  const { arrays, heads } = given;
  const [source, weight] = [name !== "queries" && arrays.memory ? "memory" : "inputs", WEIGHT_OF[name]];
  const split = (matrix, place) => {
    if (matrix.columns % heads === 0) return matrix.split(heads);
    throw new UsageError(`${name}: ${matrix.columns} columns are not a multiple of heads = ${heads}.`, place);
  };
  const apart = (array, place) => (isPerHead(array) ? array.map(toMatrix) : split(toMatrix(array), place));
  if (arrays[name]) {
    given.matrices[name] = arrays[name];
    given.ready[name] = apart(arrays[name], name);
  } else if (arrays[source]) {
    const [matrix, weights] = [arrays[source], arrays[weight] ?? null];
    given.projections[name] = { source, matrix, weight, weights };
    const times = (w) => product(name, source, toMatrix(matrix), weight, toMatrix(w));
    if (weights === null) given.ready[name] = apart(matrix, source);
    else given.ready[name] = isPerHead(weights) ? weights.map(times) : split(times(weights), weight);
  } else if (name !== "values") {
    throw new UsageError(`there are no ${name}. Give ${name}, or inputs (and ${weight}).`, name);
  }
};

/** a · b; throws where the product does not exist. */
const product = (result, left, a, right, b, place = right) => {
  if (a.columns === b.rows) return a.times(b);
  const turned = a.columns === b.columns && right.startsWith("w_");
  const hint = turned ? ` Its transpose would: ${right} is written in × out.` : "";
  const sizes = `(${sizeOf(a)})·(${sizeOf(b)}), which does not multiply`;
  const why = `the left has ${a.columns} columns, the right ${b.rows} rows.${hint}`;
  throw new UsageError(`${result}: ${left} · ${right} is ${sizes}: ${why}`, place);
};

/** Throws for the first argument that nothing is computed from. */
const refuseIdle = ({ entry, arrays, matrices, projections, ready }, { scale, mask }) => {
  const used = new Set(Object.keys(matrices));
  for (const { source, weight } of Object.values(projections)) used.add(source).add(weight);
  if (ready.values) used.add("w_output");
  const idle = Object.keys(arrays).filter((name) => !used.has(name));
  if (mask !== null && ["masked_scores", "weights"].includes(entry)) idle.push("mask");
  if (![null, "sqrt_dk"].includes(scale) && ![null, "scores"].includes(entry)) idle.push("scale");
  if (!idle.length) return;
  const others = Object.keys(arrays)
    .filter((name) => used.has(name))
    .join(", ");
  const why = `${idle[0]} has no effect beside ${others}: nothing is computed from it`;
  throw new UsageError(`${why}. Leave it out, or start from another stage.`, idle[0]);
};

/** What divides the scores; null where nothing does. Without queries there is no d_k. */
const divisorOf = (scale, { ready, arrays, heads }) => {
  const width = ready.queries?.[0].columns ?? null;
  if (scale === null || (scale === "sqrt_dk" && width === null)) return null;
  if (scale === "sqrt_dk") return Math.sqrt(width);
  if (scale === "sqrt_dmodel") {
    if (arrays.inputs) return Math.sqrt(columnsOf(arrays.inputs));
    if (width !== null) return Math.sqrt(width * heads);
    throw new UsageError("scale: no inputs or queries say d_model. Give its root, a number.", "scale");
  }
  if (scale > 0 && Number.isFinite(scale)) return scale;
  throw new UsageError("scale must be a number above 0: it divides the scores.", "scale");
};

/** A mask of one's own, 0 or below, a matrix for each head. */
const readMask = (mask, given) => {
  if (mask.flat(2).some((value) => !(value <= 0))) {
    const ways = "0 where a query may look, -inf where it may not; or true and false";
    throw new UsageError(`mask: a mask is added to the scores: ${ways}.`, "mask");
  }
  const heads = eachHead(mask, given.heads).map(toMatrix);
  const wanted = `${given.rows}×${given.columns}`;
  if (sizeOf(heads[0]) !== wanted || heads.length !== given.heads) {
    throw new UsageError(`mask is ${sizeOf(heads[0])} and must be ${wanted}, as the scores are.`, "mask");
  }
  given.matrices.mask = mask;
  given.ready.mask = heads;
};

/** The words along L and M, where they are given; in self-attention they are the same. */
const tokensAlong = ({ arrays, tokens, memory_tokens: others }, { rows, columns }) => {
  const found = {};
  const same = others === null && !arrays.memory && rows === columns ? tokens : others;
  for (const [place, axis, words, length] of [
    ["tokens", "L", tokens, rows],
    ["memory_tokens", "M", same, columns],
  ]) {
    if (words !== null && words.length !== length)
      throw new UsageError(`${place}: ${words.length} words for ${length} rows. Give one for each.`, place);
    if (words !== null) found[axis] = words;
  }
  return found;
};

/** "(2×4)·(4×3) = (2×3)" for each stage; of each head, where there are several. */
const shapesOf = (given, stages) => {
  const { rows, columns, heads, divisor, projections } = given;
  const sizes = { divisor: Number((divisor ?? 1).toPrecision(6)), heads };
  for (const [name, array] of Object.entries(given.arrays)) sizes[name] = sizeOf(toMatrix(eachHead(array)[0]));
  for (const [name, stage] of Object.entries(stages)) sizes[name] = sizeOf(stage[0]);
  sizes.scores = `${rows}×${columns}`;
  sizes["keys^T"] = stages.keys ? sizeOf(stages.keys[0].transposed()) : "";
  const told = {};
  for (const name of Object.keys(stages)) {
    const isPlain = name in given.matrices || (name === "concatenated" && heads === 1);
    const way = (!isPlain && page.header.own.shapes[name]) || `({${name}})`;
    told[name] = way.replace(/\{([^}]*)\}/g, (_, each) => sizes[each]);
    if (!projections[name]) continue;
    const { source, matrix, weight, weights } = projections[name];
    const whole = `${matrix.length}×${columnsOf(weights ? eachHead(weights)[0] : matrix)}`;
    told[name] = weights ? `(${sizes[source]})·(${sizes[weight]}) = (${whole})` : `(${whole})`;
    if (whole !== sizes[name]) told[name] += `, ${heads} heads of (${sizes[name]})`;
  }
  return told;
};

/** A worked example as a run, so that the plates show it as they show a translation's attention. */
export const runOfWorked = ({ given, stages }, title, shown = stages) => {
  const names = Object.keys(shown);
  const tensors = new Map(names.map((name) => [name, tensorOfStage(name, shown[name])]));
  const numbered = (length) => Array.from({ length }, (_, place) => String(place));
  const [target, source] = [given.tokens.L ?? numbered(given.rows), given.tokens.M ?? numbered(given.columns)];
  return {
    title,
    source,
    target,
    names,
    given,
    expected: [],
    text: "",
    translation: "",
    to: null,
    steps: [],
    computes: true,
    switches: UNSWITCHED,
    config: {}, // its settings are in `given`
    get: async (name) => {
      if (!tensors.has(name)) throw new Error(noSuchName(name, names));
      return tensors.get(name);
    },
    origin: (name) => (name in given.matrices ? "recorded" : "computed"),
    labels: (name, axis) => {
      const { axes, shape } = tensors.get(name);
      return { L: target, M: source }[axis] ?? numbered(shape[axes.indexOf(axis)]);
    },
    parameter: () => null, // its matrices W are in `given`
  };
};

const tensorOfStage = (name, heads) => {
  const axes = stageAxes()[name];
  const size = [heads[0].rows, heads[0].columns];
  const shape = axes.includes("H") ? [1, heads.length, ...size] : [1, ...size];
  return makeTensor(axes, shape, Float64Array.from(heads.flatMap(({ data }) => [...data])));
};
