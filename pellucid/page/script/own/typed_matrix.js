// A matrix as somebody types it or pastes it: rows on lines of their own; numbers apart by spaces, tabs (from a
// spreadsheet), & (LaTeX) or | (Markdown); or a list with brackets and commas, as in Python. An empty line begins
// the next head's matrix. Decimals come after a point: a comma between two digits is an error that says so.

/** A wrong setting or matrix; `place` names the field to mend. */
export class UsageError extends Error {
  constructor(message, place = "") {
    super(message);
    this.place = place;
  }
}

const LEFT_OUT = ["…", "...", "⋮", "⋯", "⋱", "", "nan"];
const ELIDED = /^…\s*(\d{1,4})\s*×\s*(\d{1,4})$/; // "… 8×4": a matrix of which only the shape is known

/** Rows of cells as written ("0.40"), or a list of such matrices; null where nothing is typed. */
export const typedMatrix = (text, place) => {
  const typed = text.replace(/^[ \r\n]+|[ \r\n]+$/g, ""); // a tab at the end leaves a cell out
  return atPlace(place, () => readTyped(typed, place));
};

const readTyped = (text, place) => {
  if (!text) return null;
  const elided = ELIDED.exec(text);
  if (elided) return Array.from({ length: Number(elided[1]) }, () => Array(Number(elided[2])).fill("…"));
  const isList = text.startsWith("[");
  const comma = isList ? null : /\S*\d,\d\S*/.exec(text);
  if (comma) {
    const why = `${place}: "${comma[0]}" has a comma. Decimals come after a point`;
    throw new UsageError(`${why}; write numbers apart by spaces.`);
  }
  const matrices = [[]];
  for (const line of (isList ? linesOfList(text, place) : text).split(/\r?\n/)) {
    if (/^[\s|:-]*-{3}[\s|:-]*$/.test(line)) continue; // the line below a Markdown table's head
    if (line.trim()) matrices.at(-1).push(cellsOfLine(line));
    else if (matrices.at(-1).length) matrices.push([]);
  }
  const filled = matrices.filter((matrix) => matrix.length);
  filled.forEach((matrix, head) => checkRows(matrix, place, filled.length > 1 ? `matrix ${head + 1}, ` : ""));
  if (filled.some((matrix) => matrix.length !== filled[0].length || matrix[0].length !== filled[0][0].length))
    throw new UsageError(`${place}: the matrices of the heads differ in shape. Give each the same.`);
  return filled.length > 1 ? filled : filled[0];
};

/** Lists with brackets as lines: an inner list is a row, and between matrices stands an empty line. */
const linesOfList = (text, place) => {
  if (text.split("[").length !== text.split("]").length)
    throw new UsageError(`${place}: a bracket is not closed, or is one too many. Or write rows without any.`);
  return text
    .replace(/[\s,]+/g, " ")
    .replace(/[;\]]\s*/g, "\n") // [1 2; 3 4], as in MATLAB
    .replaceAll("[", "");
};

const cellsOfLine = (line) => {
  const cells = line.includes("\t")
    ? line.split("\t") // a spreadsheet's empty cell is not known
    : line
        .trim()
        .split(/\s*[;&|]\s*|\s+|,\s+|,$|\\\\$/)
        .filter(Boolean);
  return cells
    .map((cell) => cell.trim().replace(/^["']|["',]+$/g, ""))
    .map((cell) => (LEFT_OUT.includes(cell) ? "…" : cell));
};

/** Every row as long as the first, every cell a number: or an error that says where it is not. */
const checkRows = (matrix, place, which) => {
  matrix.forEach((row, r) => {
    row.forEach((cell, c) => {
      if (place === "mask" && /^(true|false)$/i.test(cell)) return;
      writtenNumber(cell, 0, `${place}: ${which}row ${r}, column ${c}`);
    });
    if (row.length === matrix[0].length) return;
    const counts = `row ${r} has ${row.length} and row 0 has ${matrix[0].length} numbers`;
    throw new UsageError(`${place}: ${which}${counts}. Write … for one that is not known.`);
  });
};

/** A matrix for each head; a list of numbers is one row. */
export const eachHead = (matrix) => {
  if (!Array.isArray(matrix[0])) return [[matrix]];
  return Array.isArray(matrix[0][0]) ? matrix : [matrix];
};

/** A matrix as a field shows it: rows on lines, columns below each other; heads apart by an empty line. */
export const matrixAsText = (matrix) =>
  eachHead(matrix)
    .map((rows) => {
      const widths = rows[0].map((_, column) => Math.max(...rows.map((row) => String(row[column]).length)));
      return rows.map((row) => row.map((cell, column) => String(cell).padStart(widths[column])).join("  ")).join("\n");
    })
    .join("\n\n");

/** What goes wrong in `made` is said at a field. */
export const atPlace = (place, made) => {
  try {
    return made();
  } catch (error) {
    error.place = place;
    throw error;
  }
};

/**
 * A number as somebody wrote it: {number, half, written}, half a unit of its last digit; NaN for what is left out.
 * Without `decimals` half a unit of a whole number is NaN: nobody knows to how many digits it was rounded.
 */
export const writtenNumber = (written, decimals = null, where = "claim") => {
  const text = String(written).trim();
  if (LEFT_OUT.includes(text.toLowerCase())) return { number: NaN, half: 0, written: "…" };
  const plain = text.replace(/[−–]/g, "-").replaceAll("∞", "inf");
  const shown = text.replace(/[-–]/g, "−").replaceAll("inf", "∞");
  if (/^[+-]?inf$/i.test(plain))
    return { number: plain.startsWith("-") ? -Infinity : Infinity, half: 0, written: shown };
  const parts = /^[+-]?(?:\d+\.?(\d*)|\.(\d+))(?:e([+-]?\d+))?$/i.exec(plain);
  if (!parts || !Number.isFinite(Number(plain))) {
    const comma = text.includes(",") ? " Decimals come after a point, not after a comma." : "";
    throw new UsageError(`${where}: "${text}" is not a number.${comma} Write 0.25, -inf, or … for one left out.`);
  }
  const power = parts[3];
  const digits = (parts[1] ?? parts[2]).length - Number(power ?? 0);
  const isShort = digits <= 0 && power === undefined;
  const places = isShort ? decimals : digits;
  return { number: Number(plain), half: places === null ? NaN : 0.5 * 10 ** -places, written: shown };
};
