// A matrix as somebody types it or pastes it: rows on lines of their own; numbers apart by spaces, tabs
// (from a spreadsheet), commas, semicolons, & (LaTeX) or | (Markdown); decimal commas; or a list with
// brackets, as in Python. An empty line begins the next head's matrix.

const MOST_NUMBERS = 10000; // of a matrix: more would make typing slow, and nobody could read the plates

/** Rows of cells as written ("0.40"), or a list of such matrices, or "… 8×4"; null where nothing is typed. */
const typedMatrix = (text, place) => {
  try {
    return readTyped(text, place);
  } catch (error) {
    error.place = place;
    throw error;
  }
};

const readTyped = (text, place) => {
  const typed = text.trim();
  if (!typed) return null;
  if (ELIDED.test(typed)) return typed;
  const isList = typed.startsWith("[");
  const lines = (isList ? unbracketed(typed, place) : text).replace(/\r\n?/g, "\n").split("\n");
  const commas = isList ? "separate" : meaningOfCommas(lines, place);
  const matrices = [[]];
  for (const line of lines) {
    if (/^\s*(\|?\s*:?-{3,}:?\s*)+\|?\s*$/.test(line)) continue; // the line below a Markdown table's head
    if (line.trim()) matrices.at(-1).push(cellsOfLine(line, commas));
    else if (matrices.at(-1).length) matrices.push([]);
  }
  const filled = matrices.filter((matrix) => matrix.length);
  const count = filled.flat(2).length;
  if (count > MOST_NUMBERS) {
    const many = `${place}: ${count} numbers are more than the ${MOST_NUMBERS} that a form takes`;
    throw new UsageError(`${many}. Put them into a file, for pellucid example --file.`);
  }
  filled.forEach((matrix, head) => checkRows(matrix, place, filled.length > 1 ? `matrix ${head + 1}, ` : ""));
  return filled.length > 1 ? filled : filled[0];
};

/** Lists with brackets as lines: an inner list is a row, and between matrices stands an empty line. */
const unbracketed = (text, place) => {
  let [lines, depth] = ["", 0];
  for (const letter of text) {
    if (letter === "[") depth += 1;
    else if (letter === "]") {
      depth -= 1;
      lines += "\n";
    } else if (depth < 0 || (depth === 0 && !/[\s,;]/.test(letter))) break;
    else if (letter === ";") lines += "\n"; // [1 2; 3 4], as in MATLAB
    else if (letter === "\n" || `"'`.includes(letter) || (letter === "," && /\n\s*$/.test(lines))) continue;
    else lines += letter;
  }
  if (depth !== 0)
    throw new UsageError(
      `${place}: a bracket is not closed, or is one too many. Or write rows without any.`,
      place,
    );
  return lines.replace(/\n\s*\n\s*\n/g, "\n\n");
};

/** Whether a comma separates numbers, or begins the decimals; refused where it could be either. */
const meaningOfCommas = (lines, place) => {
  const text = lines.join("\n");
  if (!text.includes(",")) return "none";
  const pieces = text.split(/[\s;&|]+/).filter(Boolean);
  const inside = pieces.filter((piece) => /\S,\S/.test(piece)).map((piece) => piece.replace(/,$/, ""));
  if (!inside.length) return "separate"; // 1, 2, 3
  const grouped = inside.find((piece) => GROUPED.test(piece));
  if (grouped) refuseGrouped(grouped, place);
  const isApartAlready = /[\t;&|]/.test(text);
  const hasPoints = /\d\.\d|(^|[\s,])-?\.\d/m.test(text);
  if (hasPoints && text.includes("\t")) refuseEither(inside[0], place); // a table's columns are apart already
  if (hasPoints || !inside.every((piece) => /^[+\-−–]?\d+,\d+$/.test(piece))) return "separate"; // 0.1, 0.2 and 1,2,3
  if (inside.every((piece) => THOUSANDS.test(piece))) refuseGrouped(inside[0], place);
  const isApartByCommas = pieces.some((piece) => piece.endsWith(","));
  if (isApartByCommas && inside.length < pieces.length) refuseEither(inside[0], place); // 1,2, 3
  if (isApartAlready || pieces.length > lines.filter((line) => line.trim()).length) return "decimal"; // 0,1 0,2 and 0,1; 0,2
  return refuseEither(inside[0], place);
};

