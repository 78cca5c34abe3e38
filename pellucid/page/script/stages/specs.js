// Describe the content of a plate: a traced tensor or a parameter, with its labels and its shape in words.

import { axesOfMatrix, bestPlaces, headsOfTensor, numbered, numbersOf, panelOf, rowOfPanel } from "../base/numbers.js";
import { splitName } from "../runs/parts.js";
import { captionOfTensor } from "../runs/runs.js";
import { kindOfNumbers, scaleOf, scaleOfTensor } from "../matrices/scales.js";
import { labelsOfTensor } from "../cells/making.js";

const AXIS_WORDS = { D: "width", K: "d_k", U: "d_v", F: "d_ff", V: "vocabulary" };

/** A matrix with its texts. `frames(row, column)` returns the area of an operand that a cell of the result comes from.
 *  @typedef {{ key: string, name: string, role: string, caption: object, shape: string, panel: Panel, rows: string[],
 *    columns: string[] }} Plate */

/** Make a plate of a traced tensor. `also` overrides properties: head, transposed, frames, …
 *  @returns {Promise<Plate>} */
export const tensorPlate = async (view, name, also = {}) => {
  const { run } = view;
  const tensor = await run.get(name);
  const head = tensor.axes.includes("H") ? (also.head ?? view.head) : 0;
  const found = view.beside?.names.includes(name) ? await view.beside.get(name) : null;
  const beside = found?.shape.join() === tensor.shape.join() ? found : null;
  const isSame = Boolean(beside) && isNearly(tensor, beside); // then it is drawn only once
  const other = isSame ? null : beside;
  const caption = { ...captionOfTensor(name), ...also.words };
  const [panel, kind, asks] = [panelOf(tensor, head), kindOfNumbers(name), tensor.axes.endsWith("LM")];
  const spec = {
    key: name,
    name,
    tensor,
    head,
    caption,
    kind,
    role: caption.role,
    word: splitName(name).last.replaceAll("_", " ").replace(/ies$/, "y").replace(/s$/, ""), // "scaled score", "query"
    asks,
    areTokensAbove: asks,
    rowSums: kind === "weights" && asks,
    rowWord: "", // the word before a row's label in the description of a cell
    columnWord: asks || panel.columns === 1 ? "" : "dimension",
    panel,
    ...labelsOfTensor(run, name, tensor),
    rowState: statesOfRows(view, name, panel.rows),
    scale: await scaleOfTensor(run, name, tensor, other),
    shape: shapeInWords(name, tensor, panel, also.transposed),
    isSame,
    other: other && panelOf(other, head),
    otherLabels: other && labelsOfTensor(view.beside, name, other),
    forbidden: await forbiddenCells(run, name, head),
    otherForbidden: other ? await forbiddenCells(view.beside, name, head) : null,
    ...also,
  };
  if (tensor.axes.endsWith("V")) return wordsPlate(view, spec);
  return spec.transposed ? turnedPlate(spec) : spec;
};

/** Return a function that tells which weights the mask makes exactly 0; null if the mask forbids no cell. */
export const forbiddenCells = async (run, name, head) => {
  const mask = name.replace(/weights$/, "mask");
  if (!name.endsWith("weights") || !run.names.includes(mask)) return null;
  const panel = panelOf(await run.get(mask), head);
  return numbersOf(panel).includes(-Infinity) ? (row, column) => panel.at(row, column) === -Infinity : null;
};

/** Exchange the rows and columns of a plate: Kᵀ. */
const turnedPlate = (spec) => ({
  ...spec,
  caption: {
    ...spec.caption,
    symbol: `${spec.caption.symbol}<sup>T</sup>`,
    title: `${spec.caption.title}, transposed`,
  },
  panel: turnedPanel(spec.panel),
  other: spec.other && turnedPanel(spec.other),
  otherLabels: spec.other && { rows: spec.otherLabels.columns, columns: spec.otherLabels.rows },
  rows: spec.columns,
  columns: spec.rows,
  rowState: [],
  rowWord: "dimension",
  columnWord: "",
  areTokensAbove: true,
  back: (row, column) => [column, row],
});

const turnedPanel = ({ rows, columns, at }) => ({ rows: columns, columns: rows, at: (row, column) => at(column, row) });

