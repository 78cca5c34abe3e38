// A matrix whose cells are elements: a table with the roles of a grid.

import { element, words } from "../base/elements.js";
import { fourDecimals, rowOfPanel } from "../base/numbers.js";
import { cellInWords, headingsOf } from "./cell_words.js";
import { depthOf, shadeOf } from "./scales.js";

/** {element, show(row, column, focus), boxOf(row, column), cellAt(event)} for a grid's matrix. */
export const tableOfCells = (matrix) => {
  const { panel, rowSums } = matrix;
  const rows = matrix.rows.map((_, row) => rowOfCells(matrix, row));
  const headings = matrix.columns.map((label, column) => columnHeading(matrix, label, column));
  const sum = rowSums && element("th.sum", { scope: "col", role: "columnheader" }, "row sum");
  const table = element(
    "table.cells",
    {
      class: [matrix.numbers ? "" : `colour-only ${headingsOf(matrix)}`, matrix.pick ? "picks" : ""].join(" ").trim(),
      role: "grid",
      "aria-label": matrix.title,
      "aria-rowcount": panel.rows + 1,
      "aria-colcount": panel.columns + (rowSums ? 2 : 1),
      "aria-readonly": "true",
      "--cell": `${matrix.width}px`,
      "--row": `${matrix.height}px`,
    },
    element("thead", { role: "rowgroup" }, element("tr", { role: "row" }, cornerOf(matrix), headings, sum)),
    element("tbody", { role: "rowgroup" }, rows),
  );
  const cellOf = (row, column) => rows[row].children[column + 1];
  const mark = ({ row, column }, on) => {
    rows[row].classList.toggle("chosen-row", on);
    headings[column]?.classList.toggle("chosen-column", on);
    cellOf(row, column).setAttribute("tabindex", on ? "0" : "-1");
    cellOf(row, column).setAttribute("aria-selected", String(on));
    cellOf(row, column).dataset.key = on ? `cell-${matrix.title}` : "";
  };
  let chosen = null;
  const show = (row, column, focus) => {
    if (chosen) mark(chosen, false);
    mark((chosen = { row, column }), true);
    const cell = cellOf(row, column);
    cell.setAttribute("aria-label", cellInWords(matrix, row, column));
    if (!focus) return;
    cell.focus({ preventScroll: true });
    cell.scrollIntoView({ block: "nearest", inline: "nearest" });
  };
  const cellAt = ({ target }) => {
    const cell = target.closest("td[role=gridcell]:not(.sum)");
    return cell && { row: rows.indexOf(cell.parentElement), column: cell.cellIndex - 1 };
  };
  return { element: table, show, boxOf: (row, column) => cellOf(row, column).getBoundingClientRect(), cellAt };
};

/** What is told of a row in time, "new", "cached", …: its class, and its words beside the label. */
export const rowStateOf = ({ rowState }, row) => {
  const told = rowState[row];
  return told
    ? { class: `state-${told.split(" ")[0]}`, told: [" ", element("small.row-state", told)] }
    : { class: null, told: null };
};

const rowOfCells = (matrix, row) => {
  const { class: state, told } = rowStateOf(matrix, row);
  return element("tr", { role: "row", class: state }, [
    headingOf("row", matrix.rows[row], told),
    matrix.columns.map((_, column) => cellElement(matrix, row, column)),
    matrix.rowSums && sumOfRow(matrix.panel, row),
  ]);
};

/** Of numbered columns that are narrow, every eighth has its number. */
const columnHeading = (matrix, label, column) => {
  const isShown = matrix.numbers || matrix.asks || matrix.tokensAbove || column % 8 === 0;
  const heading = headingOf("col", label);
  heading.classList.toggle("unnumbered", !isShown);
  return heading;
};

/** The heading of a row or a column; without a label, as of a mean, it is no heading. */
const headingOf = (scope, label, told = null) => {
  const role = { col: "columnheader", row: "rowheader" }[scope];
  return label === "" ? element("td", told) : element("th", { scope, role }, words(label), told);
};

const cornerOf = ({ asks }) =>
  element("td.axes-corner", asks && [element("span", "asks ↓"), element("span", "attended to →")]);

const cellElement = (matrix, row, column) => {
  const value = matrix.panel.at(row, column);
  const shade = matrix.forbidden?.(row, column) ? { class: "hatched" } : shadeOf(depthOf(matrix.scale, value));
  const text = matrix.kind === "mask" && value === 0 ? "0" : fourDecimals(value);
  const cell = { ...shade, role: "gridcell", tabindex: "-1" };
  if (!matrix.numbers) return element("td", { ...cell, "aria-label": text });
  const word = matrix.pick && [element("span.pick", words(matrix.pick(row, column).label)), " "];
  return element("td", cell, word, text);
};

/** The sum of a row of weights: 1, or 0 for a row that may look nowhere. */
const sumOfRow = (panel, row) =>
  element("td.sum", { role: "gridcell" }, fourDecimals(rowOfPanel(panel, row).reduce((sum, share) => sum + share, 0)));
