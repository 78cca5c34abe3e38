// The inputs of each tensor. pellucid/reading/tensors.py writes them into the header, for each model.

import { blockOf } from "./parts.js";

/** Return what a tensor is computed from: {of: names of tensors, parameters: names}; both are empty for an input. */
export const madeOf = (run, name) => {
  const [of, parameters] = run.model.made_of[name] ?? [[], []];
  return { of, parameters };
};

/** Return the tensors that a block computes and reads, in the order of computation (the same in every layer). */
export const tensorsIn = (run, block) =>
  run.names.filter((name) => blockOf(name) === block).flatMap((name) => [name, ...madeOf(run, name).of]);

/** If a tensor is x · W + b, return {x (a name), xTensor, weight, bias (tensor or null), weightName, biasName, columns:
 *  the first column of W for this head}; otherwise null. A row of `weight` is one output, as in nn.Linear. */
export const productBehind = async (run, name, head = 0) => {
  const { of, parameters } = madeOf(run, name);
  const [weightName, biasName] = parameters;
  if (!weightName) return null;
  const { axes, shape } = await run.get(name);
  const columns = axes.includes("H") ? head * shape.at(-1) : 0;
  const [weight, bias] = [weightName, biasName].map((each) => run.parameter(each));
  return { x: of[0], xTensor: await run.get(of[0]), weight, bias, weightName, biasName, columns };
};

/** Return the part of W that a head uses, as X · W needs it: with a row for each column of X. */
export const weightPanel = ({ weight, columns }, count) => {
  const inputs = weight.shape[1];
  return { rows: inputs, columns: count, at: (row, column) => weight.data[(columns + column) * inputs + row] };
};
