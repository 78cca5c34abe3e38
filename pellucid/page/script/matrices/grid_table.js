// A matrix whose cells are elements: a table with the roles of a grid.

import { element, words } from "../base/elements.js";
import { fourDecimals } from "../base/numbers.js";
import { cellInWords, headingsOf } from "./cell_words.js";
import { depthOf, shadeOf } from "./scales.js";

/** {element, show(row, column, focus), cellAt(event)} for a grid's matrix. */
export const tableOfCells = (matrix) => {
  const { panel } = matrix;
  const rows = Array.from({ length: panel.rows }, (_, row) => rowOfCells(matrix, row));
  const headings = matrix.columns.map((label, column) => columnHeading(matrix, label, column));
  const sums = matrix.rowSums ? [element("th", { scope: "col", role: "columnheader", class: "sum" }, "row sum")] : [];
  const head = element("tr", { role: "row" }, cornerOf(matrix), ...headings, ...sums);
  const table = element(
    "table",
    {
      class: ["cells", matrix.numbers ? "" : `colour-only ${headingsOf(matrix)}`, matrix.pick ? "picks" : ""].join(" "),
      role: "grid",
      "aria-label": matrix.title,
      "aria-rowcount": panel.rows + 1,
      "aria-colcount": panel.columns + 1 + sums.length,
      "aria-readonly": "true",
      "--cell": `${matrix.width}px`,
      "--row": `${matrix.height}px`,
    },
    element("thead", { role: "rowgroup" }, head),
    element("tbody", { role: "rowgroup" }, ...rows),
  );
  let chosen = null;
  const show = (row, column, focus) => {
    if (chosen) mark(rows, headings, chosen, false);
    chosen = { row, column };
    const cell = mark(rows, headings, chosen, true);
    cell.setAttribute("aria-label", cellInWords(matrix, row, column));
    if (!focus) return;
    cell.focus({ preventScroll: true });
    cell.scrollIntoView({ block: "nearest", inline: "nearest" });
  };
  const boxOf = (row, column) => rows[row].children[column + 1].getBoundingClientRect();
  return { element: table, show, boxOf, cellAt: (event) => cellOfTable(event, rows) };
};

const mark = (rows, headings, { row, column }, on) => {
  const cell = rows[row].children[column + 1];
  rows[row].classList.toggle("chosen-row", on);
  headings[column]?.classList.toggle("chosen-column", on);
  cell.setAttribute("tabindex", on ? "0" : "-1");
  cell.setAttribute("aria-selected", String(on));
  return cell;
};

const cellOfTable = (event, rows) => {
  const cell = event.target.closest("td[role=gridcell]:not(.sum)");
  if (!cell) return null;
  return { row: rows.indexOf(cell.parentElement), column: [...cell.parentElement.children].indexOf(cell) - 1 };
};

const rowOfCells = (matrix, row) => {
  const { panel } = matrix;
  const cells = Array.from({ length: panel.columns }, (_, column) => cellOf(matrix, row, column));
  const sum = matrix.rowSums ? [sumOfRow(panel, row)] : [];
  const told = matrix.rowState[row];
  return element("tr", { role: "row", class: told ? `state-${told.split(" ")[0]}` : null }, [
    rowHeading(matrix, row),
    ...cells,
    ...sum,
  ]);
};

const rowHeading = (matrix, row) => {
  const told = matrix.rowState[row];
  return element("th", { scope: "row", role: "rowheader" }, [
    words(matrix.rows[row]),
    told ? [" ", element("small", { class: "row-state" }, told)] : null,
  ]);
};

/** Of numbered columns that are narrow, every eighth has its number. */
const columnHeading = (matrix, label, column) => {
  const shown = matrix.numbers || matrix.asks || matrix.tokensAbove || column % 8 === 0;
  return element("th", { scope: "col", role: "columnheader", class: shown ? null : "unnumbered" }, words(label));
};

const cornerOf = (matrix) => {
  if (!matrix.asks) return element("td", { class: "axes-corner" });
  return element("td", { class: "axes-corner" }, element("span", {}, "asks ↓"), element("span", {}, "attended to →"));
};

const cellOf = (matrix, row, column) => {
  const value = matrix.panel.at(row, column);
  const shade = matrix.forbidden?.(row, column) ? { class: "hatched" } : shadeOf(depthOf(matrix.scale, value));
  const text = matrix.kind === "mask" && value === 0 ? "0" : fourDecimals(value);
  const word = matrix.pick ? [element("span", { class: "pick" }, words(matrix.pick(row, column).label)), " "] : [];
  if (!matrix.numbers) return element("td", { ...shade, role: "gridcell", tabindex: "-1", "aria-label": text });
  return element("td", { ...shade, role: "gridcell", tabindex: "-1" }, ...word, text);
};

/** The sum of a row of weights: 1, or 0 for a row that may look nowhere. */
const sumOfRow = (panel, row) => {
  let sum = 0;
  for (let column = 0; column < panel.columns; column++) sum += panel.at(row, column);
  return element("td", { class: "sum", role: "gridcell" }, fourDecimals(sum));
};
