// The stages of an attention, in the notes' seven steps: X, then Q, K and V, Q Kᵀ, ÷ √d_k, + mask, softmax, · V, the
// heads side by side, W^O. A worked example has the stages that it reaches.

import { productBehind } from "../runs/lineage.js";
import { divisorOfRun } from "../cells/attention_operations.js";
import { CELL, COLUMN, EQUALS, PLUS, ROW, TIMES, inBlock, productItems, sign, stage } from "./items.js";
import { productOfShapes, sizeInWords, sumOfShapes, tensorPlate } from "./specs.js";

const ATTENTION_STAGES = [
  ["1", "X", "Input of this sublayer", "", (view) => inputStage(view)],
  ["2", "Q", "Queries: what each position asks for", "queries"],
  ["2", "K", "Keys: what each position can be found by", "keys"],
  ["2", "V", "Values: what each position gives", "values"],
  ["3", "Q K<sup>T</sup>", "Scores: each query with each key", "scores", scoreItems],
  ["", "÷ √d<sub>k</sub>", "Scaled: divided by the root of the keys’ dimension", "scaled_scores", scaleItems],
  ["4", "+ mask", "Masked: −∞ where a query may not look", "masked_scores", maskItems],
  ["5", "softmax", "Attention weights: each row shares a whole 1", "weights", softmaxItems],
  ["6", "· V", "Context: what each position takes of the values", "context", contextItems],
  ["", "heads", "The heads side by side", "concatenated", headItems],
  ["7", "W<sup>O</sup>", "Output: the heads mixed, back in the stream’s width", "output"],
];

export const attentionStages = async (view) => {
  const stages = [];
  for (const [number, chip, title, last, items = productItems] of ATTENTION_STAGES) {
    const name = inBlock(view, last);
    if (last && !view.run.names.includes(name)) continue;
    const made = await items(view, name);
    if (made) stages.push(stage(number, chip, title, made));
  }
  return stages;
};

/** X itself, and in cross-attention the memory beside it; null where an example does not begin there. */
const inputStage = async (view) => {
  const has = (last) => view.run.names.includes(inBlock(view, last));
  const inputs = [];
  for (const last of ["queries", "keys"]) {
    const product = has(last) && (await productBehind(view.run, inBlock(view, last), 0));
    if (product && !inputs.some(({ name }) => name === product.x)) inputs.push(await tensorPlate(view, product.x));
  }
  return inputs.length ? inputs.reverse() : null;
};

async function scoreItems(view, name) {
  const result = await tensorPlate(view, name);
  if (!view.run.names.includes(inBlock(view, "queries"))) return [result];
  const queries = await tensorPlate(view, inBlock(view, "queries"), { frames: ROW });
  const keys = await tensorPlate(view, inBlock(view, "keys"), { transposed: true, frames: COLUMN });
  keys.caption = { ...keys.caption, symbol: "K<sup>T</sup>", title: "Keys, transposed" };
  return [queries, TIMES, keys, EQUALS, { ...result, product: productOfShapes(queries.panel, keys.panel) }];
}

async function scaleItems(view, name) {
  const scaled = await tensorPlate(view, name);
  if (!view.run.names.includes(inBlock(view, "scores"))) return [scaled];
  const { words: said } = divisorOfRun(view.run, view.block);
  const size = sizeInWords(scaled.panel);
  const scores = await tensorPlate(view, inBlock(view, "scores"), { frames: CELL });
  return [
    scores,
    sign(`÷ ${said} =`, `divided by ${said} equals`),
    { ...scaled, product: `${size} ÷ ${said} = ${size}` },
  ];
}

async function maskItems(view, name) {
  const masked = await tensorPlate(view, name);
  const operands = [];
  for (const last of ["scaled_scores", "mask"])
    if (view.run.names.includes(inBlock(view, last)))
      operands.push(await tensorPlate(view, inBlock(view, last), { frames: CELL }));
  if (!operands.length) return [masked];
  const [scaled, mask] = operands;
  return [scaled, ...(mask ? [PLUS, mask] : []), EQUALS, { ...masked, product: sumOfShapes(masked.panel) }];
}

async function softmaxItems(view, name) {
  const weights = await tensorPlate(view, name);
  if (!view.run.names.includes(inBlock(view, "masked_scores"))) return [weights];
  const masked = await tensorPlate(view, inBlock(view, "masked_scores"), { frames: ROW });
  return [masked, sign("softmax →", "softmax of each row gives"), weights];
}

async function contextItems(view, name) {
  const weights = await tensorPlate(view, inBlock(view, "weights"), { frames: ROW });
  const values = await tensorPlate(view, inBlock(view, "values"), { frames: COLUMN });
  const context = await tensorPlate(view, name);
  return [weights, TIMES, values, EQUALS, { ...context, product: productOfShapes(weights.panel, values.panel) }];
}

/** All heads' contexts side by side, which is the concatenated matrix. */
async function headItems(view, name) {
  const context = inBlock(view, "context");
  const heads = (await view.run.get(context)).shape.at(-3);
  const concatenated = await tensorPlate(view, name);
  const { rows, columns } = concatenated.panel;
  const width = columns / heads;
  const items = [];
  for (let head = 0; head < heads; head++) {
    const plate = await tensorPlate(view, context, { head, key: `${context}|head ${head}` });
    const frames = (row, column) => (Math.floor(column / width) === head ? { row, column: column % width } : null);
    const caption = { ...plate.caption, title: `Head ${head}` };
    items.push(...(head ? [sign("|", "beside")] : []), { ...plate, caption, frames, product: "" });
  }
  return [
    ...items,
    EQUALS,
    {
      ...concatenated,
      product: `${heads === 1 ? "1 head of" : `${heads} heads of`} (${rows}×${width}) = (${rows}×${columns})`,
    },
  ];
}
