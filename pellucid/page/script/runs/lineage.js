// What a tensor is computed from: in the header for each model, written by pellucid/reading/tensors.py.

import { blockOf } from "./parts.js";

/** {of: names of tensors, parameters: names}; both empty for given numbers. */
export const madeOf = (run, name) => {
  const [of, parameters] = run.model.made_of[name] ?? [[], []];
  return { of, parameters };
};

/** The tensors that a block makes and reads, in the order of computation: the same list for the same block of any layer. */
export const tensorsIn = (run, block) =>
  run.names.filter((name) => blockOf(name) === block).flatMap((name) => [name, ...madeOf(run, name).of]);

/** How x · W + b makes a tensor: {x (its name), xTensor, weight, bias (tensors or null), weightName, biasName, columns:
 *  where this head's columns of W begin}. In `weight` a row is one output, as nn.Linear keeps it. Null: no product. */
export const productBehind = async (run, name, head = 0) => {
  const { of, parameters } = madeOf(run, name);
  const [weightName, biasName] = parameters;
  if (!weightName) return null;
  const { axes, shape } = await run.get(name);
  const columns = axes.includes("H") ? head * shape.at(-1) : 0;
  const [weight, bias] = [weightName, biasName].map((each) => run.parameter(each));
  return { x: of[0], xTensor: await run.get(of[0]), weight, bias, weightName, biasName, columns };
};

/** The part of W that a head uses, as it is written in X · W: a row for each dimension of X. */
export const weightPanel = ({ weight, columns }, count) => {
  const inputs = weight.shape[1];
  return { rows: inputs, columns: count, at: (row, column) => weight.data[(columns + column) * inputs + row] };
};
