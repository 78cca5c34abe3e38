// The projection to the vocabulary: of thousands of words a plate shows the best of each row.

import { bestPlaces, numbersOf, panelOf, rowOfPanel } from "../base/numbers.js";
import { productBehind } from "../runs/lineage.js";
import { kindOfNumbers, scaleOf } from "../matrices/scales.js";
import { BEST_WORDS } from "../cells/attention_operations.js";
import { CELL, EQUALS, ROW, SOFTMAX, TIMES, stage } from "./items.js";
import { tensorPlate, weightPlate } from "./specs.js";

/** output · W_E^T → logits → softmax → probabilities. */
export const vocabularyStages = async (view) => {
  const x = await tensorPlate(view, "decoder.output", { frames: ROW });
  const product = await productBehind(view.run, "decoder.logits");
  const tied = product.weightName.includes("embedding");
  const [symbol, title] = tied
    ? ["W<sub>E</sub><sup>T</sup>", "The embedding matrix, transposed"]
    : ["W<sup>T</sup>", "Output projection"];
  const w = weightPlate(product, await vocabularySize(view.run), symbol, title, "w");
  const logits = await wordsPlate(view, "decoder.logits");
  const probabilities = await wordsPlate(view, "decoder.probabilities");
  return [
    stage("", "output", "What leaves the decoder", [x]),
    stage("", "logits", "A number for each word: the best of each row", [x, TIMES, w, EQUALS, logits]),
    stage("", "softmax", "Probabilities of the next word", [{ ...logits, frames: CELL }, SOFTMAX, probabilities]),
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
  const best = view.run.target.map((_, row) => bestWords(view.run, name, tensor, row));
  const columns = best[0].map((_, rank) => (rank < BEST_WORDS ? String(rank + 1) : "expected"));
  const panel = { rows: best.length, columns: columns.length, at: (row, column) => best[row][column].value };
  const shown = `the best ${Math.min(columns.length, BEST_WORDS)} words shown`;
  const rankOf = (row, place) => best[row].findIndex((each) => each.place === place);
  return {
    ...(await tensorPlate(view, name)),
    panel,
    columns,
    other: null,
    isSame: false,
    scale: scaleOf(kindOfNumbers(name), { data: numbersOf(panel) }),
    shape: `${best.length} × ${await vocabularySize(view.run)} = target × vocabulary, ${shown}`,
    pick: (row, column) => best[row][column],
    rowWord: "after",
    columnWord: "word",
    rowSums: false,
    back: (row, column) => [row, best[row][column].place],
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
