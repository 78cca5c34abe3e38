// Measure how much room a plate needs, in pixels, for its numbers, its labels and its heading.

import { numbersOf, withDecimals } from "../base/numbers.js";
import { tokenName } from "../base/tokens.js";

const DIGIT = 7.13; // the width of a digit
const LEAST = { digits: 28, row: 17, ofWord: 32 };
const MOST = { label: 144, token: 80, word: 58 };
const CORNER = 92; // the width of "attended to →"
const ROW_SUM = 62;

const brush = document.createElement("canvas").getContext("2d");

/** Return the width of a text. */
export const widthOf = (text, font = "500 12px") => {
  brush.font = `${font} ${getComputedStyle(document.body).fontFamily}`;
  return Math.ceil(brush.measureText(text).width * typeScale());
};
const typeScale = () => parseFloat(getComputedStyle(document.documentElement).fontSize) / 16; // larger in a lecture

const widest = (texts, font) => Math.max(0, ...[...new Set(texts)].map((text) => widthOf(tokenName(text), font)));

/** The sizes that a plate needs: `digits` for each number of decimals, its row `labels`, a `token` above a column, …
 *  @typedef {{ plate: object, count: number, rows: number, digits: object, row: number, labels: number, token: number,
 *    sum: number, caption: number, top: number }} Measures
 *  @returns {Measures} */
export const measuresOf = (plate) => {
  const { panel, rows, columns, rowState, other, isSame, shape, product, caption } = plate;
  const state = rowState.length ? widest(rowState, "650 11px") + 16 : 0;
  const [title, sizes] = [widthOf(caption.title, "15px") + 50, DIGIT * 1.03 * (product || shape.split(",")[0]).length];
  return {
    plate,
    count: panel.columns,
    rows: panel.rows * (other ? 2 : 1),
    digits: digitsOf(plate),
    row: (plate.pick ? LEAST.ofWord : LEAST.row) * typeScale(),
    labels: Math.min(MOST.label, Math.max(plate.asks ? CORNER : 0, widest(rows) + 10)) + state,
    token: plate.areTokensAbove ? Math.min(MOST.token, widest(columns)) : 0,
    sum: plate.rowSums ? ROW_SUM : 0,
    caption: Math.ceil(Math.max(title, sizes)),
    top: 42 + (other ? 70 : isSame ? 17 : 0), // without its column labels
  };
};

/** Return the width of the longest number, with two to four decimals. It is the same for all heads, as the scale is. */
const digitsOf = ({ panel, other, scale, pick, rows, columns }) => {
  const numbers = [panel, other].filter(Boolean).flatMap((each) => [...numbersOf(each)].filter(Number.isFinite));
  const most = scale.most * (1 - 1e-6); // slightly less: the scale's round end may have one more digit
  const ends = [numbers.some((value) => value < 0) ? -most : most, Math.min(...numbers), Math.max(...numbers)];
  const labels = pick ? rows.flatMap((_, row) => columns.map((_, column) => pick(row, column).label)) : [];
  const words = Math.min(MOST.word, widest(labels) + 8); // a longer one is cut
  const width = (decimals) => {
    const longest = Math.max(...ends.map((value) => withDecimals(value, decimals).length));
    return Math.max(LEAST.digits, words, Math.ceil(DIGIT * typeScale() * longest + 4));
  };
  return { 4: width(4), 3: width(3), 2: width(2) };
};