/** Return the state of each row at a step: the last is new, earlier ones cached or made again, the source's made once. */
const statesOfRows = ({ time }, name, rows) => {
  if (time?.mode !== "step") return [];
  const { path, last } = splitName(name);
  const isKept = ["keys", "values"].includes(last);
  if (name.startsWith("encoder") || (path.endsWith("cross_attention") && isKept))
    return Array(rows).fill("computed once");
  const before = !time.cached ? "made again" : isKept ? "cached" : "earlier";
  return Array.from({ length: rows }, (_, row) => (row === rows - 1 ? "new" : before));
};

/** Write a shape, such as "6 × 6 = target × target", and the number of heads. */
const shapeInWords = (name, tensor, { rows, columns }, transposed = false) => {
  const said = axesOfMatrix(tensor.axes).map((letter) => axisInWords(letter, name));
  const inOrder = (list) => (transposed ? list.toReversed() : list).join(" × ");
  const heads = headsOfTensor(tensor) > 1 ? `, in each of ${headsOfTensor(tensor)} heads` : "";
  return `${inOrder([rows, columns].slice(0, said.length))} = ${inOrder(said)}${heads}`;
};

const axisInWords = (letter, name) => {
  if (letter !== "L" && letter !== "M") return AXIS_WORDS[letter];
  if (!name.includes(".")) return letter === "L" ? "asks" : "attended to";
  const source = name.startsWith("encoder") || (letter === "M" && name.includes("cross_attention"));
  return source ? "source" : "target";
};

/** Write the size of a plate: "(6×64)". */
export const sizeInWords = ({ shape }) => `(${shape.split(" = ")[0].replaceAll(" ", "")})`;

/** Make a plate of a parameter, initially folded; if the page does not have its numbers, it shows only the shape. */
export const parameterPlate = (name, tensor, { symbol, title, role }, rows, columns, also) => ({
  key: name,
  name,
  caption: { symbol, title, role },
  role,
  kind: "numbers",
  word: "weight",
  isParameter: true,
  head: 0,
  folds: true,
  scale: tensor && scaleOf("numbers", tensor),
  shape: `${rows} × ${columns}`,
  rows: numbered(rows),
  columns: numbered(columns),
  rowState: [],
  rowWord: "dimension",
  columnWord: "dimension",
  ...also,
});

/** Return the number of words in the vocabulary. */
export const vocabularySize = async (run) => {
  const { kept, shape } = await run.get("decoder.probabilities");
  return kept ? kept.size : shape.at(-1);
};

const WORDS = 5; // the number of words of a vocabulary that a plate shows

/** Make a plate of a tensor with a column for each word: each row shows its most probable words, best first, and the
 *  expected word. A cell is a word and its number. */
const wordsPlate = async (view, spec) => {
  const { name, tensor, kind } = spec;
  const chosen = view.run.target.map((_, row) => wordsOfRow(view.run, name, tensor, row));
  const rankOf = (row, place) => chosen[row].findIndex((each) => each.place === place);
  const panel = { rows: chosen.length, columns: chosen[0].length, at: (row, column) => chosen[row][column].value };
  return {
    ...spec,
    panel,
    columns: chosen[0].map(() => ""),
    other: null,
    isSame: false,
    scale: scaleOf(kind, { data: numbersOf(panel) }),
    shape: `${panel.rows} × ${await vocabularySize(view.run)} = target × vocabulary, ${panel.columns} words shown`,
    pick: (row, column) => chosen[row][column],
    rowWord: "after",
    columnWord: "word",
    rowSums: false,
    back: (row, column) => [row, chosen[row][column].place],
    forth: (row, place) => [row, Math.max(0, rankOf(row, place))],
  };
};

/** Return the words of a row, [{place (its column in the tensor), label, value}]. For a large vocabulary the tensor has
 *  only the best words and, last, the expected word. */
const wordsOfRow = (run, name, tensor, row) => {
  const numbers = rowOfPanel(panelOf(tensor), row);
  const labels = tensor.kept?.tokens[row] ?? run.labels(name, "V");
  const places = bestPlaces(tensor.kept ? numbers.slice(0, -1) : numbers, WORDS);
  const expected = labels.indexOf(run.expected[row]);
  if (!places.includes(expected)) places[places.length - 1] = expected;
  return places.map((place) => ({ place, label: labels[place], value: numbers[place] }));
};

/** Return whether two tensors are equal up to rounding. */
export const isNearly = (one, other) => {
  if (one.data.length !== other.data.length) return false;
  const slight = 1e-5 * Math.max(1, scaleOf("numbers", one).most);
  return one.data.every((value, at) => value === other.data[at] || Math.abs(value - other.data[at]) <= slight);
};
