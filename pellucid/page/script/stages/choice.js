// Choose a cell of a stage: show it in the inspector, pin it, put it into the address, and frame its operands.

import { largestCell } from "../base/numbers.js";
import { isDecoderSelf, splitName } from "../runs/parts.js";
import { inspect } from "./inspector.js";
import { resultOf } from "./equations.js";
import { lightStrip } from "./strip.js";

/** Show a cell in the inspector while the pointer or the focus is on it. A pinned cell stays; arrow keys move it. */
export const lookAt = (drawing, cell, how) => {
  if (drawing.isPinned) return how === "move" && pinCell(drawing, cell, true);
  if (how !== "pointer") drawing.rest = cell; // the inspector shows it again when the pointer leaves
  frameCells(drawing, cell);
  return inspect(drawing, cell);
};

/** Pin a cell: keep it in the inspector and in the address. While arrow keys move it, the address does not change. */
export const pinCell = async (drawing, cell, isWalk = false) => {
  const { view } = drawing;
  const { spec } = cell.figure;
  const isPinned = !spec.isParameter; // an address cannot name a cell of a parameter
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
  const made = figure.spec.back?.(row, column) ?? [row, column]; // its position in the tensor
  for (const each of drawing.plates.values()) {
    const area = each === figure ? { row, column } : isResult ? (each.spec.frames?.(...made) ?? null) : null;
    for (const matrix of each.grids) matrix.outline(area);
  }
  lightStrip(drawing, figure.spec, { row, column });
};

/** Return the cell with the largest number in the current row; for self-attention weights, not on the diagonal. */
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

/** Show the cell that the address names as pinned; if it names none, show the result's clearest cell. */
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
