// The projection to the vocabulary: of thousands of words a plate shows the best of each row.

import { bestPlaces, numbersOf, panelOf, rowOfPanel } from "../base/numbers.js";
import { productBehind } from "../runs/lineage.js";
import { captionOfTensor } from "../runs/runs.js";
import { kindOfNumbers, scaleOf } from "../matrices/scales.js";
import { BEST_WORDS } from "../cells/attention_operations.js";
import { CELL, EQUALS, ROW, TIMES, sign, stage } from "./items.js";
import { productOfShapes, statesOfRows, tensorPlate, weightPlate } from "./specs.js";

/** output · W_E^T → logits → softmax → probabilities. */
export const vocabularyStages = async (view) => {
  const x = await tensorPlate(view, "decoder.output", { frames: ROW });
  const size = await vocabularySize(view.run);
  const product = await productBehind(view.run, "decoder.logits");
  const tied = product.weightName.includes("embedding");
  const title = tied ? "The embedding matrix, transposed" : "Output projection";
  const w = weightPlate(product, size, tied ? "W<sub>E</sub><sup>T</sup>" : "W<sup>T</sup>", title, "w");
  const logits = await wordsPlate(view, "decoder.logits");
  const probabilities = await wordsPlate(view, "decoder.probabilities");
  const shapes = productOfShapes(x.panel, { rows: x.panel.columns, columns: size });
  return [
    stage("", "output", "What leaves the decoder", [{ ...x, frames: undefined }]),
    stage("", "logits", "A number for each word: the best of each row", [
      x,
      TIMES,
      w,
      EQUALS,
      { ...logits, product: shapes },
    ]),
    stage("", "softmax", "Probabilities of the next word", [
      { ...logits, frames: CELL },
      sign("softmax →", "softmax of each row gives"),
      probabilities,
    ]),
  ];
};

/** How many words the vocabulary has. */
const vocabularySize = async (run) => {
  const { kept, shape } = await run.get("decoder.probabilities");
  return kept ? kept.size : shape.at(-1);
};

/** The best words of each row, the best first, as a plate; a cell is a word and its number. */
const wordsPlate = async (view, name) => {
  const tensor = await view.run.get(name);
  const rows = view.run.target;
  const found = rows.map((_, row) => bestWords(view.run, name, tensor, row));
  const columns = found[0].map((_, rank) => (rank < BEST_WORDS ? String(rank + 1) : "expected"));
  const panel = { rows: rows.length, columns: columns.length, at: (row, column) => found[row][column].value };
  const kind = kindOfNumbers(name);
  const caption = captionOfTensor(name);
  const rankOf = (row, place) => found[row].findIndex((each) => each.place === place);
  return {
    key: name,
    name,
    tensor,
    caption,
    kind,
    role: caption.role,
    asks: false,
    panel,
    rows,
    columns,
    rowState: statesOfRows(view, name, rows.length),
    scale: scaleOf(kind, { data: numbersOf(panel) }),
    shape: `${rows.length} × ${await vocabularySize(view.run)} = target × vocabulary, the best ${Math.min(columns.length, BEST_WORDS)} words shown`,
    pick: (row, column) => found[row][column],
    rowWord: "after",
    columnWord: "word",
    rowSums: false,
    back: (row, column) => [row, found[row][column].place],
    forth: (row, place) => [row, Math.max(0, rankOf(row, place))],
  };
};

/** [{place (its column in the tensor), label, value}]. A big vocabulary comes with its best words alone, chosen before. */
const bestWords = (run, name, tensor, row) => {
  const numbers = rowOfPanel(panelOf(tensor), row);
  if (tensor.kept) return tensor.kept.tokens[row].map((label, place) => ({ place, label, value: numbers[place] }));
  const labels = run.labels(name, "V");
  return bestPlaces(numbers, BEST_WORDS).map((place) => ({ place, label: labels[place], value: numbers[place] }));
};
