// Make the stages of a block: its tensors in the order of computation, each with its equation. The table of tensors
// names the operation that computes a tensor, and the tensors that the operation reads.

import { madeOf, productBehind, weightPanel } from "../runs/lineage.js";
import { blockOf, splitName } from "../runs/parts.js";
import { captionOfTensor } from "../runs/runs.js";
import { divisorOfRun } from "../cells/attention_operations.js";
import { ACTIVATION_WORDS, idsOfStack } from "../cells/operations.js";
import { parameterPlate, sizeInWords, tensorPlate, vocabularySize } from "./specs.js";

/** `number`: the step in the notes (1 to 7); `sign`: the label of its button; the last of `items` is the result.
 *  @typedef {{ key: string, number: string, sign: string, title: string, items: object[] }} Stage */

/** Return the stages of a view's block; for a worked example, the stages of all its blocks. */
export const stagesOf = async (view) => {
  const { run, block } = view;
  const isHere = (name) => captionOfTensor(name).stage && (run.isWorked || blockOf(name) === block);
  const names = run.names.filter(isHere);
  return [...(await inputStage(view, names)), ...(await Promise.all(names.map((name) => stageOf(view, name))))];
};

/** Return the first stage of an attention: its input X and, for cross-attention, the memory. */
const inputStage = async (view, names) => {
  const made = names.filter((name) => /(^|\.)(queries|keys)$/.test(name));
  const inputs = [...new Set(made.reverse().flatMap((name) => madeOf(view.run, name).of))];
  const items = await Promise.all(inputs.map((name) => tensorPlate(view, name)));
  return items.length ? [{ key: inputs.at(-1), number: "1", sign: "X", title: "Input of this sublayer", items }] : [];
};

/** Make a stage. If its equation ends with "=", the result shows it in sizes too: "(6×64)·(64×16) = (6×16)".
 *  @returns {Stage} */
const stageOf = async (view, name) => {
  const { symbol, sign: chip, stage: title, step, by } = captionOfTensor(name);
  const operands = await OPERANDS[by](view, name);
  const result = await tensorPlate(view, name);
  const sizes = [...operands, result].map((item) =>
    item.sign ? (item === TIMES ? "·" : ` ${item.sign} `) : sizeInWords(item),
  );
  if (operands.at(-1)?.sign.endsWith("=")) result.product = sizes.join("");
  return { key: name, number: step ? String(step) : "", sign: chip || symbol, title, items: [...operands, result] };
};

export const resultOf = ({ items }) => items.at(-1);

const sign = (text, said) => ({ sign: text, words: said });

export const TIMES = sign("·", "times");
const [PLUS, EQUALS] = [sign("+", "plus"), sign("=", "equals")];

// The part of an operand that a cell of the result is computed from.
export const COLUMN = (_, column) => ({ column });
const ROW = (row) => ({ row });
const CELL = (row, column) => ({ row, column });

/** Return a function that makes the operands of an operation. Each of `parts` is [the area of an operand that a cell
 *  comes from, the sign after this operand or a function that makes the sign]. A missing operand has no sign. */
const ofEach =
  (...parts) =>
  async (view, name) => {
    const of = madeOf(view.run, name).of.slice(0, parts.length);
    const there = of.filter((operand) => view.run.names.includes(operand));
    const isScore = captionOfTensor(name).by === "product" && captionOfTensor(name).role === "w";
    const plateOf = (operand, at) =>
      tensorPlate(view, operand, { frames: parts[of.indexOf(operand)][0], transposed: isScore && at === 1 });
    const plates = await Promise.all(there.map(plateOf));
    const after = (at) => parts.at(at === there.length - 1 ? -1 : at)[1];
    return plates.flatMap((plate, at) => [plate, after(at).sign ? after(at) : after(at)(view.run, name)]);
  };

const scaleSign = (run, name) => {
  const { words: root } = divisorOfRun(run, splitName(name).path);
  return sign(`÷ ${root} =`, `divided by ${root} equals`);
};

/** Make the operands of x · W + b; none if a worked example has no W. */
const linearOperands = async (view, name) => {
  const { head, caption, panel, role } = await tensorPlate(view, name);
  const product = await productBehind(view.run, name, head);
  if (!product) return [];
  const { x, xTensor, weight, weightName, bias, biasName, columns } = product;
  const count = caption.name === "decoder.logits" ? await vocabularySize(view.run) : panel.columns;
  const [words] = caption.weights;
  const w = parameterPlate(weightName, weight, { ...words, role }, xTensor.shape.at(-1), count, {
    key: `${weightName}|${columns}`,
    panel: weight && weightPanel(product, count),
    frames: COLUMN,
  });
  const items = [await tensorPlate(view, x, { frames: ROW }), TIMES, w];
  if (bias) items.push(PLUS, rowPlate(biasName, bias, { symbol: words.bias, title: "Bias", role }, count, columns));
  return [...items, EQUALS];
};

