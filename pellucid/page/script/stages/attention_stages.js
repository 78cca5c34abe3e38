// The stages of an attention, in the notes' seven steps: X, then Q, K and V, Q Kᵀ, ÷ √d_k, + mask, softmax, · V, the
// heads side by side, W^O.

import { productBehind } from "../runs/lineage.js";
import { divisorOfRun } from "../cells/attention_operations.js";
import {
  CELL,
  COLUMN,
  EQUALS,
  PLUS,
  ROW,
  SOFTMAX,
  TIMES,
  equation,
  inBlock,
  sign,
  stage,
  stagesOfRows,
} from "./items.js";
import { tensorPlate } from "./specs.js";

export const attentionStages = async (view) => [
  ...(await inputStage(view)),
  ...(await stagesOfRows(view, ATTENTION_STAGES)),
];

/** X itself, and in cross-attention the memory beside it; none where an example does not begin there. */
const inputStage = async (view) => {
  const made = ["keys", "queries"].map((last) => inBlock(view, last)).filter((name) => view.run.names.includes(name));
  const products = await Promise.all(made.map((name) => productBehind(view.run, name)));
  const inputs = [...new Set(products.filter(Boolean).map(({ x }) => x))];
  const plates = await Promise.all(inputs.map((name) => tensorPlate(view, name)));
  return plates.length ? [stage("1", "X", "Input of this sublayer", plates)] : [];
};

const scaledItems = (view, name) => {
  const { words: root } = divisorOfRun(view.run, view.block);
  return equation(["scores", CELL], sign(`÷ ${root} =`, `divided by ${root} equals`))(view, name);
};

/** All heads' contexts side by side, which is the concatenated matrix. */
const headItems = async (view, name) => {
  const context = inBlock(view, "context");
  const { shape, axes } = await view.run.get(context);
  const [heads, width] = [shape[axes.indexOf("H")], shape.at(-1)];
  const plateOf = async (_, head) => {
    const frames = (row, column) => (Math.floor(column / width) === head ? { row, column: column % width } : null);
    const plate = await tensorPlate(view, context, { head, key: `${context}|head ${head}`, frames });
    return { ...plate, caption: { ...plate.caption, title: `Head ${head}` } };
  };
  const plates = await Promise.all(Array.from({ length: heads }, plateOf));
  const items = plates.flatMap((plate, head) => (head ? [sign("|", "beside"), plate] : [plate]));
  return [...items, EQUALS, await tensorPlate(view, name)];
};

const ATTENTION_STAGES = [
  ["2", "Q", "Queries: what each position asks for", "queries"],
  ["2", "K", "Keys: what each position can be found by", "keys"],
  ["2", "V", "Values: what each position gives", "values"],
  [
    "3",
    "Q K<sup>T</sup>",
    "Scores: each query with each key",
    "scores",
    equation(["queries", ROW], TIMES, ["keys", COLUMN, { transposed: true }], EQUALS),
  ],
  ["", "÷ √d<sub>k</sub>", "Scaled: divided by the root of the keys’ dimension", "scaled_scores", scaledItems],
  [
    "4",
    "+ mask",
    "Masked: −∞ where a query may not look",
    "masked_scores",
    equation(["scaled_scores", CELL], PLUS, ["mask", CELL], EQUALS),
  ],
  [
    "5",
    "softmax",
    "Attention weights: each row shares a whole 1",
    "weights",
    equation(["masked_scores", ROW], SOFTMAX),
  ],
  [
    "6",
    "· V",
    "Context: what each position takes of the values",
    "context",
    equation(["weights", ROW], TIMES, ["values", COLUMN], EQUALS),
  ],
  ["", "heads", "The heads side by side", "concatenated", headItems],
  ["7", "W<sup>O</sup>", "Output: the heads mixed, back in the stream’s width", "output"],
];
