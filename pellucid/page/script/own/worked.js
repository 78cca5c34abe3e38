// A worked example: compute every stage from given matrices, with the page's model. The table of tensors names the
// inputs of each stage, so that the same code draws the stages of a worked example and of a translation.

import { Matrix } from "../base/matrix.js";
import { makeTensor } from "../base/numbers.js";
import { page } from "../base/page.js";
import { Transformer } from "../model/model.js";
import { tensorOfHeads } from "../runs/computed.js";
import { sibling } from "../runs/parts.js";
import { captionOfTensor, finishRun } from "../runs/runs.js";
import { UNSWITCHED } from "../runs/switches.js";
import { givenAttention } from "./attention.js";
import { givenEmbedding, givenLayer } from "./parts.js";
import { UsageError, eachHead, writtenNumber } from "./typed_matrix.js";

// A parameter's name in the table of tensors -> the names of its weight and bias here. PATHS: its path in the model.
const PARAMETERS = {
  query: ["w_query"],
  key: ["w_key"],
  value: ["w_value"],
  output: ["w_output"],
  inner: ["w_1", "b_1"],
  outer: ["w_2", "b_2"],
  norm: ["norm_weight", "norm_bias"],
  embedding: ["w_embedding"],
};
const PATHS = { inner: "feed_forward.inner", outer: "feed_forward.outer", norm: "residual.norm" };

/** Work an example out from a table (of a file or the form): {given, stages: a map by name, in order}. */
export const workedExample = (table) => {
  const asked = readTable(table);
  const given = givenBy(asked)(asked);
  given.parameters = parametersOf(given.arrays);
  given.tokens = tokensAlong(asked, given);
  const stages = {};
  runStages(given, (name, heads) => (stages[name] = heads));
  return { given, stages };
};

const givenBy = ({ arrays }) => {
  if ("ids" in arrays) return givenEmbedding;
  return "sublayer" in arrays || "w_1" in arrays ? givenLayer : givenAttention;
};

/** Read the texts of a table as numbers. */
const readTable = ({ given, mask = "none", scale = "sqrt_dk", ...others }) => ({
  ...others,
  scale,
  mask: Array.isArray(mask) ? numbersTyped(mask) : mask,
  arrays: Object.fromEntries(Object.entries(given).map(([name, cells]) => [name, numbersTyped(cells)])),
});

/** Return a list of Matrix, one for each head, from cells as written. */
export const numbersTyped = (cells) =>
  eachHead(cells).map((rows) => {
    const numbers = rows.flat().map((cell) => writtenNumber(cell).number);
    return new Matrix(rows.length, rows[0].length, Float64Array.from(numbers));
  });

/** Return the parameters of an example, by their names here and in the model, stored out × in as in nn.Linear. */
const parametersOf = (arrays) => {
  const parameters = new Map();
  for (const [kind, names] of Object.entries(PARAMETERS)) {
    for (const [place, name] of names.filter((each) => arrays[each]).entries()) {
      const whole = Matrix.besideEachOther(arrays[name]); // join the heads' matrices side by side
      const stored = kind === "embedding" ? whole : whole.transposed(); // a row keeps its numbers
      const tensor = makeTensor("OI", [stored.rows, stored.columns], stored.data);
      parameters.set(name, tensor).set(`${PATHS[kind] ?? kind}.${["weight", "bias"][place]}`, tensor);
    }
  }
  return parameters;
};

/** Compute all stages. `see` gets each stage (a list of heads) and returns the numbers that the next stages use. */
export const runStages = ({ config, heads, parameters, ready, entry, last, run }, see) => {
  const names = stageNames();
  const isReached = (name) =>
    !last ||
    name in ready ||
    (names.indexOf(name) >= names.indexOf(entry ?? "scores") && names.indexOf(name) <= names.indexOf(last));
  let masks = null;
  const show = (path, last, _, computed) => {
    const name = path ? `${path}.${last}` : last;
    let made = ready[name] ?? [computed].flat();
    // A masked score is −∞ even if the score is unknown; adding −∞ to NaN would give NaN.
    const hidden = (head) => (score, l, m) => (masks[head].at(l, m) === -Infinity ? -Infinity : score);
    if (name === "masked_scores") made = made.map((scores, head) => scores.map(hidden(head)));
    if (isReached(name)) made = see(name, made);
    if (name === "mask") masks = made;
    return Array.isArray(computed) ? made : made[0];
  };
  run(new Transformer({ heads, ...config }, parameters, show));
};

/** Return the stages that an example can have, and their axes. */
export const stageAxes = () => page.header.own.stages;
export const stageNames = () => Object.keys(stageAxes());

/** Return the words along the axes L and M, if they are given; in self-attention they are the same. */
const tokensAlong = ({ arrays, tokens, memory_tokens: others }, { rows, columns }) => {
  const same = !others && !arrays.memory && rows === columns ? tokens : others;
  const check = (place, words, length) => {
    if (words && words.length !== length)
      throw new UsageError(`${place}: ${words.length} words for ${length} rows. Give one for each.`, place);
    return words;
  };
  return { L: check("tokens", tokens, rows), M: check("memory_tokens", same, columns) };
};

/** Return the names of a stage's inputs, as in the header of a model: [stages and given matrices, parameters]. */
export const madeOfStage = (name, arrays) => {
  const { of, weights } = captionOfTensor(name);
  const meant = {
    "<read>": "inputs",
    "<attended>": arrays.memory ? "memory" : "inputs",
    "<stream>": "inputs",
    "<added>": arrays.sublayer ? "sublayer" : "feed_forward.output",
    "<normed>": "residual.sum",
    "<goes on>": "residual.norm.output",
  };
  const parameters = weights.flatMap((each) => PARAMETERS[each.name]).filter((each) => arrays[each]);
  return [of.map((each) => meant[each] ?? sibling(name, each)), parameters];
};

const GIVEN_AXES = { inputs: "BLD", sublayer: "BLD", memory: "BMD" }; // given matrices that stages show as operands

/** Return a worked example as a run, so that it can be shown like a translation. */
export const runOfWorked = ({ given, stages }, title, shown = stages) => {
  const { arrays, parameters, config, divisor, tokens, ids } = given;
  const inputs = Object.keys(GIVEN_AXES).filter((name) => arrays[name]);
  const tensors = new Map([
    ...inputs.map((name) => [name, tensorOfHeads(GIVEN_AXES[name], arrays[name], Float64Array)]),
    ...Object.entries(shown).map(([name, heads]) => [name, tensorOfHeads(stageAxes()[name], heads, Float64Array)]),
  ]);
  const made = Object.keys(shown).filter((name) => !(name in arrays) && !(name === "mask" && name in given.ready));
  return finishRun({
    title,
    source: tokens.M ?? [],
    target: tokens.L ?? [],
    expected: [],
    steps: [],
    targetIds: ids,
    isWorked: true,
    switches: UNSWITCHED,
    model: {
      computes: true,
      config: { ...config, divisor: divisor ?? 1 },
      parameters,
      made_of: Object.fromEntries(made.map((name) => [name, madeOfStage(name, arrays)])),
    },
    shapes: Object.fromEntries(tensors),
    get: async (name) => tensors.get(name),
    origin: (name) => (made.includes(name) ? "computed" : "given"),
  });
};