const THOUSANDS = /^[+\-−–]?[1-9]\d{0,2}(,\d{3})+$/; // 1,000: a thousand, or one
const GROUPED = /^[+\-−–]?[1-9]\d{0,2}((,\d{3})+\.\d+|(\.\d{3})+,\d+|(,\d{3}){2,})$/; // 1,234.5 and 1.234,5

const refuseGrouped = (piece, place) => {
  const digits = piece.replace(/[.,](?=\d{3}([.,]|$))/g, "").replace(",", ".");
  const why = `${place}: "${piece}" may be a number whose thousands are set apart, or more than one`;
  throw new UsageError(`${why}. Write ${digits} for one, and decimals after a point.`, place);
};

const refuseEither = (piece, place) => {
  const why = `${place}: "${piece}" may be one number or two`;
  throw new UsageError(
    `${why}. Write ${piece.replace(",", ".")} for one, ${piece.replace(",", " ")} for two.`,
    place,
  );
};

const cellsOfLine = (line, commas) => {
  let text = line.replace(/\\\\\s*$/, "").trim();
  if (commas === "separate") text = text.replace(/\s*,\s*$/, "").replaceAll(",", "\u0001");
  if (/[\t;&|\u0001]/.test(line.includes("\t") ? line : text)) {
    const whole = line.includes("\t") && commas !== "separate" ? line.replace(/^ +| +$|\r/g, "") : text;
    const cells = whole
      .replace(/^\||\|$/g, "")
      .split(/[\t;&|\u0001]/)
      .map((cell) => cell.trim());
    if (cells.length > 1 && cells.at(-1) === "" && /;\s*$/.test(whole)) cells.pop(); // a semicolon after the last
    return cells.map((cell) => cellAsWritten(cell, commas));
  }
  return text.split(/\s+/).map((cell) => cellAsWritten(cell, commas));
};

const cellAsWritten = (cell, commas) => {
  const plain = commas === "decimal" ? cell.replace(/,$/, "").replace(",", ".") : cell;
  return LEFT_OUT.includes(plain) ? "…" : plain.replace(/^["']|["']$/g, "");
};

/** Every row as long as the first, every cell a number: or an error that says where it is not. */
const checkRows = (matrix, place, which) => {
  matrix.forEach((row, r) => {
    row.forEach((cell, c) => {
      if (place === "mask" && /^(true|false)$/i.test(cell)) return;
      writtenNumber(cell, 0, `${place}: ${which}row ${r + 1}, column ${c + 1}`);
    });
    if (row.length === matrix[0].length) return;
    const counts = `row ${r + 1} has ${numberOf(row.length, "number")}, row 1 has ${matrix[0].length}`;
    throw new UsageError(`${place}: ${which}${counts}. Write … for one that is not known.`, place);
  });
};

const numberOf = (count, thing) => `${count} ${thing}${count === 1 ? "" : "s"}`;

/** A matrix as a field shows it: rows on lines, columns below each other; heads apart by an empty line. */
const matrixAsText = (matrix) => {
  if (typeof matrix === "string") return matrix;
  if (isPerHead(matrix)) return matrix.map(headAsText).join("\n\n");
  return headAsText(matrix);
};

const headAsText = (matrix) => {
  if (typeof matrix === "string") return elidedRows(matrix);
  const written = matrix.flat().every((cell) => typeof cell !== "number" || Number.isInteger(cell))
    ? tomlNumber
    : pythonFloat;
  const cells = mapCells(matrix, (cell) =>
    typeof cell === "number" ? written(cell) : String(cell?.unquoted ?? cell),
  );
  const widths = cells[0].map((_, column) => Math.max(...cells.map((row) => row[column].length)));
  return cells.map((row) => row.map((cell, column) => cell.padStart(widths[column])).join("  ")).join("\n");
};

const elidedRows = (written) => {
  const [, rows, columns] = ELIDED.exec(written).map(Number);
  return headAsText(emptyMatrix(rows, columns, "…"));
};
