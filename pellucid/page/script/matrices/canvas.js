// A matrix that is painted: for many cells, in colour only. One element stands for the chosen cell, so that
// a screen reader hears what the eye sees, and moving costs no painting.

import { element, words } from "../base/elements.js";
import { cellInWords, headingsOf } from "./cell_words.js";
import { rowStateOf } from "./grid_table.js";
import { picture } from "./painting.js";

/** {element, show(row, column, focus), boxOf(row, column), cellAt(event)} for a grid's matrix. */
export const canvasOfCells = (matrix) => {
  const { title, panel, width, height, asks } = matrix;
  const sizes = { "--cell": `${width}px`, "--row": `${height}px` };
  const canvas = picture(matrix, { "aria-hidden": "true" });
  const ring = element("div.ring", sizes);
  const labels = rowLabels(matrix);
  const heading = element("span", { role: "rowheader" });
  const cell = element("span", { role: "gridcell", id: `cell-${(cellsMade += 1)}`, "aria-selected": "true" });
  const spoken = element("div.spoken", { role: "row" }, heading, cell); // what a screen reader finds
  const field = { "--across": `${panel.columns * width}px`, "--down": `${panel.rows * height}px` };
  const whole = element(
    "div.painted",
    {
      role: "grid",
      "aria-label": title,
      "data-key": `cell-${title}`,
      "aria-readonly": "true",
      "aria-rowcount": panel.rows,
      "aria-colcount": panel.columns,
      "aria-activedescendant": cell.id,
      tabindex: "0",
      ...sizes,
    },
    asks && element("div.painted-corner", { "aria-hidden": "true" }, "asks ↓", element("br"), "attended to →"),
    labels,
    columnLabels(matrix),
    element("div.field", field, canvas, ring),
    spoken,
  );
  const show = (row, column, focus) => {
    ring.style.transform = `translate(${column * width}px, ${row * height}px)`;
    [...labels.children].forEach((label, at) => label.classList.toggle("chosen-row", at === row));
    spoken.setAttribute("aria-rowindex", row + 1);
    cell.setAttribute("aria-colindex", column + 1);
    heading.textContent = matrix.rows[row];
    cell.textContent = cellInWords(matrix, row, column);
    if (!focus) return;
    if (document.activeElement !== whole) whole.focus({ preventScroll: true });
    ring.scrollIntoView({ block: "nearest", inline: "nearest" });
  };
  const boxOf = (row, column) => {
    const { left, top } = canvas.getBoundingClientRect();
    const [x, y] = [left + column * width, top + row * height];
    return { left: x, top: y, right: x + width, bottom: y + height };
  };
  const cellAt = ({ clientX, clientY }) => {
    const { left, top } = canvas.getBoundingClientRect();
    const [row, column] = [Math.floor((clientY - top) / height), Math.floor((clientX - left) / width)];
    const isInside = row >= 0 && column >= 0 && row < panel.rows && column < panel.columns;
    return isInside ? { row, column } : null;
  };
  return { element: whole, show, boxOf, cellAt };
};

let cellsMade = 0;

/** The rows' labels beside the canvas: all that have room. */
const rowLabels = (matrix) => {
  const every = labelsEvery(matrix.height, 15, matrix.asks || !matrix.rowWord);
  const labels = matrix.rows.map((label, row) => {
    const { class: state, told } = rowStateOf(matrix, row);
    return element("span", { class: state }, row % every === 0 && words(label), told);
  });
  return element("div.row-labels", { "aria-hidden": "true" }, labels);
};

const columnLabels = (matrix) => {
  const areTokens = matrix.asks || matrix.tokensAbove;
  const every = labelsEvery(matrix.width, areTokens ? 15 : 36, areTokens);
  const place = (column) => ({ "--at": `${column * matrix.width}px`, "--room": `${every * matrix.width}px` });
  return element("div.column-labels", { class: headingsOf(matrix), "aria-hidden": "true" }, [
    matrix.columns.map((label, column) => column % every === 0 && element("span", place(column), words(label))),
  ]);
};

/** Return n where every nth label has room; of numbers every 8th, 16th, … is shown. */
const labelsEvery = (size, room, areTokens) => {
  const every = Math.ceil(room / size);
  return areTokens || every === 1 ? every : Math.ceil(every / 8) * 8;
};
