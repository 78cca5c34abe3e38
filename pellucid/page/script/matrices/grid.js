// Show one matrix as a grid that works with a mouse, a keyboard and a screen reader.
//
// Arrow keys move by a cell, Page Up and Page Down by eight rows; Home and End go to the ends of a row (with Ctrl: of
// the matrix). Enter pins a cell, Escape goes one level up. The inspector explains the chosen cell.

import { element } from "../base/elements.js";
import { tableOfCells } from "./grid_table.js";

const PAGE_OF_ROWS = 8;

/** Make an element for a plate's matrix; `size` is {width, height, numbers} of a cell. The element has three methods:
 *  `choose(row, column, focus)`, `chosen()` and `outline({row, column})`, which frames a row, a column or a cell. Event
 *  handlers: onLook(row, column) for the pointer or the focus on a cell, onLeave(), onPin(row, column). */
export const grid = (plate) => {
  const { panel, role, onLook, onLeave, onPin } = plate;
  const drawn = tableOfCells({ ...plate, ...plate.size });
  const frame = element("div.frame", { hidden: true });
  const whole = element(`div.matrix.role-${role}`, drawn.element, frame);
  let chosen = null;
  whole.chosen = () => chosen;
  whole.choose = (row, column, focus = false) => {
    const within = (place, count) => Math.max(0, Math.min(count - 1, place));
    chosen = { row: within(row, panel.rows), column: within(column, panel.columns) };
    drawn.show(chosen.row, chosen.column, focus);
  };
  whole.outline = (area) => placeFrame(whole, frame, drawn, panel, area);
  const moveTo = (row, column) => {
    whole.choose(row, column, true);
    onLook?.(chosen.row, chosen.column, "move");
  };
  const listen = (name, act) => drawn.element.addEventListener(name, act);
  const listenToCells = (name, act) =>
    listen(name, (event) => {
      const cell = drawn.cellAt(event);
      if (cell) act(cell.row, cell.column);
    });
  listen("keydown", (event) => {
    const to = cellOfKey(event, chosen, panel);
    const isPresenters = event.key.startsWith("Page") && document.body.dataset.look === "lecture"; // shown/keys.js
    if (event.altKey || event.metaKey || isPresenters || !(to || (event.key === "Enter" && onPin))) return;
    if (to) moveTo(...to);
    else onPin(chosen.row, chosen.column);
    event.preventDefault();
    event.stopPropagation();
  });
  listen("focusin", () => onLook?.(chosen.row, chosen.column, "focus"));
  listen("pointerleave", () => onLeave?.());
  listenToCells("pointermove", (row, column) => onLook?.(row, column, "pointer"));
  listenToCells("click", (row, column) => {
    moveTo(row, column);
    onPin?.(row, column);
  });
  whole.choose(0, 0);
  return whole;
};

/** Put a frame around a cell, a whole row or a whole column; null removes the frame. */
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

/** Return the cell that a key moves to, as [row, column]; undefined for other keys. */
const cellOfKey = ({ key, ctrlKey }, { row, column }, { rows, columns }) =>
  ({
    ArrowLeft: [row, column - 1],
    ArrowRight: [row, column + 1],
    ArrowUp: [row - 1, column],
    ArrowDown: [row + 1, column],
    Home: ctrlKey ? [0, 0] : [row, 0],
    End: [ctrlKey ? rows - 1 : row, columns - 1],
    PageUp: [row - PAGE_OF_ROWS, column],
    PageDown: [row + PAGE_OF_ROWS, column],
  })[key];
