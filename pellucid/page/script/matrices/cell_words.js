// A cell in words: its place, its number, for the eye and for the ear.

import { chip, words } from "../base/elements.js";
import { fourDecimals } from "../base/numbers.js";
import { splitName } from "../runs/parts.js";

/** What stands before the labels of rows and columns where one says a cell's place. */
export const withWords = (spec) => ({
  ...spec,
  rowWord: spec.rowWord ?? "",
  columnWord: spec.columnWord ?? (spec.asks || spec.panel.columns === 1 ? "" : "dimension"),
});

const ROOM_FOR_A_WORD = 48; // pixels

/** How tokens stand above the columns of a picture: upright where these are narrow. "" where numbers stand there. */
export const headingsOf = ({ asks, tokensAbove, width }) => {
  if (!asks && !tokensAbove) return "";
  return width < ROOM_FOR_A_WORD ? "tokens-above" : "tokens-level";
};

/** The words for a cell's place, its tokens set apart: “gustan” asks, “like” is attended to. */
export const cellPlace = (matrix, row, column) => {
  const right = matrix.pick ? matrix.pick(row, column).label : matrix.columns[column];
  const left = [matrix.rowWord, matrix.rowWord ? " " : "", chip(matrix.rows[row])];
  if (matrix.asks) return [...left, " asks, ", chip(right), " is attended to"];
  if (matrix.panel.columns === 1 && !right) return left;
  return [
    ...left,
    `, ${matrix.columnWord}${matrix.columnWord ? " " : ""}`,
    matrix.columnWord ? words(right) : chip(right),
  ];
};

/** The same in plain text, for what is read aloud. */
export const cellPlaceInWords = (matrix, row, column) =>
  cellPlace(matrix, row, column)
    .map((part) => part.textContent ?? part)
    .join("");

/** The place and the number. */
export const cellInWords = (matrix, row, column) => {
  const masked = matrix.forbidden?.(row, column) ? ", masked" : "";
  const told = matrix.rowState[row] ? `, ${matrix.rowState[row]}` : "";
  return `${cellPlaceInWords(matrix, row, column)}, ${matrix.word} ${fourDecimals(matrix.panel.at(row, column))}${masked}${told}`;
};

/** What one number of a tensor is called: "weight", "scaled score", "query". */
export const wordOfNumber = (name) => splitName(name).last.replaceAll("_", " ").replace(/ies$/, "y").replace(/s$/, "");
