// The content of a plate: a traced tensor or a parameter, its labels, its shape in words.

import { axesOfMatrix, bestPlaces, headsOfTensor, numbered, numbersOf, panelOf, rowOfPanel } from "../base/numbers.js";
import { splitName } from "../runs/parts.js";
import { captionOfTensor } from "../runs/runs.js";
import { kindOfNumbers, scaleOf, scaleOfTensor } from "../matrices/scales.js";
import { labelsOfTensor } from "../cells/making.js";

const AXIS_WORDS = { D: "width", K: "d_k", U: "d_v", F: "d_ff", V: "vocabulary" };

/** A matrix with its words; `frames` of an operand tell what of it a cell of the result was made from.
 *  @typedef {{ key: string, name: string, role: string, caption: object, shape: string, panel: Panel, rows: string[],
 *    columns: string[] }} Plate */

/** A traced tensor as a matrix of this view. `also` overrides: its head, transposed, frames, …
 *  @returns {Promise<Plate>} */
export const tensorPlate = async (view, name, also = {}) => {
  const { run } = view;
  const tensor = await run.get(name);
  const head = tensor.axes.includes("H") ? (also.head ?? view.head) : 0;
  const found = view.beside?.names.includes(name) ? await view.beside.get(name) : null;
  const beside = found?.shape.join() === tensor.shape.join() ? found : null;
  const isSame = Boolean(beside) && isNearly(tensor, beside); // said, and not drawn twice
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
    rowWord: "", // what stands before the label where one says a cell's place
    columnWord: asks || panel.columns === 1 ? "" : "dimension",
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
  if (tensor.axes.endsWith("V")) return wordsPlate(view, spec);
  return spec.transposed ? turnedPlate(spec) : spec;
};

/** Which cells of the weights the mask forbids: their 0 is exact. Null if the mask forbids none. */
export const forbiddenCells = async (run, name, head) => {
  const mask = name.replace(/weights$/, "mask");
  if (!name.endsWith("weights") || !run.names.includes(mask)) return null;
  const panel = panelOf(await run.get(mask), head);
  return numbersOf(panel).includes(-Infinity) ? (row, column) => panel.at(row, column) === -Infinity : null;
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
  areTokensAbove: true,
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

/** "(6×64)", of a plate. */
export const sizeInWords = ({ shape }) => `(${shape.split(" = ")[0].replaceAll(" ", "")})`;

/** A learned or a given matrix as a plate, folded at first; without its numbers, its shape alone. */
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

/** The number of words in the vocabulary. */
export const vocabularySize = async (run) => {
  const { kept, shape } = await run.get("decoder.probabilities");
  return kept ? kept.size : shape.at(-1);
};

const WORDS = 5; // of a vocabulary that a plate shows

/** What a plate shows of a tensor with thousands of words: of each row the likeliest, the first one first, and the one
 *  that the translation goes on with; a cell is a word and its number. */
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

/** [{place (its column in the tensor), label, value}]. A big vocabulary comes with its best words and, last, the expected
 *  one. */
const wordsOfRow = (run, name, tensor, row) => {
  const numbers = rowOfPanel(panelOf(tensor), row);
  const labels = tensor.kept?.tokens[row] ?? run.labels(name, "V");
  const places = bestPlaces(tensor.kept ? numbers.slice(0, -1) : numbers, WORDS);
  const expected = labels.indexOf(run.expected[row]);
  if (!places.includes(expected)) places[places.length - 1] = expected;
  return places.map((place) => ({ place, label: labels[place], value: numbers[place] }));
};

/** Whether two tensors are equal up to rounding. */
export const isNearly = (one, other) => {
  if (one.data.length !== other.data.length) return false;
  const slight = 1e-5 * Math.max(1, scaleOf("numbers", one).most);
  return one.data.every((value, at) => value === other.data[at] || Math.abs(value - other.data[at]) <= slight);
};
