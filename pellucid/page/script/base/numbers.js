// Numbers: tensors with named axes, tensors as matrices, and numbers as text.

/** A tensor of float32 numbers in row-major order; `axes` has a letter for each axis, such as "BHLM".
 *  @typedef {{ axes: string, shape: number[], data: Float32Array }} Tensor */

/** A matrix that the page can show.
 *  @typedef {{ rows: number, columns: number, at: (row: number, column: number) => number }} Panel */

/** @returns {Tensor} */
export const makeTensor = (axes, shape, data = new Float32Array(sizeOfShape(shape))) => ({ axes, shape, data });
export const sizeOfShape = (shape) => shape.reduce((size, length) => size * length, 1);

/** Return the axes of one matrix of a tensor: the axis of its rows and, if it has columns, the axis of its columns. */
export const axesOfMatrix = (axes) => [...axes].filter((axis) => !"BH".includes(axis));

/** Return one matrix of a tensor: for the first sentence and one head. A tensor without a second axis (such as a mean
 *  for each position) becomes one column. @returns {Panel} */
export const panelOf = (tensor, head = 0) => {
  const [rows, columns = 1] = tensor.shape.filter((_, place) => !"BH".includes(tensor.axes[place] ?? "?"));
  const heads = headsOfTensor(tensor);
  if (!(head >= 0 && head < heads)) {
    throw new Error(`head ${head} is not there: there are ${heads}, counted from 0. Choose one of these.`);
  }
  const start = head * rows * columns;
  return { rows, columns, at: (row, column) => tensor.data[start + row * columns + column] };
};

export const headsOfTensor = ({ axes, shape }) => (axes.includes("H") ? shape[axes.indexOf("H")] : 1);

/** Return a row of a panel as a list. */
export const rowOfPanel = ({ columns, at }, row) => Array.from({ length: columns }, (_, column) => at(row, column));
export const columnOfPanel = ({ rows, at }, column) => Array.from({ length: rows }, (_, row) => at(row, column));

export const sumOf = (numbers) => numbers.reduce((sum, number) => sum + number, 0);

/** Return the indices of the largest numbers, largest first; ties keep their order. */
export const bestPlaces = (numbers, count) =>
  Array.from(numbers.keys())
    .sort((one, other) => numbers[other] - numbers[one] || one - other)
    .slice(0, count);

/** Return all numbers of a panel, row by row. */
export const numbersOf = ({ rows, columns, at }) =>
  new Float32Array(rows * columns).map((_, place) => at(Math.floor(place / columns), place % columns));

/** Find the cell with the largest absolute value in several panels: {head (which panel), row, column, value}. Only
 *  cells for which `isMeant(row, column)` is true count. Return null if there is none. */
export const largestCell = (panels, isMeant = () => true) => {
  let best = null;
  panels.forEach((panel, head) => {
    for (let row = 0; row < panel.rows; row++) {
      for (let column = 0; column < panel.columns; column++) {
        const value = panel.at(row, column);
        if (!Number.isFinite(value) || !isMeant(row, column)) continue;
        if (!best || Math.abs(value) > Math.abs(best.value)) best = { head, row, column, value };
      }
    }
  });
  return best;
};

/** Return all heads of a tensor, each as a panel. */
export const panelsOf = (tensor) => Array.from({ length: headsOfTensor(tensor) }, (_, head) => panelOf(tensor, head));

/** Return the absolute difference of two numbers; 0 for equal infinities. */
export const apart = (x, y) => (x === y ? 0 : Math.abs(x - y));

/** Return the mean of a tensor's heads, as a panel. */
export const meanOfHeads = (tensor) => {
  const heads = panelsOf(tensor);
  const at = (row, column) => heads.reduce((sum, head) => sum + head.at(row, column), 0) / heads.length;
  return { ...heads[0], at };
};

/** Write a number with a fixed count of decimals: "0.4502", "−∞". Exactly 0 is "0"; a number rounded to 0 is "0.0000".
 *  Ties are rounded to the even digit, as in Python. */
export const withDecimals = (x, decimals) => {
  if (x === 0) return "0";
  if (!Number.isFinite(x)) return Number.isNaN(x) ? "?" : allDigits(x);
  if (Math.abs(x) >= 1e21) return allDigits(x); // too large for decimals
  const unit = 10 ** decimals;
  const size = Math.abs(x) * unit;
  const isExact = Number.isInteger(Math.abs(x) * 2 ** (decimals + 1)); // false: a tie is impossible
  const tied = isExact && size % 1 === 0.5 && Math.floor(size) % 2 === 0;
  const digits = (tied ? Math.floor(size) / unit : Math.abs(x)).toFixed(decimals);
  return x < 0 && Number(digits) !== 0 ? `-${digits}` : digits;
};

/** Write a number with four decimals, as all tables do. */
export const fourDecimals = (x) => withDecimals(x, 4);

/** Write a count for people to read: "1.4 million", "312,400". */
export const countInWords = (count) =>
  count >= 1e6 ? `${(count / 1e6).toFixed(1)} million` : String(count).replace(/\B(?=(\d{3})+$)/g, ",");

/** Write a float32 with the fewest digits that identify it: "0.45019999", "1e-7"; a double with 15 digits. */
export const allDigits = (x) => {
  if (!Number.isFinite(x)) return Number.isNaN(x) ? "not a number" : x > 0 ? "∞" : "−∞";
  if (Math.fround(x) !== x) return String(Number(x.toPrecision(15))); // a double; later digits are rounding errors
  for (let digits = 1; digits < 9; digits++) {
    const shorter = Number(x.toPrecision(digits));
    if (Math.fround(shorter) === x) return String(shorter);
  }
  return String(Number(x.toPrecision(9)));
};

export const inExponents = (value) => (value === 0 ? "0" : value.toExponential(1));
export const numbered = (count) => Array.from({ length: count }, (_, place) => String(place));
