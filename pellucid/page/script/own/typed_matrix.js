// Read a matrix that somebody has typed or pasted. Each line is a row; numbers are separated by spaces, tabs (from a
// spreadsheet), & (LaTeX) or | (Markdown). A Python list, with brackets and commas, works too. An empty line begins the
// matrix of the next head. The decimal mark is a point: a comma between two digits is an error.

/** An error for a wrong setting or matrix; `place` is the name of its field. */
export class UsageError extends Error {
  constructor(message, place = "") {
    super(message);
    this.place = place;
  }
}

const LEFT_OUT = ["…", "...", "⋮", "⋯", "⋱", "", "nan"];
const SEPARATORS = /\s*[;&|]\s*|\s+|,\s+|,$|\\\\$/;
const ELIDED = /^…\s*(\d{1,4})\s*×\s*(\d{1,4})$/; // "… 8×4": of this matrix, only the shape is known

/** Return rows of cells as written ("0.40"), or a list of such matrices; null if nothing is typed. */
export const typedMatrix = (text, place) => {
  const typed = text.replace(/^[ \r\n]+|[ \r\n]+$/g, ""); // a tab at the end means an unknown cell
  if (!typed) return null;
  const refuse = (why) => {
    throw new UsageError(`${place}: ${why}`, place);
  };
  const isList = typed.startsWith("[");
  const comma = isList ? null : /\S*\d,\d\S*/.exec(typed);
  if (comma) refuse(`"${comma[0]}" has a comma. Decimals come after a point; write numbers apart by spaces.`);
  if (isList && typed.split("[").length !== typed.split("]").length)
    refuse("a bracket is not closed, or is one too many. Or write rows without any.");
  const matrices = [[]];
  for (const line of (isList ? linesOfList(typed) : typed).split(/\r?\n/)) {
    if (/^[\s|:-]*-{3}[\s|:-]*$/.test(line)) continue; // the line below the head of a Markdown table
    if (line.trim()) matrices.at(-1).push(...rowsOfLine(line));
    else if (matrices.at(-1).length) matrices.push([]);
  }
  const filled = matrices.filter((matrix) => matrix.length);
  filled.forEach((matrix, head) => checkRows(matrix, place, filled.length > 1 ? `matrix ${head + 1}, ` : ""));
  if (filled.some((matrix) => matrix.length !== filled[0].length || matrix[0].length !== filled[0][0].length))
    refuse("the matrices of the heads differ in shape. Give each the same.");
  return filled.length > 1 ? filled : filled[0];
};

/** Write nested lists as lines: an inner list becomes a row, and an empty line separates matrices. */
const linesOfList = (text) =>
  text
    .replace(/[\s,]+/g, " ")
    .replace(/[;\]]\s*/g, "\n") // [1 2; 3 4], as in MATLAB
    .replaceAll("[", "");

/** Read the row of a line; or several unknown rows, if the line only gives a shape. */
const rowsOfLine = (line) => {
  const elided = ELIDED.exec(line.trim());
  if (elided) return Array.from({ length: Number(elided[1]) }, () => Array(Number(elided[2])).fill("…"));
  const isOfSpreadsheet = line.includes("\t"); // there, an empty cell is an unknown number
  const cells = isOfSpreadsheet ? line.split("\t") : line.trim().split(SEPARATORS).filter(Boolean);
  const plain = cells.map((cell) => cell.trim().replace(/^["']|["',]+$/g, ""));
  return [plain.map((cell) => (LEFT_OUT.includes(cell) ? "…" : cell))];
};

/** Check that all rows have the same length and that every cell is a number. The error names the cell. */
const checkRows = (matrix, place, which) => {
  matrix.forEach((row, r) => {
    row.forEach((cell, c) => {
      writtenNumber(cell, 0, place, `${place}: ${which}row ${r}, column ${c}`);
    });
    if (row.length === matrix[0].length) return;
    const counts = `row ${r} has ${row.length} and row 0 has ${matrix[0].length} numbers`;
    throw new UsageError(`${place}: ${which}${counts}. Write … for one that is not known.`, place);
  });
};

/** Return a list of matrices, one for each head; a list of numbers is a matrix of one row. */
export const eachHead = (matrix) => {
  if (!Array.isArray(matrix[0])) return [[matrix]];
  return Array.isArray(matrix[0][0]) ? matrix : [matrix];
};

/**
 * Read a written number: {number, half (half a unit of its last digit), written}. An omitted number is NaN. Without
 * `decimals`, `half` of a whole number is NaN, because nobody knows to how many digits it was rounded.
 */
export const writtenNumber = (text, decimals = null, place = "", where = place) => {
  if (LEFT_OUT.includes(text.toLowerCase())) return { number: NaN, half: 0, written: "…" };
  const written = text.replace(/[-–]/g, "−").replace(/inf/i, "∞");
  const plain = written.replaceAll("−", "-").replace("∞", "Infinity");
  const digits = /^[+-]?(?:\d+\.?(\d*)|\.(\d+))(?:e([+-]?\d+))?$/i.exec(plain);
  if (/^[+-]?Infinity$/.test(plain)) return { number: Number(plain), half: 0, written };
  if (!digits || !Number.isFinite(Number(plain))) {
    const comma = text.includes(",") ? " Decimals come after a point, not after a comma." : "";
    const remedy = "Write 0.25, -inf, or … for a number that is left out.";
    throw new UsageError(`${where}: "${text}" is not a number.${comma} ${remedy}`, place);
  }
  const [, after, alone, power] = digits;
  const places = (after ?? alone).length - Number(power ?? 0);
  const isShort = places <= 0 && power === undefined;
  const half = isShort && decimals === null ? NaN : 0.5 * 10 ** -(isShort ? decimals : places);
  return { number: Number(plain), half, written };
};