/** Make a plate of a bias or of a norm's weight: one row, which applies to every row. */
const rowPlate = (name, tensor, words, count, from = 0) =>
  parameterPlate(name, tensor, words, 1, count, {
    key: `${name}|${from}`,
    panel: { rows: 1, columns: count, at: (_, column) => tensor.data[from + column] },
    rows: [""],
    word: name.endsWith("bias") ? "bias" : "weight",
    frames: COLUMN,
  });

const affineOperands = async (view, name) => {
  const { of, parameters } = madeOf(view.run, name);
  const [weight, bias] = parameters.map(view.run.parameter);
  const plate = await tensorPlate(view, of[0], { frames: CELL });
  if (!weight) return [plate, sign("· weight + bias →", "times weight plus bias gives")];
  const [{ symbol, title, bias: beta }] = captionOfTensor(name).weights;
  const { columns } = plate.panel;
  const weightRow = rowPlate(parameters[0], weight, { symbol, title, role: "x" }, columns);
  const biasRow = rowPlate(parameters[1], bias, { symbol: beta, title: "Bias of each dimension", role: "x" }, columns);
  return [plate, TIMES, weightRow, PLUS, biasRow, EQUALS];
};

/** Make the operands of the concatenated matrix: the contexts of all heads, side by side. */
const headOperands = async (view, name) => {
  const [context] = madeOf(view.run, name).of;
  const { shape, axes } = await view.run.get(context);
  const width = shape.at(-1);
  const plateOf = (_, head) => {
    const frames = (row, column = null) =>
      column === null ? { row } : Math.floor(column / width) === head ? { row, column: column % width } : null;
    const into = ({ row, column }) => ({ row, column: column === undefined ? column : head * width + column });
    const key = `${context}|head ${head}`;
    return tensorPlate(view, context, { head, key, frames, into, words: { title: `Head ${head}` } });
  };
  const plates = await Promise.all(Array.from({ length: shape[axes.indexOf("H")] }, plateOf));
  return [...plates.flatMap((plate, head) => (head ? [sign("|", "beside"), plate] : [plate])), EQUALS];
};

/** Make the operands of an embedding: each token's row of the matrix, times √D; none if the page has no weights. */
const lookupOperands = async (view, name) => {
  const { run } = view;
  const [parameter] = madeOf(run, name).parameters;
  const weight = run.parameter(parameter);
  const tokens = await tensorPlate(view, name);
  const ids = idsOfStack(run, splitName(name).path)?.slice(0, tokens.panel.rows);
  if (!weight || !ids) return [];
  const [count, width] = weight.shape;
  const words = { ...tokens.caption.weights[0], title: "The rows of these tokens", role: "x" };
  const rows = parameterPlate(parameter, weight, words, ids.length, width, {
    panel: { rows: ids.length, columns: width, at: (row, column) => weight.data[ids[row] * width + column] },
    rows: ids.map((id, row) => `${tokens.rows[row]} (${id})`),
    shape: `${ids.length} × ${width} = tokens × width, of ${count} rows`,
    frames: CELL,
    folds: false,
  });
  return [rows, run.config.scale_embeddings === false ? EQUALS : sign(`· √${width} =`, `times √${width} equals`)];
};

const OPERANDS = {
  linear: linearOperands,
  product: ofEach([ROW, TIMES], [COLUMN, EQUALS]),
  scale: ofEach([CELL, scaleSign]),
  plus: ofEach([CELL, PLUS], [CELL, EQUALS]),
  softmax: ofEach([ROW, sign("softmax →", "softmax of each row gives")]),
  concatenate: headOperands,
  same: () => [],
  mean: ofEach([ROW, sign("mean →", "has in each row the mean")]),
  variance: ofEach([ROW, sign("variance →", "has in each row the variance")]),
  standardize: ofEach([ROW, sign("(x − μ) ÷ √(σ² + ε) →", "standardised")]),
  affine: affineOperands,
  activation: ofEach([CELL, ({ config }) => sign(`${ACTIVATION_WORDS[config.activation]} →`, "becomes")]),
  lookup: lookupOperands,
  sinusoids: () => [],
};
