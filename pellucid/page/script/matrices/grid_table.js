// Show a matrix as a table with the ARIA role grid. Its cells are elements or, if numbers do not fit, one picture.

import { element, say, words } from "../base/elements.js";
import { fourDecimals, rowOfPanel, sumOf, withDecimals } from "../base/numbers.js";
import { cellInWords } from "./cell_words.js";
import { picture } from "./painting.js";
import { depthOf, shadeOf } from "./scales.js";

/** Make a grid's table. Return {element, show(row, column, focus), boxOf(row, column), cellAt(event)}. */
export const tableOfCells = (matrix) => {
  const { panel, asks, rowSums, numbers, width, height, areTokensAbove, labels, isShared, isUpright, head } = matrix;
  const cells = numbers ? cellElements(matrix) : paintedCells(matrix);
  const rows = matrix.rows.map((_, row) => rowOfCells(matrix, row, cells.inRow(row)));
  const headings = matrix.columns.map((label) => headingOf("col", label));
  const room = areTokensAbove ? (isUpright ? 12 : width) : 36;
  const every = numbers ? 1 : labelsEvery(width, room, areTokensAbove);
  headings.forEach((heading, column) => heading.classList.toggle("unnumbered", !head || column % every > 0)); // no room for all
  const axes = asks && !isShared && [element("span", "asks ↓"), element("span", "attended to →")];
  const sum = rowSums && element("th.sum", { scope: "col", role: "columnheader" }, "row sum");
  const tokens = areTokensAbove && (isUpright ? "tokens-above" : "tokens-level");
  const kinds = [tokens, numbers ? matrix.pick && "picks" : "painted"];
  const table = element(
    "table.cells",
    {
      class: kinds.filter(Boolean).join(" "),
      role: "grid",
      "aria-label": matrix.title,
      "aria-rowcount": panel.rows + 1,
      "aria-colcount": panel.columns + (rowSums ? 2 : 1),
      "aria-readonly": "true",
      "--cell": `${width}px`,
      "--row": `${height}px`,
      "--labels": `${labels}px`,
      "--head": `${head}px`,
    },
    element(
      "thead",
      { role: "rowgroup" },
      element("tr", { role: "row" }, element("td.axes-corner", axes), headings, sum),
    ),
    element("tbody", { role: "rowgroup" }, rows),
  );
  let chosen = null;
  const mark = (on) => {
    rows[chosen.row].classList.toggle("chosen-row", on);
    headings[chosen.column]?.classList.toggle("chosen-column", on);
  };
  const show = (row, column, focus) => {
    if (chosen) mark(false);
    chosen = { row, column };
    mark(true);
    cells.show(row, column, cellInWords(matrix, row, column), focus);
  };
  return { ...cells, element: table, show };
};

/** Make an element for each cell; the Tab key stops only at the chosen cell. */
const cellElements = (matrix) => {
  const cells = matrix.rows.map((_, row) => matrix.columns.map((_, column) => cellElement(matrix, row, column)));
  let chosen = null;
  const mark = (on) => {
    chosen.setAttribute("tabindex", on ? "0" : "-1");
    chosen.setAttribute("aria-selected", String(on));
    chosen.dataset.key = on ? `cell-${matrix.title}` : "";
  };
  const show = (row, column, told, focus) => {
    if (chosen) mark(false);
    chosen = cells[row][column];
    mark(true);
    chosen.setAttribute("aria-label", told);
    if (!focus) return;
    chosen.focus({ preventScroll: true });
    chosen.scrollIntoView({ block: "nearest", inline: "nearest" });
  };
  const cellAt = ({ target }) => {
    const cell = target.closest("td[role=gridcell]:not(.sum)");
    return cell && { row: cell.parentElement.sectionRowIndex, column: cell.cellIndex - 1 };
  };
  const boxOf = (row, column) => cells[row][column].getBoundingClientRect();
  return { inRow: (row) => cells[row], show, boxOf, cellAt };
};

/** Make one picture of all cells, without numbers. Choosing a cell moves a ring and is read aloud. */
const paintedCells = (matrix) => {
  const { title, panel, width, height } = matrix;
  const canvas = picture(matrix, { "aria-hidden": "true" });
  const ring = element("div.ring");
  const whole = element(
    "td.field",
    {
      role: "gridcell",
      tabindex: "0",
      "data-key": `cell-${title}`,
      rowspan: panel.rows,
      colspan: panel.columns,
      "--across": `${panel.columns * width}px`,
      "--down": `${panel.rows * height}px`,
    },
    canvas,
    ring,
  );
  const show = (row, column, told, focus) => {
    ring.style.transform = `translate(${column * width}px, ${row * height}px)`;
    whole.setAttribute("aria-label", told);
    if (!focus) return;
    if (document.activeElement === whole) say(told);
    whole.focus({ preventScroll: true });
    ring.scrollIntoView({ block: "nearest", inline: "nearest" });
  };
  const boxOf = (row, column) => {
    const { left, top } = canvas.getBoundingClientRect();
    return new DOMRect(left + column * width, top + row * height, width, height);
  };
  const cellAt = ({ clientX, clientY }) => {
    const { left, top } = canvas.getBoundingClientRect();
    const [row, column] = [Math.floor((clientY - top) / height), Math.floor((clientX - left) / width)];
    return row >= 0 && column >= 0 && row < panel.rows && column < panel.columns ? { row, column } : null;
  };
  return { inRow: (row) => row === 0 && whole, show, boxOf, cellAt };
};

/** Make a row, with its state at a decoding step ("new", "cached", …). If rows are low, only some have a label. */
const rowOfCells = (matrix, row, cells) => {
  const told = matrix.rowState[row];
  const every = matrix.numbers ? 1 : labelsEvery(matrix.height, 15, matrix.asks || !matrix.rowWord);
  const state = told && [" ", element("small.row-state", told)];
  const heading = headingOf("row", matrix.rows[row], state);
  heading.classList.toggle("unnumbered", matrix.isShared || row % every > 0);
  return element("tr", { role: "row", class: told && `state-${told.split(" ")[0]}` }, [
    heading,
    cells,
    matrix.rowSums && element("td.sum", { role: "gridcell" }, fourDecimals(sumOf(rowOfPanel(matrix.panel, row)))),
  ]);
};

/** Return the smallest n such that every nth label has room; for numbers, n is 1 or a multiple of 8. */
const labelsEvery = (size, room, areTokens) => {
  const every = Math.ceil(room / size);
  return areTokens || every === 1 ? every : Math.ceil(every / 8) * 8;
};

/** Make the heading of a row or a column; for an empty label (such as a mean's), an empty cell. */
const headingOf = (scope, label, told = null) => {
  const role = { col: "columnheader", row: "rowheader" }[scope];
  return label === "" ? element("td", told) : element("th", { scope, role }, words(label), told);
};

const cellElement = (matrix, row, column) => {
  const value = matrix.panel.at(row, column);
  const shade = matrix.forbidden?.(row, column) ? { class: "hatched" } : shadeOf(depthOf(matrix.scale, value));
  const cell = { ...shade, role: "gridcell", tabindex: "-1" };
  const word = matrix.pick && [element("span.pick", words(matrix.pick(row, column).label)), " "];
  return element("td", cell, word, withDecimals(value, matrix.decimals));
};
