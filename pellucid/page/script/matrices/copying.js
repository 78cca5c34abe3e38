// The twin of a matrix: a plain table with all digits, which readers can copy or print.

import { element, rowHead, tableOf, words, wordsOf } from "../base/elements.js";
import { allDigits } from "../base/numbers.js";

/** Make a folded table. It is filled when the reader opens it. */
export const twinOfMatrix = (title, spec) => {
  const fold = element("details.twin", element("summary", "As a plain table, all digits"));
  fold.fill = () => fold.children[1] ?? fold.append(element("div.table-scroll", twinTable(title, spec)));
  fold.addEventListener("toggle", fold.fill);
  return fold;
};

const twinTable = (title, { panel, rows, columns, pick }) =>
  tableOf("twin-table", {
    caption: title,
    heading: [null, ...wordsOf(columns)],
    rows: rows.map((label, row) => [
      rowHead(words(label)),
      columns.map((_, column) =>
        element("td", pick && [words(pick(row, column).label), " "], allDigits(panel.at(row, column))),
      ),
    ]),
  });

/** Open folded parts before the page is printed, and fold them again afterwards. */
addEventListener("beforeprint", () => {
  for (const fold of document.querySelectorAll("details:is(.names, .twin):not([open])")) {
    fold.fill?.();
    fold.open = fold.classList.toggle("for-paper", true);
  }
});

addEventListener("afterprint", () => {
  for (const fold of document.querySelectorAll(".for-paper")) fold.open = fold.classList.toggle("for-paper", false);
});
