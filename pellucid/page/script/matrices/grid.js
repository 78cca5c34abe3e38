// One matrix as a grid: for eyes, for the keyboard and for a screen reader.
//
// Arrows move, Home and End go to the ends of a row (with Ctrl: of the matrix), Page Up and Page Down eight
// rows, Enter pins a cell and Escape goes up. What a cell holds, the inspector says.

import { element } from "../base/elements.js";
import { numbersOf } from "../base/numbers.js";
import { withWords, wordOfNumber } from "./cell_words.js";
import { tableOfCells } from "./grid_table.js";
import { kindOfNumbers, scaleOf } from "./scales.js";

const PAGE_OF_ROWS = 8;
const MOST_ELEMENTS = 64 * 64; // cells; more of them are painted on a canvas
const SMALLEST_ELEMENT = 8; // pixels; smaller cells are painted too

/** A matrix as an element. `panel` has its numbers, `rows` and `columns` its labels; `rowState[r]` is null, "new",
 *  "cached", …; `size` is {width, height, numbers} of a cell. Its `.choose(row, column, focus)` moves to a cell,
 *  `.chosen()` says which it is, `.outline({row, column})` frames a row, a column or a cell.
 *  onLook(row, column): the pointer or the focus is on a cell; onLeave(): the pointer has left; onPin(row, column). */
export const grid = (options) => {
  const matrix = matrixOfGrid(options);
  const drawn = tableOfCells(matrix);
  const frame = element("div.frame", { hidden: true });
  const whole = element(`div.matrix.role-${matrix.role}`, drawn.element, frame);
  whole.chosen = () => ({ row: matrix.row, column: matrix.column });
  whole.choose = (row, column, focus = false) => {
    matrix.row = Math.max(0, Math.min(matrix.panel.rows - 1, row));
    matrix.column = Math.max(0, Math.min(matrix.panel.columns - 1, column));
    drawn.show(matrix.row, matrix.column, focus);
  };
  whole.outline = (area) => placeFrame(whole, frame, drawn, matrix.panel, area);
  listenToCells(drawn, matrix, (row, column) => {
    whole.choose(row, column, true);
    matrix.onLook?.(matrix.row, matrix.column, "move");
  });
  whole.choose(options.row ?? 0, options.column ?? 0);
  return whole;
};

/** Put a frame around a cell, a whole row or a whole column; null takes it away. */
const placeFrame = (whole, frame, drawn, { rows, columns }, area) => {
  frame.hidden = !area || !whole.isConnected;
  if (frame.hidden) return;
  const first = drawn.boxOf(Math.min(area.row ?? 0, rows - 1), Math.min(area.column ?? 0, columns - 1));
  const last = drawn.boxOf(Math.min(area.row ?? rows - 1, rows - 1), Math.min(area.column ?? columns - 1, columns - 1));
  const origin = whole.getBoundingClientRect();
  Object.assign(frame.style, {
    left: `${first.left - origin.left}px`,
    top: `${first.top - origin.top}px`,
    width: `${last.right - first.left}px`,
    height: `${last.bottom - first.top}px`,
  });
};

/** Keys and clicks choose a cell; the pointer only looks. */
const listenToCells = ({ element: place, cellAt }, matrix, moved) => {
  const listen = (name, act) => place.addEventListener(name, act);
  listen("keydown", (event) => gridKey(event, matrix, moved));
  listen("focusin", () => matrix.onLook?.(matrix.row, matrix.column, "focus"));
  listen("pointerleave", () => matrix.onLeave?.());
  listen("pointermove", (event) => {
    const cell = cellAt(event);
    if (cell) matrix.onLook?.(cell.row, cell.column, "pointer");
  });
  listen("click", (event) => {
    const cell = cellAt(event);
    if (!cell) return;
    moved(cell.row, cell.column);
    matrix.onPin?.(cell.row, cell.column);
  });
};

/** What a grid knows: its numbers, its labels, and how large and in which scale it is drawn. */
const matrixOfGrid = (options) => {
  const { name, panel, size } = options;
  const kind = options.kind ?? kindOfNumbers(name);
  const asks = options.asks ?? false;
  const cells = panel.rows * panel.columns;
  return {
    ...withWords(options),
    ...size,
    asElements: cells <= MOST_ELEMENTS && (size.numbers || Math.min(size.width, size.height) >= SMALLEST_ELEMENT),
    kind,
    asks,
    role: options.role ?? "x",
    word: options.word ?? wordOfNumber(name),
    scale: options.scale ?? scaleOf(kind, { data: numbersOf(panel) }),
    rowState: options.rowState ?? [],
    rowSums: options.rowSums ?? (kind === "weights" && asks),
    row: 0,
    column: 0,
  };
};

const gridKey = (event, matrix, moved) => {
  const { row, column, panel } = matrix;
  const last = { row: panel.rows - 1, column: panel.columns - 1 };
  const to = {
    ArrowLeft: [row, column - 1],
    ArrowRight: [row, column + 1],
    ArrowUp: [row - 1, column],
    ArrowDown: [row + 1, column],
    Home: event.ctrlKey ? [0, 0] : [row, 0],
    End: event.ctrlKey ? [last.row, last.column] : [row, last.column],
    PageUp: [row - PAGE_OF_ROWS, column],
    PageDown: [row + PAGE_OF_ROWS, column],
  }[event.key];
  if (event.altKey || event.metaKey) return;
  if (to) moved(...to);
  else if (event.key === "Enter" && matrix.onPin) matrix.onPin(row, column);
  else return;
  event.preventDefault();
  event.stopPropagation();
};
