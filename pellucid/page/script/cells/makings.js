// How the other cells are made; at the end, the operations of the table of tensors (pellucid/reading/tensors.toml).

import { apart, fourDecimals, panelOf, rowOfPanel } from "../base/numbers.js";
import { quoted } from "../base/text.js";
import { ACTIVATIONS, NORM_EPSILON, sinusoid } from "../model/model.js";
import { madeOf } from "../runs/lineage.js";
import { splitName } from "../runs/parts.js";
import { captionOfTensor } from "../runs/runs.js";
import { givenCell, inSum, isGiven, keptOrNot, labelsOfCell, sumOfTerms, titleOfCell, writtenOut } from "./making.js";
import {
  concatenatedCell,
  linearCell,
  maskCell,
  notCarried,
  productCell,
  scaledCell,
  softmaxCell,
  sourcePanels,
} from "./makings_attention.js";

/** A sum of two tensors: scores and mask, stream and sublayer, words and positions. */
const plusCell = async (cell) => {
  const { run, row, column, panel, caption, of, last } = cell;
  const [one, other] = (await sourcePanels(cell)).map((source) => source.at(row, column));
  if (last === "sum" && isRemoved(run, one, other, panel.at(row, column))) {
    const note = "The residual connection is switched off: what the stream held is lost.";
    return { equation: "sublayer alone", total: other, steps: { [of[1]]: other }, note };
  }
  const masked = last === "masked_scores" && other === -Infinity;
  return {
    equation: caption.equation,
    headings: ["of", "number"],
    terms: [
      { label: of[0], numbers: [], value: one },
      { label: of[1], numbers: [], value: other },
    ],
    total: masked ? other : one + other,
    note: masked ? "The mask adds −∞: whatever the score was, it is gone." : caption.reading,
  };
};

/** Whether this sum was made with the residual connection switched off. */
const isRemoved = (run, stream, added, recorded) =>
  run.switches?.residual === false && Math.abs(added - recorded) < Math.abs(stream + added - recorded);

const passedOnCell = async (cell) => {
  const {
    of: [from],
    row,
    column,
  } = cell;
  const value = (await sourcePanels(cell))[0].at(row, column);
  const note = `The same number as in ${from}: it is passed on as it is.`;
  return { equation: "passed on", total: value, steps: { [from]: value }, note };
};

/** A mean over a position's vector: of its numbers, or of their squared distances from their mean. */
const meanCell = async (cell) => {
  const {
    of: [from],
    row,
    caption: { symbol, reading },
  } = cell;
  const numbers = rowOfPanel((await sourcePanels(cell))[0], row);
  const isMean = symbol === "μ";
  const mean = numbers.reduce((sum, x) => sum + x, 0) / numbers.length;
  const terms = numbers.map((x, place) =>
    isMean
      ? { label: String(place), numbers: [], value: x }
      : { label: String(place), numbers: [x, x - mean], value: (x - mean) ** 2 },
  );
  const sum = sumOfTerms(terms);
  const summed = isMean ? "x" : "(x − μ)²";
  return {
    equation: `${symbol} = Σ ${summed} ÷ D`,
    headings: isMean ? ["dimension", "x"] : ["dimension", "x", "x − μ", "(x − μ)²"],
    terms,
    sum,
    total: sum / numbers.length,
    filled: `${inSum(sum)} ÷ ${numbers.length} = ${fourDecimals(sum / numbers.length)}`,
    note: `${reading} Here: the ${numbers.length} numbers of this position in ${from}.`,
  };
};

const standardizedCell = async (cell) => {
  const {
    of: [from],
    row,
    column,
    caption,
  } = cell;
  const [x, mean, variance] = (await sourcePanels(cell)).map((source) =>
    source.at(row, Math.min(column, source.columns - 1)),
  );
  const root = Math.sqrt(variance + NORM_EPSILON);
  const total = (x - mean) / root;
  return {
    equation: caption.equation,
    total,
    steps: {
      [`x, from ${from}`]: x,
      "mean μ": mean,
      "x − μ": x - mean,
      "variance σ²": variance,
      "√(σ² + 0.00001)": root,
    },
    filled: `(${inSum(x)} − ${inSum(mean)}) ÷ ${fourDecimals(root)} = ${fourDecimals(total)}`,
    note: caption.reading,
  };
};

const affineCell = async (cell) => {
  const {
    run,
    row,
    column,
    panel,
    caption: { equation, reading },
    parameters,
  } = cell;
  const x = (await sourcePanels(cell))[0].at(row, column);
  const [weight, bias] = parameters.map((name) => run.parameter(name)?.data[column]);
  if (weight === undefined) {
    const note = `${notCarried(parameters[0])}.`;
    return { equation, total: panel.at(row, column), missing: true, steps: { standardized: x }, note };
  }
  const total = x * weight + bias;
  const filled = `${inSum(x)}·${inSum(weight)} + ${inSum(bias)} = ${fourDecimals(total)}`;
  const steps = { standardized: x, [`weight of dimension ${column}`]: weight, [`bias of dimension ${column}`]: bias };
  return { equation, total, steps, filled, note: reading };
};

