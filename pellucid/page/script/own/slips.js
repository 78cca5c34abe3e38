// Known slips: what a claimed line would be if one step had been done otherwise. The table of formulas comes from
// Python, pellucid/worked/slips.toml; here they are computed. A slip counts only where it gives every claimed cell.

import { Matrix } from "../base/matrix.js";
import { page } from "../base/page.js";
import { softmaxOfRows } from "../model/model.js";
import { madeOfStage } from "./worked.js";

export const EXACT = 1e-9; // added to every slack: what float64 itself may lose
const ENOUGH = 4; // claimed cells that convince where a slip shows in a single one

class NotHere extends Error {} // a formula needs a line that the example lacks, or shapes do not multiply

const PROJECTED = ["queries", "keys", "values"]; // which have the same slips

/** "dividing by d_k gives this": the known slips that give a claim, if there are one or two; else "". */
export const slipThatGives = (given, name, claim, lines, right) => {
  const isProjected = PROJECTED.includes(name);
  const [[source], [weight]] = madeOfStage(name, given.arrays);
  if (name in given.arrays || (isProjected && !weight)) return "";
  const names = namesForSlips(given, lines);
  if (isProjected) Object.assign(names, { source: names[source], weight: names[weight] });
  const written = { source, weight };
  for (const key of ["divisor", "square"]) written[key] = Number((names[key] ?? 0).toPrecision(6));
  const found = (page.header.own.slips[isProjected ? "projection" : name] ?? [])
    .filter(([, formula]) => givesClaim(formula, names, claim, right))
    .map(([done]) => done.replace(/\{(\w+)\}/g, (_, key) => written[key]));
  return found.length === 1 || found.length === 2 ? `${found.join(" or ")} gives this` : "";
};

/** The matrices, a list of heads each, and the numbers that a formula may name. */
const namesForSlips = ({ arrays, heads, divisor }, lines) => {
  const names = { heads, ...arrays, ...lines };
  const width = lines.queries?.[0].columns;
  if (width) Object.assign(names, { d_k: width, d_model: width * heads });
  if (divisor) names.divisor = divisor;
  if (divisor && !width) names.square = divisor ** 2;
  return names;
};

/** Whether a formula gives every claimed cell, and enough of them are not right. */
const givesClaim = (formula, names, claim, right) => {
  let numbers;
  try {
    numbers = computeFormula(formula, names);
  } catch (error) {
    if (error instanceof NotHere) return false;
    throw error;
  }
  if (!sameSizes(numbers, claim.numbers)) return false;
  const isNear = (one, other, slack) => one === other || Math.abs(one - other) <= slack + EXACT;
  const largest = Math.max(...claim.halves.flatMap(({ data }) => [...data]));
  let [known, off, offAnywhere] = [0, 0, 0];
  for (const [head, matrix] of numbers.entries()) {
    for (const [place, value] of matrix.data.entries()) {
      const [claimed, half] = [claim.numbers[head].data[place], claim.halves[head].data[place]];
      const isKnown = !Number.isNaN(claimed);
      if (isKnown && !isNear(value, claimed, half)) return false;
      const isOff = !isNear(value, right[head].data[place], 2 * (isKnown ? half : largest));
      known += isKnown;
      off += isKnown && isOff;
      offAnywhere += isOff;
    }
  }
  return off > 1 || (off === 1 && offAnywhere === 1 && known >= ENOUGH);
};

/** A formula is a name, a number, or [function, argument, …]. */
const computeFormula = (formula, names) => {
  if (typeof formula === "number") return formula;
  if (Array.isArray(formula))
    return SLIP_FUNCTIONS[formula[0]](...formula.slice(1).map((each) => computeFormula(each, names)));
  if (!(formula in names)) throw new NotHere();
  return names[formula];
};

const eachCell = (f) => (heads) => heads.map((matrix) => matrix.map(f));
const rebuilt = (rows, columns, f) => new Matrix(rows, columns).map((_, row, column) => f(row, column));
const headsMade = (heads, rows, columns, f) =>
  Array.from({ length: heads }, (_, head) => rebuilt(rows, columns, (row, column) => f(head, row, column)));
const totalOf = (numbers) => numbers.reduce((sum, value) => sum + value, 0);

/** Two lists of heads, or a list and a number, cell by cell; a row, a column or a head alone stands for all. */
export const cellByCell = (f) => (a, b) =>
  a.map((matrix, head) => {
    if (typeof b === "number") return matrix.map((value) => f(value, b));
    const other = b[head % b.length];
    if (![1, matrix.rows].includes(other.rows) || ![1, matrix.columns].includes(other.columns)) throw new NotHere();
    return matrix.map((value, row, column) => f(value, other.at(row % other.rows, column % other.columns)));
  });

// The same functions as in pellucid/worked/slips.py.
const SLIP_FUNCTIONS = {
  "@": (a, b) =>
    Array.from({ length: Math.max(a.length, b.length) }, (_, head) => {
      const [left, right] = [a[head % a.length], b[head % b.length]];
      if (left.columns !== right.rows) throw new NotHere();
      return left.times(right);
    }),
  "*": cellByCell((x, y) => x * y),
  "/": cellByCell((x, y) => x / y),
  sqrt: Math.sqrt,
  T: (x) => x.map((matrix) => matrix.transposed()),
  softmax: (x) => x.map(softmaxOfRows),
  exp: eachCell(Math.exp),
  hide: cellByCell((x, mask) => (mask === -Infinity ? -Infinity : x)),
  zero: cellByCell((x, mask) => (mask === -Infinity ? 0 : x)),
  inverse: eachCell((mask) => (mask === -Infinity ? 0 : -Infinity)),
  later: (x, n) => eachCell((_, row, column) => (column - row >= n ? -Infinity : 0))(x),
  row_sum: (x) => x.map((matrix) => rebuilt(matrix.rows, 1, (row) => totalOf(matrix.row(row)))),
  total: (x) => x.map((matrix) => rebuilt(1, 1, () => totalOf(matrix.data))),
  uniform: (x) => x.map((matrix) => matrix.map(() => 1 / matrix.columns)),
  together: (x) => x.map(() => x.reduce((sum, matrix) => sum.plus(matrix))),
  next: ([first, ...others]) => [...others, first],
  reverse: (x) => [...x].reverse(),
  split: (x, heads) => {
    if (x.length === heads) return x;
    if (x[0].columns % heads) throw new NotHere();
    return x[0].split(heads);
  },
  in_turn: ([x], heads) =>
    headsMade(heads, x.rows, x.columns / heads, (head, row, column) => x.at(row, column * heads + head)),
  reshape: ([{ rows, columns, data }], heads) =>
    headsMade(
      heads,
      rows,
      columns / heads,
      (head, row, column) => data[((head * rows + row) * columns) / heads + column],
    ),
  join: (x) => [Matrix.besideEachOther(x)],
  take_turns: (x) =>
    headsMade(1, x[0].rows, x[0].columns * x.length, (_, row, place) =>
      x[place % x.length].at(row, Math.floor(place / x.length)),
    ),
  flatten: (x) => [
    new Matrix(x[0].rows, x[0].columns * x.length, Float64Array.from(x.flatMap(({ data }) => [...data]))),
  ],
};

export const sameSizes = (one, other) => one.length === other.length && one[0].size === other[0].size;
