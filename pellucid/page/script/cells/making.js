// Explain how one cell of a tensor was computed, with all its numbers.
//
// A making is {equation, written, headings, terms, strips, total, recorded, note}: `written` is the equation with this
// cell's numbers; `terms` are the terms of its sum, {label, numbers, value}, with the column headings `headings`;
// `strips` are the rows and columns that the cell was computed from, as strips.js draws them. `total` is computed again
// in double precision from the recorded inputs; `recorded` is the number of the pass.

import { apart, axesOfMatrix, fourDecimals, panelOf } from "../base/numbers.js";
import { madeOf, productBehind } from "../runs/lineage.js";
import { splitName } from "../runs/parts.js";
import { captionOfTensor } from "../runs/runs.js";
import { scaleOfTensor } from "../matrices/scales.js";
import { OPERATIONS } from "./operations.js";
import { sumInWords } from "./terms.js";

/** Return the making of the cell at this row and column of a tensor (and of this head, if there are several). */
export const makingOf = async (run, name, head = 0, row = 0, column = 0) => {
  const cell = await cellOfTensor(run, { name, head, row, column });
  const recorded = cell.panel.at(row, column);
  const origin = run.origin(name);
  const { equation, reading, by } = cell.caption;
  const given = { equation: "given", note: "This matrix is what the example starts from." };
  const made = origin === "given" ? given : OPERATIONS[by](cell);
  // If any of its numbers is unknown, the cell has no explanation.
  const isUnknown = [recorded, made.total, ...(made.terms ?? []).map(({ value }) => value)].some(Number.isNaN);
  const known = isUnknown ? { missing: true, note: "What it is made of is not known." } : made;
  const making = { equation, note: reading, strips: [], terms: [], headings: [], total: recorded, ...known };
  const { total, terms, headings, written = terms.length ? sumInWords(terms, headings) : "" } = making;
  return {
    ...making,
    recorded,
    said: ["computed", "given"].includes(origin) ? origin : "recorded", // derived tensors count as recorded
    difference: apart(total, recorded),
    written: written && `${written} = ${fourDecimals(total)}`,
  };
};

/** Collect the input of an operation: the cell's position, the labels of its axes, and the tensors that it reads. */
const cellOfTensor = async (run, place) => {
  const { name, head, row } = place;
  const operandOf = async (each) => {
    const tensor = await run.get(each);
    const panel = panelOf(tensor, tensor.axes.includes("H") ? head : 0);
    return { name: each, tensor, panel, caption: captionOfTensor(each), scale: await scaleOfTensor(run, each, tensor) };
  };
  const { tensor, panel, caption } = await operandOf(name);
  const labels = labelsOfTensor(run, name, tensor);
  if (tensor.kept) labels.columns = tensor.kept.tokens[row]; // with a large vocabulary, each row has its own best words
  const { of, parameters } = madeOf(run, name);
  const product = caption.by === "linear" ? await productBehind(run, name, head) : null;
  const cell = { ...place, ...splitName(name), run, tensor, panel, caption, labels, parameters, product };
  return { ...cell, of: await Promise.all(of.map(operandOf)) };
};

/** Return the labels of a tensor's two axes: {rows, columns}. */
export const labelsOfTensor = (run, name, tensor) => {
  const [first, second] = axesOfMatrix(tensor.axes);
  return { rows: run.labels(name, first), columns: second ? run.labels(name, second) : [""] };
};
