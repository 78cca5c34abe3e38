// Describe a cell in words: its position and its number.

import { chip, words } from "../base/elements.js";
import { fourDecimals } from "../base/numbers.js";

/** Describe a cell's position, with elements for its tokens: “gustan” asks, “like” is attended to. */
export const cellPlace = (matrix, row, column) => {
  const right = matrix.pick ? matrix.pick(row, column).label : matrix.columns[column];
  const left = [matrix.rowWord, matrix.rowWord ? " " : "", chip(matrix.rows[row])];
  if (matrix.asks) return [...left, " asks, ", chip(right), " is attended to"];
  if (matrix.panel.columns === 1 && !right) return left;
  return [...left, ...(matrix.columnWord ? [`, ${matrix.columnWord} `, words(right)] : [", ", chip(right)])];
};

/** Describe a cell's position and number in plain text, for screen readers. */
export const cellInWords = (matrix, row, column) => {
  const place = cellPlace(matrix, row, column).map((part) => part.textContent ?? part);
  const number = ` ${fourDecimals(matrix.panel.at(row, column))}`;
  const masked = matrix.forbidden?.(row, column) ? ", masked" : "";
  const told = matrix.rowState[row] ? `, ${matrix.rowState[row]}` : "";
  return [...place, ", ", matrix.word, number, masked, told].join("");
};
