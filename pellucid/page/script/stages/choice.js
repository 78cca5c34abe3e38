// The chosen cell of a stage: looked at, pinned, told to the page, framed in its operands.

import { element } from "../base/elements.js";
import { isDecoderSelf, splitName } from "../runs/parts.js";
import { NOT_KEPT } from "../cells/making.js";
import { inspect } from "./inspector.js";
import { resultOf } from "./items.js";

/** Show a cell in the inspector while a pointer or the focus is on it; what is pinned stays against the pointer. */
export const lookAt = (drawing, cell, how) => {
  if (how === "move" && drawing.isPinned) return pinCell(drawing, cell, true);
  if (how === "move" || how === "focus") drawing.rest = drawing.isPinned ? drawing.rest : cell;
  if ((how === "pointer" && drawing.isPinned) || (how === "focus" && drawing.isPinned)) return undefined;
  frameCells(drawing, cell);
  return inspect(drawing, cell);
};

/** Keep a cell in the inspector, and in the address. A walk with the arrows is told where it comes to rest. */
export const pinCell = (drawing, cell, isWalk = false) => {
  const { spec } = cell.figure;
  const [row, column] = spec.back?.(cell.row, cell.column) ?? [cell.row, cell.column];
  drawing.isPinned = true;
  drawing.isToShow = !isWalk;
  drawing.rest = cell;
  frameCells(drawing, cell);
  inspect(drawing, cell);
  if (spec.isParameter) return undefined; // an address leads to tensors of the pass alone
  const changes = { tensor: spec.name, row, column };
  const isOtherHead = spec.tensor.axes.includes("H") && spec.head !== drawing.view.head;
  drawing.view = { ...drawing.view, ...changes };
  return isWalk
    ? tellLater(drawing, changes)
    : tellNow(drawing, isOtherHead ? { ...changes, head: spec.head } : changes);
};

/** Frame the cell, and in the operands the row and the column that it was made from. */
const frameCells = (drawing, { figure, row, column }) => {
  const isResult = figure.spec === resultOf(drawing.stage);
  for (const each of drawing.plates.values()) {
    const area = each === figure ? { row, column } : isResult ? (each.spec.frames?.(row, column) ?? null) : null;
    for (const matrix of each.grids) matrix.outline(area);
  }
};

/** The cell that shows most: the largest number of the lit row; of weights, one that is not of the position itself. */
const clearestCell = ({ time }, { panel, asks, kind, name, pick }) => {
  const isStep = time?.mode === "step";
  if (pick) return [isStep ? panel.rows - 1 : 0, 0];
  let [best, most] = [[panel.rows - 1, 0], -1];
  for (let row = isStep ? panel.rows - 1 : 0; row < panel.rows; row++) {
    for (let column = 0; column < panel.columns; column++) {
      const size = Math.abs(panel.at(row, column));
      if (asks && isDecoderSelf(splitName(name).path) && column > row) continue;
      if (asks && kind === "weights" && column === row && panel.rows > 1) continue;
      if (Number.isFinite(size) && size > most) [best, most] = [[row, column], size];
    }
  }
  return best;
};

const RESTING = 120; // milliseconds without a move, after which the page's state and address follow

/** Tell the shell where a walk through a matrix came to rest, not of every step of it. */
export const tellLater = (drawing, changes) => {
  clearTimeout(drawing.telling);
  drawing.untold = changes;
  drawing.telling = setTimeout(() => tellNow(drawing, changes), RESTING);
};

/** A walk that the shell has not heard of yet is not undone by what it draws in the meantime. */
export const stillToTell = (drawing, asked) => {
  if (!drawing?.untold || drawing.untold.tensor !== asked.tensor) return {};
  const { row, column } = drawing.untold;
  return { row, column };
};

/** Tell the shell at once; what was still to be told is over. */
export const tellNow = (drawing, changes) => {
  clearTimeout(drawing.telling);
  drawing.untold = null;
  return drawing.view.select(changes);
};

/** Show which cell the view has chosen: pinned where it names one, else the clearest of the result. */
export const showChoice = (drawing) => {
  const { view, stage, plates } = drawing;
  const figure =
    [...plates.values()].find(
      ({ spec }) => spec.name === view.tensor && (spec.head ?? 0) === view.head && spec.panel,
    ) ??
    [...plates.values()].find(({ spec }) => spec.name === view.tensor && spec.panel) ??
    plates.get(resultOf(stage).key);
  if (!figure.grids.length) return drawing.inspector.replaceChildren(element("p", { class: "note" }, NOT_KEPT));
  const { spec } = figure;
  drawing.isPinned = view.row !== null;
  const asked = drawing.isPinned ? [view.row, view.column ?? 0] : clearestCell(view, spec);
  const [row, column] = drawing.isPinned ? ((spec.forth ?? spec.back)?.(...asked) ?? asked) : asked;
  for (const matrix of figure.grids) matrix.choose(row, column);
  drawing.rest = { figure, ...figure.grids[0].chosen() };
  frameCells(drawing, drawing.rest);
  return inspect(drawing, drawing.rest);
};

/** Which plate had the focus, and where in it. */
export const heldFocus = (place) => {
  const active = document.activeElement;
  if (!active || !place.contains(active)) return null;
  return {
    key: active.dataset.key,
    plate: active.closest("[data-plate]")?.dataset.plate,
    chosen: active.closest(".matrix")?.chosen?.(),
  };
};

export const giveFocusBack = (drawing, held) => {
  if (!held) return;
  const keyed = [...drawing.place.querySelectorAll("[data-key]")].find((each) => each.dataset.key === held.key);
  if (held.key) keyed?.focus({ preventScroll: true });
  else if (held.chosen) {
    const { figure } = drawing.isPinned ? drawing.rest : { figure: drawing.plates.get(held.plate) };
    const { row, column } = drawing.isPinned ? drawing.rest : held.chosen;
    figure?.grids[0]?.choose(row, column, true);
  }
};
