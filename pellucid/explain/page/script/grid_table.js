// A matrix whose cells are elements: a table with the roles of a grid.

/** {element, show(row, column, focus), cellAt(event)} for a grid's state. */
function tableOfCells(state) {
  const { panel } = state;
  const rows = Array.from({ length: panel.rows }, (_, row) => rowOfCells(state, row));
  const headings = state.columns.map((label, column) => columnHeading(state, label, column));
  const sums = state.rowSums ? [element("th", { scope: "col", role: "columnheader", class: "sum" }, "row sum")] : [];
  const head = element("tr", { role: "row" }, cornerOf(state), ...headings, ...sums);
  const table = element(
    "table",
    {
      class: `cells${state.numbers ? "" : " colour-only"}${state.asks || state.tokensAbove ? " tokens-above" : ""}${state.pick ? " picks" : ""}`,
      role: "grid",
      "aria-label": state.title,
      "aria-rowcount": panel.rows + 1,
      "aria-colcount": panel.columns + 1 + sums.length,
      "aria-readonly": "true",
      "--cell": `${state.width}px`,
      "--row": `${state.height}px`,
    },
    element("thead", { role: "rowgroup" }, head),
    element("tbody", { role: "rowgroup" }, ...rows),
  );
  let chosen = null;
  const show = (row, column, focus) => {
    if (chosen) mark(rows, headings, chosen, false);
    chosen = { row, column };
    const cell = mark(rows, headings, chosen, true);
    cell.setAttribute("aria-label", cellInWords(state, row, column));
    if (!focus) return;
    cell.focus({ preventScroll: true });
    cell.scrollIntoView({ block: "nearest", inline: "nearest" });
  };
  return { element: table, show, cellAt: (event) => cellOfTable(event, rows) };
}

function mark(rows, headings, { row, column }, on) {
  const cell = rows[row].children[column + 1];
  rows[row].classList.toggle("chosen-row", on);
  headings[column]?.classList.toggle("chosen-column", on);
  cell.setAttribute("tabindex", on ? "0" : "-1");
  cell.setAttribute("aria-selected", String(on));
  return cell;
}

function cellOfTable(event, rows) {
  const cell = event.target.closest("td[role=gridcell]:not(.sum)");
  if (!cell) return null;
  return { row: rows.indexOf(cell.parentElement), column: [...cell.parentElement.children].indexOf(cell) - 1 };
}

function rowOfCells(state, row) {
  const { panel } = state;
  const cells = Array.from({ length: panel.columns }, (_, column) => cellOf(state, row, column));
  const sum = state.rowSums ? [sumOfRow(panel, row)] : [];
  const told = state.rowState[row];
  return element(
    "tr",
    { role: "row", class: told ? `state-${told.split(" ")[0]}` : null },
    rowHeading(state, row),
    ...cells,
    ...sum,
  );
}

function rowHeading(state, row) {
  const told = state.rowState[row];
  return element(
    "th",
    { scope: "row", role: "rowheader" },
    words(state.rows[row]),
    told ? [" ", element("small", { class: "row-state" }, told)] : null,
  );
}

/** Of numbered columns that are narrow, every eighth has its number. */
function columnHeading(state, label, column) {
  const shown = state.numbers || state.asks || state.tokensAbove || column % 8 === 0;
  return element("th", { scope: "col", role: "columnheader", class: shown ? null : "unnumbered" }, words(label));
}

function cornerOf(state) {
  if (!state.asks) return element("td", { class: "axes-corner" });
  return element("td", { class: "axes-corner" }, element("span", {}, "asks ↓"), element("span", {}, "is asked →"));
}

function cellOf(state, row, column) {
  const value = state.panel.at(row, column);
  const shade = state.forbidden?.(row, column) ? { class: "hatched" } : shadeOf(depthOf(state.scale, value));
  const text = state.kind === "mask" && value === 0 ? "0" : fourDecimals(value);
  const word = state.pick ? [element("span", { class: "pick" }, words(state.pick(row, column).label)), " "] : [];
  if (!state.numbers) return element("td", { ...shade, role: "gridcell", tabindex: "-1", "aria-label": text });
  return element("td", { ...shade, role: "gridcell", tabindex: "-1" }, ...word, text);
}

/** The sum of a row of weights: 1, or 0 for a row that may look nowhere. */
function sumOfRow(panel, row) {
  let sum = 0;
  for (let column = 0; column < panel.columns; column++) sum += panel.at(row, column);
  return element("td", { class: "sum", role: "gridcell" }, fourDecimals(sum));
}
