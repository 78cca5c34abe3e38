// Draw the whole model, from left to right: the encoder, the memory with a line to every cross-attention, the decoder,
// the next word. The vector of a token is a line that rises through the blocks of its stack.

import { button, drawn, element, shareBar, words } from "../base/elements.js";
import { fourDecimals, meanOfHeads, panelOf } from "../base/numbers.js";
import { roam } from "../base/roam.js";
import { visibleText } from "../base/text.js";
import { meaningOf, tokenName } from "../base/tokens.js";
import { attentionsOf, fullTitleOf, kindOf, layersOf, sublayersOf, titleOf } from "../runs/parts.js";
import { stripPicture } from "../matrices/painting.js";
import { scaleOf } from "../matrices/scales.js";
import { NO_MATRIX, setState, state } from "../view/state.js";
import { playing } from "../view/time.js";
import { MOST_ROWS, glancing, lightDrawing } from "./lighting.js";
import { MOST_LINES } from "./strands.js";

const COMPACT = 3; // if a stack has more layers than this, each layer is one row

/** Draw the model of a run. Call the element's `appear()` when it is in the page. */
export const modelOf = async (run) => {
  const memory = await run.get("encoder.output");
  const isCompact = ["encoder", "decoder"].some((stack) => layersOf(run, stack).length > COMPACT);
  const model = element("div.model", { class: isCompact && "compact" }, [
    drawn("svg.strands", { "aria-hidden": "true" }),
    element("div.stack.encoder", { role: "group", "aria-label": "encoder" }, [
      element("h2.stack-title", "Encoder ", element("small", "reads all words at once")),
      tokenRow("source", "source tokens", run.source.map(sourceToken)),
      blocks(run, "encoder"),
    ]),
    memoryBand(run, memory),
    element("div.stack.decoder", { role: "group", "aria-label": "decoder" }, [
      element("h2.stack-title", "Decoder ", element("small", "writes word by word")),
      tokenRow("target", "what the decoder reads: the target, shifted right", run.target.map(targetToken)),
      blocks(run, "decoder"),
      tokenRow("expected", "the next words", run.steps.map(saidToken)),
    ]),
    element("div.next", { "aria-live": "off" }),
  ]);
  const looks = isCompact ? {} : await weightsToDraw(run);
  model.appear = () => {
    roam(model);
    lightDrawing({ model, run, looks });
  };
  return model;
};

/** Return the weights of each self-attention (the mean of its heads); none if the sentence is too long to draw. */
const weightsToDraw = async (run) => {
  const looks = {};
  if (Math.max(run.source.length, run.target.length) > MOST_LINES) return looks;
  for (const part of attentionsOf(run))
    if (part.endsWith(".self_attention")) looks[part] = meanOfHeads(await run.get(`${part}.weights`));
  return looks;
};

/** Make the blocks of a stack, in the order of computation; on wide screens, CSS puts the first at the bottom. */
const blocks = (run, stack) => [
  blockButton(stack, "embedding"),
  layersOf(run, stack).map((layer) =>
    element("div.layer", { "data-layer": layer, role: "group", "aria-label": fullTitleOf(layer) }, [
      openingButton(layer, "layer-name", titleOf(layer)),
      sublayersOf(run, layer).sublayers.map(({ part, residual }) =>
        element("div.sub", { class: kindOf(part) }, [
          blockButton(part, kindOf(part)),
          openingButton(residual, "add", titleOf(residual)),
        ]),
      ),
    ]),
  ),
  stack === "decoder" && blockButton("decoder.word", "word"),
];

/** Open a block of the model in place. At the first step, where a block has only one row, show all positions. */
export const goToBlock = (block) => {
  const isFirst = block && state.mode === "step" && state.position === 0 && !playing;
  return setState({ block, ...NO_MATRIX, ...(isFirst ? { mode: "training" } : {}) }, { left: null });
};

/** Make a button that opens a block or a layer of the model. */
export const openingButton = (block, kind, children, { key = block, ...properties } = {}) =>
  button(children, () => goToBlock(block), {
    class: kind,
    "data-block": block,
    "data-key": key,
    "aria-label": fullTitleOf(block),
    ...properties,
  });

const blockButton = (block, kind) => openingButton(block, `block ${kind}`, element("span", titleOf(block)));

/** Make a row of tokens, each above or below the line of its vector. */
const tokenRow = (side, says, tokens) =>
  element("div.token-row", { class: side, role: "group", "aria-label": says }, tokens);

const sourceToken = (text, place) => element("span.token", { "data-source": place }, tokenText(text));

const targetToken = (text, place) =>
  element("span.token", { class: place === 0 && "start", "data-position": place, ...glancing(place) }, tokenText(text));

/** Show a token, which CSS may shorten. */
const tokenText = (text) => words(text, { title: visibleText(text), class: meaningOf(text) && "special" });

/** Make a button with the word that a position predicts and its probability; it chooses this position. */
const saidToken = ({ input, expected, predicted, probability }, place) => {
  const content = [tokenText(expected), element("span.probability", probability.toFixed(2)), shareBar(probability)];
  return button(content, () => setState({ position: place }), {
    class: predicted === expected ? "token said" : "token said missed",
    "data-position": place,
    "data-key": `said-${place}`,
    "aria-label": `position ${place + 1}: after ${tokenName(input)}, ${tokenName(expected)}, probability ${fourDecimals(probability)}`,
    ...glancing(place),
  });
};

/** Draw the memory: each source token's vector as a coloured strip, and the current position's attention to it. */
const memoryBand = (run, memory) => {
  const { columns, at } = panelOf(memory);
  const { most } = scaleOf("numbers", memory);
  const strip = (text, row) => {
    const vector = { rows: 1, columns, at: (_, column) => at(row, column) };
    return stripPicture(vector, most, `the vector of ${tokenName(text)}: ${columns} numbers`);
  };
  return element("div.memory", { "data-whole": "", title: "a vector for each source token, made once" }, [
    blockButton("encoder.output", "memory-name"),
    element("ol.memory-tokens", [
      run.source.map((text, place) =>
        element("li", { "data-source": place }, [words(text), element("span.share"), strip(text, place)]),
      ),
    ]),
    run.source.length > MOST_ROWS &&
      element("p.memory-more", `… ${run.source.length - MOST_ROWS} more, looked at less`),
  ]);
};
