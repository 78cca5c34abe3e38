// What a tensor is made of. The header has it of each model; pellucid/reading/tensors.py wrote it from its table.

import { makeTensor } from "../base/numbers.js";
import { captionOfTensor } from "./runs.js";
import { columnsOf, isPerHead, transpose } from "./worked.js";

/** {of: names of tensors, parameters: names}. In a worked example names have no path before them. */
export const madeOf = (run, name) => {
  if (run.given) return { of: captionOfTensor(name).of, parameters: [] };
  const [of, parameters] = run.model.made_of[name];
  return { of, parameters };
};

/** How x · W + b makes a tensor: {x (its name), xTensor, weight, bias (tensors or null), weightName, columns: where
 *  this head's columns of W begin}. In `weight` a row is one output, as nn.Linear keeps it. Null: no such product. */
export const productBehind = async (run, name, head = 0) => {
  if (run.given) return productGiven(run, name, head);
  const {
    of: [x],
    parameters: [weightName, biasName],
  } = madeOf(run, name);
  const { axes, shape } = await run.get(name);
  const columns = axes.includes("H") ? head * shape.at(-1) : 0;
  const [weight, bias] = [run.parameter(weightName), run.parameter(biasName)];
  return { x, xTensor: await run.get(x), weight, bias, weightName, columns };
};

/** The same for a worked example, whose W is written in × out, as on paper, and has no bias. */
const productGiven = async (run, name, head) => {
  const { projections, matrices, wOutput } = run.given;
  if (name === "output") {
    const xTensor = await run.get("concatenated");
    return {
      x: "concatenated",
      xTensor,
      weight: transposedTensor(wOutput),
      bias: null,
      weightName: "w_output",
      columns: 0,
    };
  }
  const made = name in matrices ? null : projections[name];
  if (!made?.weights) return null;
  const weights = isPerHead(made.weights) ? made.weights[head] : made.weights;
  const columns = isPerHead(made.weights) ? 0 : (head * columnsOf(made.weights)) / run.given.heads;
  const size = [1, made.matrix.length, columnsOf(made.matrix)];
  const xTensor = makeTensor("BLD", size, Float64Array.from(made.matrix.flat()));
  return { x: made.source, xTensor, weight: transposedTensor(weights), bias: null, weightName: made.weight, columns };
};

/** Rows of numbers, in × out, as a tensor, out × in. */
const transposedTensor = (matrix) => {
  const columns = transpose(matrix);
  return makeTensor("DD", [columns.length, matrix.length], Float64Array.from(columns.flat()));
};

/** The part of W that a head uses, as it is written in X · W: a row for each dimension of X. */
export const weightPanel = ({ weight, columns }, count) => {
  const inputs = weight.shape[1];
  return { rows: inputs, columns: count, at: (row, column) => weight.data[(columns + column) * inputs + row] };
};

/** The tensor that runs into a layer: the embedded tokens, or what the layer below sent on. */
export const inputOf = (run, layer) => madeOf(run, `${layer}.residual_1.sum`).of[0];
