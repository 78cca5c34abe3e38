// The parts of the model, found in the names of its tensors: stacks, layers, and what each is called.

import { meanOfHeads, rowOfPanel } from "../base/numbers.js";

/** {path, last}: "decoder.layers.0.self_attention" and "scores"; a worked example has the path "". */
export const splitName = (name) => {
  const at = name.lastIndexOf(".");
  return { path: at < 0 ? "" : name.slice(0, at), last: name.slice(at + 1) };
};

/** The stack of a name: "encoder" or "decoder". */
export const stackOf = (name) => name.split(".")[0];

/** The kind of a block in any layer: "cross_attention"; for a layer, its number. */
export const kindOf = (block) => block.split(".").at(-1);

/** The name of another tensor in the same part. */
export const sibling = (name, last) => (name.includes(".") ? `${splitName(name).path}.${last}` : last);

/** The block that a tensor belongs to: the part of a layer, or what comes before, between and after the layers. */
export const blockOf = (name) => {
  const { path, last } = splitName(name);
  if (path === "encoder") return last === "output" ? "encoder.output" : "encoder";
  if (path === "decoder") return ["output", "logits", "probabilities"].includes(last) ? "decoder.word" : "decoder";
  if (/^(en|de)coder\.norm$/.test(path)) return path === "encoder.norm" ? "encoder.output" : "decoder.word";
  return path.replace(/\.norm$/, "");
};

/** All blocks of a run, its layers among them, in the order of computation. */
export const blocksOf = (run) => {
  const blocks = run.names.map(blockOf).flatMap((block) => [layerOf(block), block]);
  return [...new Set(blocks)].filter(Boolean);
};

/** "decoder.layers.0" of "decoder.layers.0.self_attention"; "" where a block is in no layer. */
export const layerOf = (block) => /^(?:en|de)coder\.layers\.\d+/.exec(block)?.[0] ?? "";

export const layersOf = (run, stack) =>
  blocksOf(run).filter((block) => block.startsWith(`${stack}.layers`) && block === layerOf(block));

/** The parts of a layer, in the order of computation: an attention, what follows it, and so on. */
export const sublayersOf = (run, layer) => {
  const parts = blocksOf(run).filter((block) => layerOf(block) === layer && block !== layer);
  const residuals = parts.filter(isResidual);
  return {
    normFirst: run.config.norm === "first", // the norm stands before its sublayer
    sublayers: parts.filter((part) => !isResidual(part)).map((part, at) => ({ part, residual: residuals[at] })),
  };
};

export const isResidual = (block) => /(^|\.)residual(_\d+)?$/.test(block);
export const isAttention = (block) => block.endsWith("_attention");
export const isDecoderSelf = (path) => path.startsWith("decoder.") && path.endsWith(".self_attention");
export const attentionsOf = (run) => blocksOf(run).filter(isAttention);

/** The enclosing block: the layer of a part, the model of a layer. */
export const blockAbove = (block) => (block !== layerOf(block) ? layerOf(block) : "");

const TITLES = {
  encoder: "Embedding and positions",
  decoder: "Embedding and positions",
  "encoder.output": "Memory",
  "decoder.word": "The next word",
  self_attention: "Self-attention",
  cross_attention: "Cross-attention",
  feed_forward: "Feed-forward",
};

/** The title of a block: "Cross-attention". */
export const titleOf = (block) => {
  if (block === layerOf(block)) return `Layer ${kindOf(block)}`;
  if (isDecoderSelf(block)) return "Masked self-attention";
  return TITLES[block] ?? TITLES[kindOf(block)] ?? "Add & Norm";
};

/** The title with its place: "decoder, layer 0: cross-attention". */
export const fullTitleOf = (block) => {
  const [stack, layer, title] = [stackOf(block), layerOf(block), titleOf(block).toLowerCase()];
  if (block === "encoder.output" || block === "decoder.word") return title;
  if (layer === block && layer) return `${stack}, ${title}`;
  return layer ? `${stack}, layer ${kindOf(layer)}: ${title}` : `${stack}: ${title}`;
};

/** The sublayer whose output an Add & Norm adds: figure 1 of the paper. */
export const sublayerAddedBy = (model, residual) => splitName(model.made_of[`${residual}.sum`][0][1]).path;

/** The last layer's cross-attention, which summaries show; "" where there is none. */
export const lastCrossOf = (run) => attentionsOf(run).findLast((part) => part.endsWith(".cross_attention")) ?? "";

/** Where each target position looked, in rows of shares over the source: the mean of the last cross-attention's heads. */
export const alignmentOf = async (run) => {
  const part = lastCrossOf(run);
  if (!part) return [];
  const shares = meanOfHeads(await run.get(`${part}.weights`));
  return run.target.map((_, row) => rowOfPanel(shares, row));
};
