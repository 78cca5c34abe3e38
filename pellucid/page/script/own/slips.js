// Known slips: typical mistakes in one step. Each has a formula in pellucid/worked/slips.toml, which is computed here.
// A slip explains a wrong claim only if its formula gives every claimed cell.

import { Matrix } from "../base/matrix.js";
import { page } from "../base/page.js";
import { softmaxOfRows } from "../model/model.js";
import { madeOfStage } from "./worked.js";

export const EXACT = 1e-9; // added to every tolerance, for rounding errors of float64
const ENOUGH = 4; // claimed cells that are needed as evidence if only one of them is wrong

const PROJECTED = ["queries", "keys", "values"]; // these have the same slips

/** If one or two known slips give a claim, name them: "dividing by d_k gives this"; otherwise return "". */
export const slipThatGives = (given, claim, lines, right) => {
  const { name } = claim;
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

/** Return the matrices (each a list of heads) and the numbers that a formula may use, by name. */
const namesForSlips = ({ arrays, heads, divisor }, lines) => {
  const names = { heads, ...arrays, ...lines };
  const width = lines.queries?.[0].columns;
  if (width) Object.assign(names, { d_k: width, d_model: width * heads });
  if (divisor) names.divisor = divisor;
  if (divisor && !width) names.square = divisor ** 2;
  return names;
};

/** Return whether two numbers are equal within a tolerance; an infinite number equals only itself. */
export const isNear = (one, other, slack) => one === other || Math.abs(one - other) <= slack + EXACT;

/** Return whether a formula gives every claimed cell, and enough of the cells are wrong. */
const givesClaim = (formula, names, claim, right) => {
  const numbers = computeFormula(formula, names);
  if (!numbers || !sameSizes(numbers, claim.numbers)) return false;
  const largest = Math.max(...claim.cells.map(({ half }) => half));
  const cells = claim.cells.map(({ number, half, head, row, column }) => {
    const [value, isKnown] = [numbers[head].at(row, column), !Number.isNaN(number)];
    const isOff = !isNear(value, right[head].at(row, column), 2 * (isKnown ? half : largest));
    return { isKnown, isOff, fits: isNear(value, number, half) };
  });
  const known = cells.filter(({ isKnown }) => isKnown);
  const off = known.filter(({ isOff }) => isOff).length;
  const isOnlyOne = off === 1 && cells.filter(({ isOff }) => isOff).length === 1 && known.length >= ENOUGH;
  return known.every(({ fits }) => fits) && (off > 1 || isOnlyOne);
};

/** Compute a formula, which is a name, a number or [function, argument, …]. Return null if a matrix that it names is
 *  missing, or if shapes do not fit. */
const computeFormula = (formula, names) => {
  if (typeof formula === "number") return formula;
  if (!Array.isArray(formula)) return names[formula] ?? null;
  const [name, ...parts] = formula;
  const given = parts.map((part) => computeFormula(part, names));
  return given.includes(null) ? null : SLIP_FUNCTIONS[name](...given);
};

const eachCell = (f) => (heads) => heads.map((matrix) => matrix.map(f));

/** Make `heads` matrices; f gives each number from its head, row and column. */
const layOut = (heads, rows, columns, f) =>
  Array.from({ length: heads }, (_, head) => new Matrix(rows, columns).map((_, row, column) => f(head, row, column)));

/** Apply f to each cell of the heads `a` and to that of `b`: heads, of which single rows or columns repeat, or a number. */
export const cellByCell = (f) => (a, b) => {
  if (typeof b === "number") return eachCell((value) => f(value, b))(a);
  const [{ rows, columns }, one] = [a[0], b[0]];
  if (![1, rows].includes(one.rows) || ![1, columns].includes(one.columns)) return null;
  const other = (head, row, column) => b[head % b.length].at(row % one.rows, column % one.columns);
  return a.map((matrix, head) => matrix.map((value, row, column) => f(value, other(head, row, column))));
};

const eachProduct = (a, b) => {
  if (a[0].columns !== b[0].rows) return null;
  const heads = Math.max(a.length, b.length);
  return Array.from({ length: heads }, (_, head) => a[head % a.length].times(b[head % b.length]));
};

// The same functions as in pellucid/worked/slips.py. Their arguments are lists of matrices, one for each head.
const SLIP_FUNCTIONS = {
  "@": eachProduct,
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
  row_sum: (x) => x.map((matrix) => matrix.times(new Matrix(matrix.columns, 1).map(() => 1))),
  uniform: (x) => x.map((matrix) => matrix.map(() => 1 / matrix.columns)),
  together: (x) => x.map(() => x.reduce((sum, matrix) => sum.plus(matrix))),
  next: ([first, ...others]) => [...others, first],
  reverse: (x) => x.toReversed(),
  split: (x, heads) => (x.length === heads ? x : x[0].columns % heads ? null : x[0].split(heads)),
  in_turn: ([x], heads) =>
    layOut(heads, x.rows, x.columns / heads, (head, row, column) => x.at(row, column * heads + head)),
  reshape: ([{ rows, columns, data }], heads) =>
    layOut(heads, rows, columns / heads, (head, row, column) => data[((head * rows + row) * columns) / heads + column]),
  join: (x) => [Matrix.besideEachOther(x)],
  take_turns: (x) =>
    layOut(1, x[0].rows, x[0].columns * x.length, (_, row, column) =>
      x[column % x.length].at(row, Math.floor(column / x.length)),
    ),
  flatten: (x) => {
    const numbers = Float64Array.from(x.flatMap(({ data }) => [...data]));
    return [new Matrix(x[0].rows, x[0].columns * x.length, numbers)];
  },
};

export const sameSizes = (one, other) => one.length === other.length && one[0].size === other[0].size;
