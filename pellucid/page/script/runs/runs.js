// A run is one pass through the model, with every tensor by name. Everything that the page shows comes from a run.

import { closeMatches } from "../base/nearest.js";
import { bestPlaces } from "../base/numbers.js";
import { page } from "../base/page.js";
import { capitalised } from "../base/text.js";

/** A pass through the model. `target`: the decoder's input tokens; `computes`: whether the page has the weights and can
 *  compute other runs; `model.maker` makes other runs, here or on a server (null: nothing does). A tensor whose numbers are not in the page is {unknown: true} and filled with NaN.
 *  @typedef {{ text: string, translation: string, forced: boolean, source: string[], target: string[],
 *    expected: string[], steps: object[], names: string[], model: object, config: object, switches: object,
 *    computes: boolean, get: (name: string) => Promise<Tensor>, origin: (name: string) => string,
 *    labels: (name: string, axis: string) => string[], parameter: (name: string) => Tensor }} Run */

/** Return the kind of a tensor, from its name: "attention.weights", "residual.sum". */
const kindOfTensor = (name) => {
  if (!name.includes(".")) return `attention.${name}`; // a stage of a worked example
  const [part, last] = name.split(".").slice(-2);
  return `${part.endsWith("_attention") ? "attention" : part.replace(/_\d+$/, "")}.${last}`;
};

/** Add the properties that recorded and computed runs share. `shapes` has the axes and shape of each tensor.
 *  @returns {Run} */
export const finishRun = (run) => {
  const { model, shapes } = run;
  const known = (name) => {
    if (!Object.hasOwn(shapes, name)) throw new Error(noSuchName(name, Object.keys(shapes)));
    return shapes[name];
  };
  return {
    ...run,
    config: model.config,
    computes: model.computes,
    names: Object.keys(shapes),
    get: async (name) => run.get(known(name) && name),
    origin: (name) => run.origin(known(name) && name),
    labels: (name, axis) => labelsAlong(run, known(name), name, axis),
    parameter: (name) => model.parameters.get(name) ?? null,
  };
};

/** Return the labels along an axis: tokens for L and M, words of the vocabulary for V, numbers for other axes. */
const labelsAlong = (run, { axes, shape, kept }, name, axis) => {
  const place = axes.indexOf(axis);
  if (place < 0) throw new Error(`${name} has no axis "${axis}". Its axes are ${axes}.`);
  const counted = Array.from({ length: shape[place] }, (_, index) => String(index));
  if (kept && axis === "V") return [...counted.slice(1), "expected"]; // the best words, and the expected one
  const own = name.startsWith("encoder") ? run.source : run.target;
  const asked = run.isWorked || name.includes(".cross_attention.") ? run.source : own;
  const words = { L: own, M: asked, V: run.model.vocabulary?.tokens.target }[axis];
  return words?.length === shape[place] ? words : counted;
};

/** Return the most probable tokens of a row with their probabilities, best first; of equal ones, the lower id first. */
export const mostProbable = (probabilities, row, count, tokens) => {
  const size = probabilities.shape[2];
  const numbers = probabilities.data.subarray(row * size, (row + 1) * size);
  return bestPlaces(numbers, count).map((id) => [tokens[id], numbers[id]]);
};

export const noSuchName = (name, known) => {
  const near = closeMatches(name, known, 3, 0.5);
  const advice = near.length ? `Nearest: ${near.join(", ")}.` : `There are ${known.length}, such as ${known.at(-1)}.`;
  return `no tensor is called "${name}". ${advice}`;
};

/** Return a tensor's row in the table of tensors: its symbol, names, equation, role, operation and inputs. */
export const captionOfTensor = (name) => {
  const row = page.header.captions[kindOfTensor(name)];
  if (row) return row;
  const [symbol, reading] = page.header.own.fields[name]; // an input of a worked example
  return { symbol, title: capitalised(name), role: "x", reading, of: [], weights: [] };
};

/** Return the line of Pellucid's Python code that computes a tensor: {file, line, text}, or null. */
export const codeOfTensor = (name) => page.header.code[kindOfTensor(name)] ?? null;
