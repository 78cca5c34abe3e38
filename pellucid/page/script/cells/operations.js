// For each operation of the table of tensors (pellucid/reading/tensors.toml), a function that explains one cell. Its
// argument is a cell as `cellOfTensor` in making.js returns it; its result is a part of a making.

import { fourDecimals, rowOfPanel, sumOf } from "../base/numbers.js";
import { quoted } from "../base/tokens.js";
import { ACTIVATIONS, NORM_EPSILON, sinusoid } from "../model/model.js";
import { ATTENTION_OPERATIONS, notCarried, numbersHere } from "./attention_operations.js";
import { inSum, sumOfTerms } from "./terms.js";

export const ACTIVATION_WORDS = { relu: "max(0, x)", gelu: "x · Φ(x)", silu: "x ÷ (1 + exp(−x))" };

/** Explain a sum of two tensors: scores and mask, stream and sublayer, or words and positions. */
const plusCell = (cell) => {
  const { run, panel, row, column, of, last } = cell;
  const [one, other] = numbersHere(cell);
  const recorded = panel.at(row, column);
  const isRemoved = run.switches?.residual === false && Math.abs(other - recorded) < Math.abs(one + other - recorded);
  if (last === "sum" && isRemoved) {
    const note = "The residual connection is switched off: what the stream held is lost.";
    return { equation: "sublayer alone", total: other, written: of[1].name, note };
  }
  const isMasked = last === "masked_scores" && other === -Infinity;
  return {
    headings: ["matrix", "number"],
    terms: [one, other].map((value, place) => ({ label: of[place].caption.title, numbers: [], value })),
    total: isMasked ? other : one + other,
    ...(isMasked && { note: "The mask adds −∞: whatever the score was, it is gone." }),
  };
};

const sameCell = (cell) => ({ equation: "passed on as it is", total: numbersHere(cell)[0], written: cell.of[0].name });

/** Explain a mean or a variance of a position's vector. */
const meanCell = ({ of: [x], row, caption }) => {
  const { symbol, reading, by } = caption;
  const numbers = rowOfPanel(x.panel, row);
  const count = numbers.length;
  const middle = sumOf(numbers) / count;
  const isMean = by === "mean";
  const terms = numbers.map((number, place) => ({
    label: String(place),
    numbers: isMean ? [] : [number, number - middle],
    value: isMean ? number : (number - middle) ** 2,
  }));
  const sum = sumOfTerms(terms);
  return {
    equation: `${symbol} = Σ ${isMean ? "x" : "(x − μ)²"} ÷ D`,
    headings: isMean ? ["dimension", "x"] : ["dimension", "x", "x − μ", "(x − μ)²"],
    terms,
    sum,
    total: sum / count,
    written: `${inSum(sum)} ÷ ${count}`,
    note: `${reading} Here: the ${count} numbers of this position in ${x.name}.`,
  };
};

const standardizeCell = (cell) => {
  const [x, middle, variance] = numbersHere(cell);
  return {
    total: (x - middle) / Math.sqrt(variance + NORM_EPSILON),
    written: `(${inSum(x)} − ${inSum(middle)}) ÷ √(${fourDecimals(variance)} + 0.00001)`,
  };
};

const affineCell = (cell) => {
  const { run, column, parameters } = cell;
  const [x] = numbersHere(cell);
  const [weight, bias] = parameters.map((name) => run.parameter(name)?.data[column]);
  if (weight === undefined) return notCarried(parameters[0]);
  return { total: x * weight + bias, written: `${inSum(x)}·${inSum(weight)} + ${inSum(bias)}` };
};

const activationCell = (cell) => {
  const [x] = numbersHere(cell);
  const name = cell.run.config.activation;
  const equation = ACTIVATION_WORDS[name];
  return { equation, total: ACTIVATIONS[name](x), written: equation.replace(/\bx\b/g, inSum(x)) };
};

const lookupCell = (cell) => {
  const { run, path, row, column, labels } = cell;
  const [name] = cell.parameters;
  const width = cell.panel.columns;
  const factor = run.config.scale_embeddings === false ? 1 : Math.sqrt(width);
  const id = idsOfStack(run, path)?.[row];
  const weight = id === undefined ? null : run.parameter(name);
  const equation = `W<sub>E</sub>[token]${factor === 1 ? "" : ` · √${width}`}`;
  if (!weight) return { equation, ...notCarried(name, { after: `, of ${quoted(labels.rows[row])}` }) };
  const value = weight.data[id * width + column];
  return {
    equation,
    total: value * factor,
    written: `${inSum(value)}·${fourDecimals(factor)}`,
    note: `Row ${id} of W_E is that of ${quoted(labels.rows[row])}. Looking it up is the same as multiplying a row of zeros and one 1 with the matrix.`,
  };
};

/** Return the ids that a stack read; undefined if the page does not have them. */
export const idsOfStack = (run, stack) => (stack === "encoder" ? run.sourceIds : run.targetIds);

// What other models than the paper's add to i and take from D; sinusoids() of pellucid/model.py has the same.
const OTHER_POSITIONS = { fairseq: [2, 2], marian: [0, 2] };

const sinusoidsCell = ({ run, row, column, panel }) => {
  const [added, taken] = OTHER_POSITIONS[run.config.positions] ?? [0, 0];
  const [position, width, even] = [row + added, panel.columns - taken, column - (column % 2)];
  const wave = column % 2 ? "cos" : "sin";
  const power = `10000<sup>2j/${taken ? `(D − ${taken})` : "D"}</sup>`;
  return {
    equation: `${wave}(${added ? `(i + ${added})` : "i"} ÷ ${power})`,
    total: sinusoid(position, column, width),
    written: `${wave}(${position} ÷ 10000^(${even}/${width})) = ${wave}(${fourDecimals(position / 10000 ** (even / width))})`,
    note: "Even columns hold a sine, odd ones a cosine; each pair turns more slowly than the one before it.",
  };
};

export const OPERATIONS = {
  ...ATTENTION_OPERATIONS,
  plus: plusCell,
  same: sameCell,
  mean: meanCell,
  variance: meanCell,
  standardize: standardizeCell,
  affine: affineCell,
  activation: activationCell,
  lookup: lookupCell,
  sinusoids: sinusoidsCell,
};
