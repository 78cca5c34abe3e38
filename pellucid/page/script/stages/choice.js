// The chosen cell of a stage: shown in the inspector, pinned, put into the address, framed in its operands.

import { largestCell } from "../base/numbers.js";
import { isDecoderSelf, splitName } from "../runs/parts.js";
import { inspect } from "./inspector.js";
import { resultOf } from "./equations.js";

/** Show a cell in the inspector while a pointer or the focus is on it. A pinned cell stays; arrow keys move it. */
export const lookAt = (drawing, cell, how) => {
  if (drawing.isPinned) return how === "move" && pinCell(drawing, cell, true);
  if (how !== "pointer") drawing.rest = cell; // to which a pointer that leaves goes back
  frameCells(drawing, cell);
  return inspect(drawing, cell);
};

/** Keep a cell in the inspector and in the address. While arrow keys move it, the address waits. */
export const pinCell = async (drawing, cell, isWalk = false) => {
  const { view } = drawing;
  const { spec } = cell.figure;
  const isPinned = !spec.isParameter; // an address leads to tensors of the pass alone
  if (!isPinned && drawing.isPinned) await drawing.unpin();
  Object.assign(drawing, { isPinned, isToShow: !isWalk, rest: cell });
  frameCells(drawing, cell);
  inspect(drawing, cell);
  if (!isPinned) return undefined;
  const [row, column] = spec.back?.(cell.row, cell.column) ?? [cell.row, cell.column];
  const changes = { tensor: spec.name, row, column, head: spec.tensor.axes.includes("H") ? spec.head : view.head };
  drawing.view = { ...view, ...changes };
  return (isWalk && view.walk ? view.walk : view.select)(changes);
};

/** Frame the cell and, in the operands, the row and the column that it was computed from. */
const frameCells = (drawing, { figure, row, column }) => {
  const isResult = figure.spec === resultOf(drawing.stage);
  const made = figure.spec.back?.(row, column) ?? [row, column]; // of the best words, the column in the tensor
  for (const each of drawing.plates.values()) {
    const area = each === figure ? { row, column } : isResult ? (each.spec.frames?.(...made) ?? null) : null;
    for (const matrix of each.grids) matrix.outline(area);
  }
};

/** The clearest cell: the largest number of the lit row; for weights, one that is not on the diagonal. */
const clearestCell = ({ time }, { panel, asks, kind, name, pick }) => {
  const last = panel.rows - 1;
  const first = time?.mode === "step" ? last : 0;
  if (pick) return [first, 0];
  const { path } = splitName(name);
  const isOwn = asks && kind === "weights" && last > 0 && !path.endsWith("cross_attention");
  const isAhead = asks && isDecoderSelf(path);
  const isMeant = (row, column) => row >= first && !(isAhead && column > row) && !(isOwn && column === row);
  const { row = last, column = 0 } = largestCell([panel], isMeant) ?? {};
  return [row, column];
};

/** Show the cell of the view: pinned if the address names one, else the clearest of the result. */
export const showChoice = (drawing) => {
  const { view, stage, plates } = drawing;
  const ofTensor = [...plates.values()].filter(({ spec }) => spec.name === view.tensor);
  const figure = ofTensor.find(({ spec }) => spec.head === view.head) ?? ofTensor[0] ?? plates.get(resultOf(stage).key);
  const { spec } = figure;
  drawing.isPinned = view.row !== null;
  const asked = [view.row, view.column ?? 0];
  const [row, column] = drawing.isPinned ? ((spec.forth ?? spec.back)?.(...asked) ?? asked) : clearestCell(view, spec);
  for (const matrix of figure.grids) matrix.choose(row, column);
  drawing.rest = { figure, ...figure.grids[0].chosen() };
  frameCells(drawing, drawing.rest);
  return inspect(drawing, drawing.rest);
};
