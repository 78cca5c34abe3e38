// What a plate shows, a matrix among others: a traced tensor or a parameter, its labels, its shape in words.

import { headsOfTensor, numbered, panelOf } from "../base/numbers.js";
import { weightPanel } from "../runs/lineage.js";
import { splitName } from "../runs/parts.js";
import { captionOfTensor } from "../runs/runs.js";
import { kindOfNumbers, scaleOf, scaleOfTensor } from "../matrices/scales.js";
import { labelsOfTensor } from "../cells/making.js";

const AXIS_WORDS = { D: "width", K: "d_k", U: "d_v", F: "d_ff", V: "vocabulary" };

/** A traced tensor as a matrix of this view. `also` overrides: transposed, product, frames, …
 *  @returns {Promise<Plate>} */
export const tensorPlate = async (view, name, also = {}) => {
  const { run } = view;
  const tensor = await run.get(name);
  const head = tensor.axes.includes("H") ? (also.head ?? view.head) : 0;
  const beside = await besideTensor(view, name, tensor);
  const isSame = Boolean(beside) && isNearly(tensor, beside); // said, and not drawn twice
  const other = isSame ? null : beside;
  const caption = captionOfTensor(name);
  const panel = panelOf(tensor, head);
  const spec = {
    key: name,
    name,
    tensor,
    head,
    caption,
    kind: kindOfNumbers(name),
    role: caption.role,
    asks: tensor.axes.endsWith("LM"),
    panel,
    ...labelsOfTensor(run, name, tensor),
    rowState: statesOfRows(view, name, panel.rows),
    scale: await scaleOfTensor(run, name, tensor, other),
    shape: shapeInWords(name, tensor, panel, also.transposed),
    isSame,
    other: other && panelOf(other, head),
    forbidden: await forbiddenCells(run, name, head),
    otherForbidden: other ? await forbiddenCells(view.beside, name, head) : null,
    ...also,
  };
  return spec.transposed ? turnedPlate(spec) : spec;
};

/** Which cells of the weights the mask forbids: their 0 is not a small weight, it is none. */
export const forbiddenCells = async (run, name, head) => {
  const mask = name.replace(/weights$/, "mask");
  if (!name.endsWith("weights") || !run.names.includes(mask)) return null;
  const panel = panelOf(await run.get(mask), head);
  return (row, column) => panel.at(row, column) === -Infinity;
};

/** The same tensor of the run beside this one; null where that run has none of this shape. */
const besideTensor = async (view, name, tensor) => {
  if (!view.beside || !view.beside.names.includes(name)) return null;
  const other = await view.beside.get(name);
  return other.shape.join() === tensor.shape.join() ? other : null;
};

/** A plate with rows and columns exchanged: Kᵀ. */
const turnedPlate = (spec) => ({
  ...spec,
  caption: {
    ...spec.caption,
    symbol: `${spec.caption.symbol}<sup>T</sup>`,
    title: `${spec.caption.title}, transposed`,
  },
  panel: turnedPanel(spec.panel),
  other: spec.other && turnedPanel(spec.other),
  rows: spec.columns,
  columns: spec.rows,
  rowState: [],
  rowWord: "dimension",
  columnWord: "",
  asks: false,
  tokensAbove: true,
  back: (row, column) => [column, row],
});

const turnedPanel = ({ rows, columns, at }) => ({ rows: columns, columns: rows, at: (row, column) => at(column, row) });

/** At step t the last row is new; those before it are cached or made again, and the source's were computed once. */
const statesOfRows = ({ time }, name, rows) => {
  if (time?.mode !== "step") return [];
  const { path, last } = splitName(name);
  const isKept = ["keys", "values"].includes(last);
  if (name.startsWith("encoder") || (path.endsWith("cross_attention") && isKept))
    return Array(rows).fill("computed once");
  const before = !time.cached ? "made again" : isKept ? "cached" : "earlier";
  return Array.from({ length: rows }, (_, row) => (row === rows - 1 ? "new" : before));
};

/** "6 × 6 = target × target", and how many heads there are. */
const shapeInWords = (name, tensor, { rows, columns }, transposed = false) => {
  const letters = tensor.axes.replace(/[BH]/g, "");
  const pairs = [...letters].map((letter, place) => [place ? columns : rows, axisInWords(letter, name)]);
  const [sizes, said] = [0, 1].map((part) => (transposed ? pairs.toReversed() : pairs).map((pair) => pair[part]));
  const count = headsOfTensor(tensor);
  return `${sizes.join(" × ")} = ${said.join(" × ")}${count > 1 ? `, in each of ${count} heads` : ""}`;
};

const axisInWords = (letter, name) => {
  if (letter !== "L" && letter !== "M") return AXIS_WORDS[letter];
  if (!name.includes(".")) return letter === "L" ? "asks" : "attended to";
  const source = name.startsWith("encoder") || (letter === "M" && name.includes("cross_attention"));
  return source ? "source" : "target";
};

/** "(6×64)", of a plate. */
export const sizeInWords = ({ shape }) => `(${shape.split(" = ")[0].replaceAll(" ", "")})`;

/** What training found, or what an example starts from, as a plate, folded at first. `tensor` gives its colours their
 *  scale. */
export const parameterPlate = ({ symbol, title, role, notes = "", tensor = null, ...spec }) => ({
  key: spec.name,
  caption: { symbol, title, role, notes },
  role,
  kind: "numbers",
  word: "weight",
  isParameter: true,
  folds: true,
  scale: tensor && scaleOf("numbers", tensor),
  ...spec,
});

/** A weight matrix as a plate: a row for each dimension that comes in; without weights, its shape alone. */
export const weightPlate = (product, count, symbol, title, role) => {
  const rows = product.xTensor.shape.at(-1);
  return parameterPlate({
    key: `${product.weightName}|${product.columns}`,
    name: product.weightName,
    symbol,
    title,
    role,
    tensor: product.weight,
    shape: `${rows} × ${count}`,
    panel: product.weight && weightPanel(product, count),
    rows: numbered(rows),
    columns: numbered(count),
    rowWord: "dimension",
  });
};

/** A bias, or the weight of a norm: one row, added or multiplied to every row. */
export const rowPlate = (tensor, name, from, count, symbol, title, role) =>
  parameterPlate({
    key: `${name}|${from}`,
    name,
    symbol,
    title,
    role,
    tensor,
    word: "bias",
    shape: `1 × ${count}`,
    panel: { rows: 1, columns: count, at: (_, column) => tensor.data[from + column] },
    rows: [""],
    columns: numbered(count),
  });

/** Whether two tensors are equal but for rounding. */
export const isNearly = (one, other) => {
  if (one.data.length !== other.data.length) return false;
  const slight = 1e-5 * Math.max(1, scaleOf("numbers", one).most);
  return one.data.every((value, at) => value === other.data[at] || Math.abs(value - other.data[at]) <= slight);
};
