// The twin of a matrix: a plain table with all digits, to be copied into a spreadsheet, or printed.

import { columnHead, element, rowHead, tableOf, words } from "../base/elements.js";
import { allDigits } from "../base/numbers.js";

/** {fold, copy}: a fold with the table, which is made when it is opened, and a button that copies it. */
export const twinOfMatrix = (title, { panel, rows, columns, pick, kind }) => {
  const fold = element("details", { class: "twin" }, element("summary", {}, "As a plain table, all digits"));
  fold.fill = () => {
    if (!fold.querySelector("table"))
      fold.append(element("div", { class: "table-scroll" }, twinTable(title, { panel, rows, columns, pick })));
  };
  fold.addEventListener("toggle", () => fold.open && fold.fill());
  const copy = element("button", { class: "copy", type: "button" }, "Copy the numbers");
  copy.addEventListener("click", async () => {
    const done = await copyText(tabSeparated({ panel, rows, columns, pick, kind }));
    copy.textContent = done ? "Copied" : "Could not copy: open the table and select it";
    setTimeout(() => (copy.textContent = "Copy the numbers"), 2500);
  });
  return { fold, copy };
};

/** On paper the table stands with all its digits; folds that were closed are closed again afterwards. */
const unfoldForPaper = () => {
  for (const fold of document.querySelectorAll("details:is(.names, .twin):not([open])")) {
    fold.fill?.();
    fold.open = fold.classList.toggle("for-paper", true);
  }
};

const foldAfterPaper = () => {
  for (const fold of document.querySelectorAll(".for-paper")) fold.open = fold.classList.toggle("for-paper", false);
};

addEventListener("beforeprint", unfoldForPaper);

addEventListener("afterprint", foldAfterPaper);

const twinTable = (title, { panel, rows, columns, pick }) => {
  const number = (row, column) =>
    element("td", {}, pick ? [words(pick(row, column).label), " "] : null, allDigits(panel.at(row, column)));
  return tableOf("twin-table", {
    caption: title,
    heading: [element("td"), columns.map((label) => columnHead(words(label)))],
    rows: Array.from({ length: panel.rows }, (_, row) => [
      rowHead(words(rows[row])),
      columns.map((_, column) => number(row, column)),
    ]),
  });
};

/** Rows of text with tabs between the cells; −∞ as "-inf", which spreadsheets and Python both take as text. */
const tabSeparated = ({ panel, rows, columns, pick }) => {
  const cell = (row, column) => {
    const value = panel.at(row, column);
    const number = value === -Infinity ? "-inf" : allDigits(value);
    return pick ? `${pick(row, column).label} ${number}` : number;
  };
  const lines = [["", ...columns].join("\t")];
  for (let row = 0; row < panel.rows; row++) {
    lines.push([rows[row], ...Array.from({ length: panel.columns }, (_, column) => cell(row, column))].join("\t"));
  }
  return lines.join("\n");
};

/** Put text on the clipboard; true when that worked. */
export const copyText = async (text) => {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    return false;
  }
};
