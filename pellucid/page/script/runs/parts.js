// The parts of the model: stacks, layers and blocks. They follow from the names of the tensors.

import { meanOfHeads, rowOfPanel } from "../base/numbers.js";

/** Split a tensor's name: path "decoder.layers.0.self_attention", last "scores"; in a worked example, path is "". */
export const splitName = (name) => {
  const at = name.lastIndexOf(".");
  return { path: at < 0 ? "" : name.slice(0, at), last: name.slice(at + 1) };
};

/** Return the stack of a name: "encoder" or "decoder". */
export const stackOf = (name) => name.split(".")[0];

/** Return the kind of a block, such as "cross_attention"; for a layer, return its number. */
export const kindOf = (block) => block.split(".").at(-1);

/** Return the name of another tensor in the same block. */
export const sibling = (name, last) => (name.includes(".") ? `${splitName(name).path}.${last}` : last);

/** Return the block of a tensor: a sublayer, or a block before or after the layers, such as "encoder.output". */
export const blockOf = (name) => {
  const { path, last } = splitName(name);
  if (path === "encoder") return last === "output" ? "encoder.output" : "encoder";
  if (path === "decoder") return ["output", "logits", "probabilities"].includes(last) ? "decoder.word" : "decoder";
  if (/^(en|de)coder\.norm$/.test(path)) return path === "encoder.norm" ? "encoder.output" : "decoder.word";
  return path.replace(/\.norm$/, "");
};

/** Return all blocks of a run, including its layers, in the order of computation. */
export const blocksOf = (run) => {
  return [...new Set(run.names.map(blockOf).flatMap((block) => [layerOf(block), block]))].filter(Boolean);
};

/** Return the layer of a block: "decoder.layers.0" for "decoder.layers.0.self_attention"; "" if it is in no layer. */
export const layerOf = (block) => /^(?:en|de)coder\.layers\.\d+/.exec(block)?.[0] ?? "";

export const layersOf = (run, stack) =>
  blocksOf(run).filter((block) => block.startsWith(`${stack}.layers`) && block === layerOf(block));

/** Return the sublayers of a layer, in the order of computation, each with its residual connection. */
export const sublayersOf = (run, layer) => {
  const parts = blocksOf(run).filter((block) => layerOf(block) === layer && block !== layer);
  const residuals = parts.filter(isResidual);
  return {
    normFirst: run.config.norm === "first", // the norm comes before its sublayer
    sublayers: parts.filter((part) => !isResidual(part)).map((part, at) => ({ part, residual: residuals[at] })),
  };
};

export const isResidual = (block) => /(^|\.)residual(_\d+)?$/.test(block);
export const isAttention = (block) => block.endsWith("_attention");
export const isDecoderSelf = (path) => path.startsWith("decoder.") && path.endsWith(".self_attention");
export const attentionsOf = (run) => blocksOf(run).filter(isAttention);

/** Return the enclosing block: the layer of a sublayer; "" (the model) for a layer. */
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

/** Return the title of a block, such as "Cross-attention". */
export const titleOf = (block) => {
  if (block === layerOf(block)) return `Layer ${kindOf(block)}`;
  if (isDecoderSelf(block)) return "Masked self-attention";
  return TITLES[block] ?? TITLES[kindOf(block)] ?? "Add & Norm";
};

/** Return a title with stack and layer, such as "decoder, layer 0: cross-attention". */
export const fullTitleOf = (block) => {
  const [stack, layer, title] = [stackOf(block), layerOf(block), titleOf(block).toLowerCase()];
  if (block === "encoder.output" || block === "decoder.word") return title;
  if (layer === block && layer) return `${stack}, ${title}`;
  return layer ? `${stack}, layer ${kindOf(layer)}: ${title}` : `${stack}: ${title}`;
};

/** Return the sublayer whose output an Add & Norm adds (figure 1 of the paper). */
export const sublayerAddedBy = (model, residual) => splitName(model.made_of[`${residual}.sum`][0][1]).path;

/** Return the last layer's cross-attention, which summaries show; "" if there is none. */
export const lastCrossOf = (run) => attentionsOf(run).findLast((part) => part.endsWith(".cross_attention")) ?? "";

/** Return each target position's attention to each source position: the mean over heads of the last cross-attention. */
export const alignmentOf = async (run) => {
  const part = lastCrossOf(run);
  if (!part) return [];
  const shares = meanOfHeads(await run.get(`${part}.weights`));
  return run.target.map((_, row) => rowOfPanel(shares, row));
};
