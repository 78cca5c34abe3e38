// Matrices as people give them: rows of numbers, one matrix or one for each head, in float64. Here a
// matrix is a list of rows, and several heads are a list of matrices; a number that is not known is NaN.

/** A wrong setting or matrix; `place` names what to mend, so that a form can say it beside the field. */
class UsageError extends Error {
  constructor(message, place = "") {
    super(message);
    this.place = place;
  }
}

/** The lengths along each level of a nested list; null where its parts are not alike. */
const shapeOf = (value) => {
  if (!Array.isArray(value)) return [];
  const parts = value.map(shapeOf);
  if (parts.some((part) => part === null || part.join() !== parts[0].join())) return null;
  return [value.length, ...(parts[0] ?? [])];
};

const shapeText = (shape) => shape.join("×") || "a single number";

/** 2×4: the rows and columns of a matrix (of one head, if it has several). */
const sizeText = (matrix) => {
  const one = isPerHead(matrix) ? matrix[0] : matrix;
  return `${one.length}×${columnsOf(one)}`;
};

const isPerHead = (value) => Array.isArray(value[0]?.[0]);
const columnsOf = (matrix) => matrix[0].length;
const sameShape = (one, other) => shapeText(shapeOf(one) ?? []) === shapeText(shapeOf(other) ?? []);

/** The value, if it is a matrix of numbers or one for each head; else an error that says what it is. */
const matrixOf = (name, value) => {
  const shape = shapeOf(value);
  const cells = Array.isArray(value) ? value.flat(2) : [value];
  if (shape === null || cells.some((cell) => typeof cell !== "number")) {
    const parts = Array.isArray(value) ? value.map(shapeOf) : [];
    const told = parts.every((part) => part !== null && part.length) ? parts.map(shapeText) : [];
    const ragged = new Set(told).size > 1 ? `: its parts have the shapes ${told.join(", ")}` : "";
    throw new UsageError(`${name} is not a matrix of numbers${ragged}. Give parts that are alike.`, name);
  }
  const allowed = name === "inputs" || name === "memory" ? [2] : [2, 3];
  if (!allowed.includes(shape.length) || shape.includes(0)) {
    const also = allowed.includes(3) ? ", or one for each head" : "";
    const given = `${name} has the shape ${shapeText(shape)}`;
    throw new UsageError(`${given}. Give a matrix, [[1.0, 2.0], …]${also}.`, name);
  }
  const mayBeMasked = name === "mask" || name.endsWith("scores");
  const infinite = cells.find((cell) => cell === Infinity || (cell === -Infinity && !mayBeMasked));
  if (infinite !== undefined) {
    const holds = `${name} holds ${sixDigits(infinite)}, with which nothing can be computed`;
    throw new UsageError(`${holds}. Give finite numbers.`, name);
  }
  return value;
};

/** Every cell of a matrix through a function of its value, row and column. */
const mapCells = (matrix, made) => matrix.map((row, r) => row.map((value, c) => made(value, r, c)));

const emptyMatrix = (rows, columns, value = 0) =>
  Array.from({ length: rows }, () => Array(columns).fill(value));
const transpose = (matrix) => matrix[0].map((_, column) => matrix.map((row) => row[column]));

/** a · b: each cell the sum of a row of a times a column of b, term by term. */
const multiply = (a, b) => {
  const columns = transpose(b);
  return a.map((row) => columns.map((column) => row.reduce((sum, value, i) => sum + value * column[i], 0)));
};

/** Rows × columns -> a slice of the columns for each head. */
const splitHeads = (matrix, heads) => {
  const width = columnsOf(matrix) / heads;
  return Array.from({ length: heads }, (_, head) =>
    matrix.map((row) => row.slice(head * width, (head + 1) * width)),
  );
};

/** A number with six digits at most, as Python's "g" writes it: 22.6274, 1e-09, 1. */
const sixDigits = (value) => {
  if (!Number.isFinite(value)) return Number.isNaN(value) ? "nan" : value > 0 ? "inf" : "-inf";
  if (value === 0) return Object.is(value, -0) ? "-0" : "0";
  const [digits, power] = value.toExponential(5).split("e");
  const exponent = Number(power);
  const short = (text) => (text.includes(".") ? text.replace(/\.?0+$/, "") : text);
  if (exponent >= -4 && exponent < 6) return short(value.toFixed(Math.max(0, 5 - exponent)));
  const size = String(Math.abs(exponent)).padStart(2, "0");
  return `${short(digits)}e${exponent < 0 ? "-" : "+"}${size}`;
};
