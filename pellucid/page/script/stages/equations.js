// The equation of each part, as stages: one product, one sum, one softmax at a time. A stage: {key, number (of the
// notes' seven steps), sign (what its button says), title, items}. An item is a sign, {sign, words}, or a plate; the
// last plate is the stage's result, and its `frames` tell what of the operands a cell was made from.

import { numbered } from "../base/numbers.js";
import { madeOf } from "../runs/lineage.js";
import { blocksOf, isAttention, isResidual } from "../runs/parts.js";
import { ACTIVATION_WORDS, idsOfStack } from "../cells/operations.js";
import { attentionStages } from "./attention_stages.js";
import { CELL, COLUMN, EQUALS, PLUS, ROW, TIMES, inBlock, productItems, sign, stage } from "./items.js";
import { parameterPlate, rowPlate, sizeInWords, sumOfShapes, tensorPlate } from "./specs.js";
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
  if (block === "encoder.output") return [...(await lastNormStages(view, "encoder")), await memoryStage(view)];
  if (block === "decoder.word") return [...(await lastNormStages(view, "decoder")), ...(await vocabularyStages(view))];
  return embeddingStages(view);
};

// The other parts of a layer

/** a + b = sum. */
const sumItems = async (view, name) => {
  const operands = madeOf(view.run, name).of.map((each) => tensorPlate(view, each, { frames: CELL }));
  const [one, other] = await Promise.all(operands);
  const sum = await tensorPlate(view, name);
  return [one, PLUS, other, EQUALS, { ...sum, product: sumOfShapes(sum.panel) }];
};

const feedForwardStages = async (view) => {
  const activation = ACTIVATION_WORDS[view.run.config.activation];
  const hidden = await tensorPlate(view, inBlock(view, "hidden"), { frames: CELL });
  const activated = await tensorPlate(view, inBlock(view, "activated"));
  return [
    stage("", "X · W<sub>1</sub>", "Wider: each position by itself", await productItems(view, inBlock(view, "hidden"))),
    stage("", activation, `The activation: ${activation}`, [hidden, sign(`${activation} →`, "becomes"), activated]),
    stage("", "· W<sub>2</sub>", "Back to the stream’s width", await productItems(view, inBlock(view, "output"))),
  ];
};

/** Add & Norm, or with the norm first: Norm, the sublayer, Add. */
const residualStages = async (view) => {
  const { run, block } = view;
  const isFirst = run.config.norm === "first";
  const add = stage("", "+", "Add: the stream and what the sublayer found", await sumItems(view, `${block}.sum`));
  const norm = await normStages(view, `${block}.norm`);
  const on = stage("", "→", "Output of Add & Norm", [await tensorPlate(view, `${block}.output`)]);
  return isFirst ? [...norm, add, on] : [add, ...norm, on];
};

/** Mean and variance of each row, the row standardised, then a weight and a bias for each dimension. */
const normStages = async (view, norm) => {
  const { run } = view;
  const [input] = madeOf(run, `${norm}.mean`).of;
  const plate = (last, also) => tensorPlate(view, `${norm}.${last}`, also);
  const x = await tensorPlate(view, input, { frames: ROW });
  const [mean, variance] = [await plate("mean"), await plate("variance")];
  const result = await plate("output");
  const size = sizeInWords(result.panel);
  const width = result.panel.columns;
  const names = madeOf(run, `${norm}.output`).parameters;
  const [weight, bias] = names.map(run.parameter);
  const [said] = result.caption.weights;
  const standardized = await plate("standardized", { frames: CELL });
  const parameters = weight
    ? [
        TIMES,
        { ...rowPlate(weight, names[0], 0, width, said.symbol, said.title, "x"), word: "weight", frames: COLUMN },
        PLUS,
        { ...rowPlate(bias, names[1], 0, width, said.bias, "Bias of each dimension", "x"), frames: COLUMN },
        EQUALS,
      ]
    : [sign("· weight + bias →", "times weight plus bias gives")];
  return [
    stage("", "μ", "The mean of each position’s vector", [x, sign("mean →", "has in each row the mean"), mean]),
    stage("", "σ²", "Its variance", [x, sign("variance →", "has in each row the variance"), variance]),
    stage("", "(x − μ) ÷ σ", "Standardised: mean 0 and variance 1", [
      x,
      sign("(x − μ) ÷ √(σ² + ε) →", "standardised"),
      { ...standardized, frames: undefined },
    ]),
    stage("", "· γ + β", "Weight and bias of each dimension", [
      standardized,
      ...parameters,
      { ...result, product: `${size}·(1×${width}) + (1×${width}) = ${size}` },
    ]),
  ];
};

const embeddingStages = async (view) => {
  const stack = view.block;
  const looked = await lookupItems(view, await tensorPlate(view, `${stack}.token_embeddings`));
  const positions = await tensorPlate(view, `${stack}.positions`);
  const sum = await sumItems(view, `${stack}.embedded`);
  return [
    stage("", "E", "Each token’s row of the embedding matrix", looked),
    stage("", "PE", "Positions: sines and cosines", [positions]),
    stage("", "E + PE", "What the words are, and where they stand", sum),
  ];
};

/** Each token's row of the embedding matrix, times √D; the rows alone where the page has no weights. */
const lookupItems = async (view, tokens) => {
  const { run, block } = view;
  const ids = idsOfStack(run, block)?.slice(0, tokens.panel.rows);
  const [name] = madeOf(run, tokens.name).parameters;
  const weight = run.parameter(name);
  if (!weight || !ids) return [tokens];
  const [count, width] = weight.shape;
  const scale = run.config.scale_embeddings === false ? "" : `√${width} `;
  const rows = parameterPlate({
    name,
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
  });
  const product = `one-hot (${ids.length}×${count})·(${count}×${width}) = (${ids.length}×${width})`;
  const times = scale ? sign(`· ${scale}=`, `times ${scale}equals`) : EQUALS;
  return [{ ...rows, folds: false }, times, { ...tokens, product }];
};

/** The norm at the end of a stack, which a model has with the norm first. */
const lastNormStages = (view, stack) =>
  view.run.names.includes(`${stack}.norm.output`) ? normStages(view, `${stack}.norm`) : [];

const memoryStage = async (view) =>
  stage("", "memory", "What every cross-attention makes its keys and values from", [
    await tensorPlate(view, "encoder.output"),
  ]);
