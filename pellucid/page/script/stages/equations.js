// The equation of each part, as stages: one product, one sum, one softmax at a time.

import { numbered } from "../base/numbers.js";
import { madeOf } from "../runs/lineage.js";
import { blocksOf, isAttention, isResidual } from "../runs/parts.js";
import { ACTIVATION_WORDS, idsOfStack } from "../cells/operations.js";
import { attentionStages } from "./attention_stages.js";
import { CELL, COLUMN, EQUALS, PLUS, ROW, TIMES, equation, sign, stage, stagesOfRows } from "./items.js";
import { parameterPlate, rowPlate, tensorPlate } from "./specs.js";
import { vocabularyStages } from "./vocabulary_stages.js";

/** The stages of the block of a view; of a worked example, of all its blocks. */
export const stagesOf = async (view) => {
  if (!view.run.isWorked) return stagesOfBlock(view);
  return (await Promise.all(blocksOf(view.run).map((block) => stagesOfBlock({ ...view, block })))).flat();
};

const stagesOfBlock = async (view) => {
  const { block } = view;
  if (block === "" || isAttention(block)) return attentionStages(view);
  if (block.endsWith("feed_forward")) return feedForwardStages(view);
  if (isResidual(block)) return residualStages(view);
  if (block === "encoder.output")
    return [
      ...(await normStages({ ...view, block: "encoder" })),
      stage("", "memory", MEMORY_SAYS, [await tensorPlate(view, block)]),
    ];
  if (block === "decoder.word")
    return [...(await normStages({ ...view, block: "decoder" })), ...(await vocabularyStages(view))];
  return stagesOfRows(view, EMBEDDING_STAGES);
};

const MEMORY_SAYS = "What every cross-attention makes its keys and values from";

const itself = async (view, name) => [await tensorPlate(view, name)];

/** a + b = sum. */
const sumItems = (view, name) => {
  const [one, other] = madeOf(view.run, name).of;
  return equation([one, CELL], PLUS, [other, CELL], EQUALS)(view, name);
};

const feedForwardStages = (view) => {
  const activation = ACTIVATION_WORDS[view.run.config.activation];
  return stagesOfRows(view, [
    ["", "X · W<sub>1</sub>", "Wider: each position by itself", "hidden"],
    [
      "",
      activation,
      `The activation: ${activation}`,
      "activated",
      equation(["hidden", CELL], sign(`${activation} →`, "becomes")),
    ],
    ["", "· W<sub>2</sub>", "Back to the stream’s width", "output"],
  ]);
};

/** Add & Norm, or with the norm first: Norm, the sublayer, Add. */
const residualStages = async (view) => {
  const add = await stagesOfRows(view, [["", "+", "Add: the stream and what the sublayer found", "sum", sumItems]]);
  const norm = await normStages(view);
  const on = await stagesOfRows(view, [["", "→", "Output of Add & Norm", "output", itself]]);
  return view.run.config.norm === "first" ? [...norm, ...add, ...on] : [...add, ...norm, ...on];
};

/** Mean and variance of each row, the row standardised, then a weight and a bias for each dimension; none where a stack
 *  has no norm at its end. */
const normStages = async (view) => {
  const norm = `${view.block}.norm`;
  if (!view.run.names.includes(`${norm}.mean`)) return [];
  const [x] = madeOf(view.run, `${norm}.mean`).of;
  const of = (text, said) => equation([x, ROW], sign(text, said));
  return stagesOfRows(view, [
    ["", "μ", "The mean of each position’s vector", "norm.mean", of("mean →", "has in each row the mean")],
    ["", "σ²", "Its variance", "norm.variance", of("variance →", "has in each row the variance")],
    [
      "",
      "(x − μ) ÷ σ",
      "Standardised: mean 0 and variance 1",
      "norm.standardized",
      of("(x − μ) ÷ √(σ² + ε) →", "standardised"),
    ],
    ["", "· γ + β", "Weight and bias of each dimension", "norm.output", affineItems],
  ]);
};

const affineItems = async (view, name) => {
  const names = madeOf(view.run, name).parameters;
  const [weight, bias] = names.map(view.run.parameter);
  const x = await tensorPlate(view, name.replace(/output$/, "standardized"), { frames: CELL });
  const result = await tensorPlate(view, name);
  if (!weight) return [x, sign("· weight + bias →", "times weight plus bias gives"), result];
  const width = result.panel.columns;
  const [said] = result.caption.weights;
  const gamma = rowPlate(weight, names[0], 0, width, said.symbol, said.title, "x");
  const beta = rowPlate(bias, names[1], 0, width, said.bias, "Bias of each dimension", "x");
  return [x, TIMES, { ...gamma, word: "weight", frames: COLUMN }, PLUS, { ...beta, frames: COLUMN }, EQUALS, result];
};

/** Each token's row of the embedding matrix, times √D; the rows alone where the page has no weights. */
const lookupItems = async (view, name) => {
  const { run, block } = view;
  const tokens = await tensorPlate(view, name);
  const ids = idsOfStack(run, block)?.slice(0, tokens.panel.rows);
  const [parameter] = madeOf(run, name).parameters;
  const weight = run.parameter(parameter);
  if (!weight || !ids) return [tokens];
  const [count, width] = weight.shape;
  const rows = parameterPlate({
    name: parameter,
    symbol: tokens.caption.weights[0].symbol,
    title: "The rows of these tokens",
    role: "x",
    notes: "W<sub>E</sub>",
    tensor: weight,
    panel: { rows: ids.length, columns: width, at: (row, column) => weight.data[ids[row] * width + column] },
    rows: ids.map((id, row) => `${tokens.rows[row]} (${id})`),
    columns: numbered(width),
    shape: `rows of ${count} × ${width} = vocabulary × width`,
    frames: CELL,
    folds: false,
  });
  const product = `one-hot (${ids.length}×${count})·(${count}×${width}) = (${ids.length}×${width})`;
  const isScaled = run.config.scale_embeddings !== false;
  const times = isScaled ? sign(`· √${width} =`, `times √${width} equals`) : EQUALS;
  return [rows, times, { ...tokens, product }];
};

const EMBEDDING_STAGES = [
  ["", "E", "Each token’s row of the embedding matrix", "token_embeddings", lookupItems],
  ["", "PE", "Positions: sines and cosines", "positions", itself],
  ["", "E + PE", "What the words are, and where they stand", "embedded", sumItems],
];
