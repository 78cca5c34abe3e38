// How one cell was made: every tensor of the trace, multiplied out, added up, normalised.
//
// A making is {title, equation, headings, terms, steps, total, recorded, note}: `terms` are what is added up,
// {label, numbers, value}, under `headings`; `steps` are what is done one after the other, {label: value}; `strips` are
// the rows and columns that it was made from, as strips.js draws them.
// All is computed again in double precision from the numbers that the pass recorded.

import { fourDecimals } from "../base/numbers.js";
import { cellPlaceInWords } from "../matrices/cell_words.js";

export const NOT_KEPT = "Not kept for this switch; the recording without it has it.";

/** What is made of numbers that the page does not have is not shown as if it had them. */
export const keptOrNot = (run, recorded, made) => {
  const isUnknown = Number.isNaN(recorded) || made.terms?.some(({ value }) => Number.isNaN(value));
  if (!isUnknown && !Number.isNaN(made.total)) return made;
  const { equation } = made;
  if (run.stepwise)
    return {
      equation,
      total: recorded,
      missing: true,
      note: "With a cache this is never computed: the key came later.",
    };
  return { equation, total: recorded, missing: true, note: `What it is made of: ${NOT_KEPT.toLowerCase()}` };
};

export const isGiven = (run, name) => run.given !== undefined && name in run.given.matrices;

export const givenCell = ({ panel, row, column }) => ({
  equation: "given",
  total: panel.at(row, column),
  note: "This matrix is what the example starts from.",
});

/** The labels of a tensor's two axes: {rows, columns}. */
export const labelsOfTensor = (run, name, tensor) => {
  const [first, second] = tensor.axes.replace(/[BH]/g, "");
  return { rows: run.labels(name, first), columns: second ? run.labels(name, second) : [""] };
};

/** The labels for one row's cell: of a big vocabulary each row has its own best words. */
export const labelsOfCell = (run, name, tensor, row) => {
  const labels = labelsOfTensor(run, name, tensor);
  return tensor.kept ? { ...labels, columns: tensor.kept.tokens[row] } : labels;
};

export const titleOfCell = ({ tensor, labels, row, column, panel }) => {
  const asks = tensor.axes.endsWith("LM");
  const columnWord = asks || panel.columns === 1 || tensor.axes.endsWith("V") ? "" : "dimension";
  return cellPlaceInWords(
    { asks, panel, rows: labels.rows, columns: labels.columns, rowWord: "", columnWord },
    row,
    column,
  );
};

/** What two rows of numbers give, multiplied one by one. */
export const productTerms = (labels, left, right) =>
  left.map((number, place) => ({
    label: labels[place],
    numbers: [number, right[place]],
    value: number * right[place],
  }));

export const sumOfTerms = (terms) => terms.reduce((sum, term) => sum + term.value, 0);

/** "0.2000·0.1000 + 0.4000·0.2000 + … = 0.6000": the sum as one writes it; the middle of a long one left out. */
export const writtenOut = ({ terms, total, headings }) => {
  if (!terms.length || !headings.length) return "";
  const written = terms.map(({ numbers, value }) => {
    const factors = numbers.filter((number) => number !== null);
    return (factors.length === 2 && headings.at(-1).includes("·") ? factors : [value]).map(inSum).join("·");
  });
  const shown = written.length > 6 ? [...written.slice(0, 4), "…", written.at(-1)] : written;
  return `${shown.join(" + ")} = ${fourDecimals(total)}`;
};

export const inSum = (number) => (number < 0 ? `(${fourDecimals(number)})` : fourDecimals(number));