export const ACTIVATION_WORDS = { relu: "max(0, x)", gelu: "x · Φ(x)", silu: "x ÷ (1 + exp(−x))" };

const activatedCell = async (cell) => {
  const x = (await sourcePanels(cell))[0].at(cell.row, cell.column);
  const { activation } = cell.run.config;
  const equation = ACTIVATION_WORDS[activation];
  const total = ACTIVATIONS[activation](x);
  return {
    equation,
    filled: `${equation.replace(/\bx\b/g, inSum(x))} = ${fourDecimals(total)}`,
    total,
    steps: { "hidden x": x, [equation]: total },
    note: activation === "relu" && x < 0 ? "What is below zero becomes zero." : "",
  };
};

const lookupCell = ({ run, path, row, column, panel, labels, tensor, parameters: [name] }) => {
  const width = tensor.shape.at(-1);
  const scale = run.config.scale_embeddings === false ? 1 : Math.sqrt(width);
  const id = idsOfStack(run, path)?.[row];
  const weight = id === undefined ? null : run.parameter(name);
  const equation = scale === 1 ? "W<sub>E</sub>[token]" : `W<sub>E</sub>[token] · √${width}`;
  if (!weight)
    return {
      equation,
      total: panel.at(row, column),
      missing: true,
      note: `${notCarried(name)}, of ${quoted(labels.rows[row])}.`,
    };
  const value = weight.data[id * width + column];
  return {
    equation,
    total: value * scale,
    filled: `${inSum(value)}·${fourDecimals(scale)} = ${fourDecimals(value * scale)}`,
    steps: {
      [`W_E, row ${id} (${labels.rows[row]}), column ${column}`]: value,
      [scale === 1 ? "not scaled" : `√${width}`]: scale,
    },
    note: "Looking up a row is the same as multiplying a row of zeros and one 1 with the matrix.",
  };
};

/** The ids that a stack read; undefined where the page does not know them. */
export const idsOfStack = (run, stack) => (stack === "encoder" ? run.sourceIds : run.targetIds);

const positionCell = ({ row, column, tensor }) => {
  const width = tensor.shape.at(-1);
  const pair = column - (column % 2);
  const power = 10000 ** (pair / width);
  const wave = column % 2 ? "cos" : "sin";
  const total = sinusoid(row, column, width);
  return {
    equation: `${wave}(i ÷ 10000<sup>2j/D</sup>)`,
    total,
    filled: `${wave}(${row} ÷ 10000^(${pair}/${width})) = ${wave}(${fourDecimals(row / power)}) = ${fourDecimals(total)}`,
    steps: { "position i": row, [`10000^(${pair}/${width})`]: power, "i ÷ that": row / power, [wave]: total },
    note: "Even columns hold a sine, odd ones a cosine; each pair turns more slowly than the one before it.",
  };
};

const MAKINGS = {
  linear: linearCell,
  product: productCell,
  scale: scaledCell,
  mask: maskCell,
  plus: plusCell,
  softmax: softmaxCell,
  concatenate: concatenatedCell,
  same: passedOnCell,
  mean: meanCell,
  variance: meanCell,
  standardize: standardizedCell,
  affine: affineCell,
  activation: activatedCell,
  lookup: lookupCell,
  sinusoids: positionCell,
};

/** What a making starts from: the tensor, the head's panel, the place in it, the words along its axes. */
const cellOfTensor = async (run, name, head, row, column) => {
  const tensor = await run.get(name);
  const labels = labelsOfCell(run, name, tensor, row);
  const caption = captionOfTensor(name);
  const panel = panelOf(tensor, head);
  return { run, name, ...splitName(name), ...madeOf(run, name), caption, tensor, panel, head, row, column, labels };
};

/** How the cell at this row and column of a tensor (of one head, where it has several) was made. */
export const makingOf = async (run, name, head = 0, row = 0, column = 0) => {
  const cell = await cellOfTensor(run, name, head, row, column);
  const { panel, caption } = cell;
  const made = isGiven(run, name)
    ? givenCell(cell)
    : keptOrNot(run, panel.at(row, column), await MAKINGS[caption.by](cell));
  const recorded = panel.at(row, column);
  const making = {
    name,
    head,
    row,
    column,
    recorded,
    said: run.given || run.origin(name) === "computed" ? "computed" : "recorded",
    title: titleOfCell(cell),
    headings: [],
    terms: [],
    strips: [],
    note: "",
    total: recorded,
    ...made,
    steps: Object.entries(made.steps ?? {}).map(([label, value]) => ({ label, value })),
  };
  return { ...making, difference: apart(making.total, recorded), written: making.filled ?? writtenOut(making) };
};
