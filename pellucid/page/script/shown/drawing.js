// The whole model as one drawing, from left to right: the encoder, the memory as a band with a strand to every
// cross-attention, the decoder, the next word. A token's vector rises as a line through the blocks of its stack.

import { button, drawn, element, found, redraw, shareBar, ticketOf, words } from "../base/elements.js";
import { fourDecimals } from "../base/numbers.js";
import { roam } from "../base/roam.js";
import { visibleText } from "../base/text.js";
import { meaningOf } from "../words/tokens.js";
import { alignmentOf, fullTitleOf, kindOf, layersOf, sublayersOf, titleOf } from "../runs/parts.js";
import { scaleOf } from "../matrices/scales.js";
import { stripCanvas } from "../matrices/strip_picture.js";
import { goToBlock } from "../view/levels.js";
import { setState } from "../view/state.js";
import { MOST_ROWS, glance, lightUp, lookBack } from "./lighting.js";
import { drawStrands } from "./strands.js";

const COMPACT = 3; // more layers than this stand as one row each

/** Draw the model of a run into a place, with the current position lit up. */
export const drawModel = async (run, place) => {
  const isNewest = ticketOf(place);
  const [shares, memory] = [await alignmentOf(run), await run.get("encoder.output")];
  if (!isNewest()) return;
  const compact = Math.max(layersOf(run, "encoder").length, layersOf(run, "decoder").length) > COMPACT;
  const model = element("div", { class: compact ? "model compact" : "model" });
  model.append(
    element("div", { class: "stack encoder", role: "group", "aria-label": "encoder" }, [
      stackTitle("Encoder", "reads all words at once"),
      tokenRow(run, "source", sourceToken),
      blockRows(run, "encoder"),
    ]),
    memoryBand(run, memory),
    element("div", { class: "stack decoder", role: "group", "aria-label": "decoder" }, [
      stackTitle("Decoder", "writes word by word"),
      tokenRow(run, "target", targetToken),
      blockRows(run, "decoder"),
      tokenRow(run, "expected", saidToken),
    ]),
    element("div", { class: "next", "aria-live": "off" }),
  );
  model.prepend(drawn("svg", { class: "strands", "aria-hidden": "true" }));
  redraw(place, model);
  fitDrawing();
  for (const canvas of model.querySelectorAll("canvas")) canvas.paint();
  fitTokens(model);
  roam(model);
  lightUp(model, run, shares);
  await drawStrands(model, run);
};

const SMALLEST_DRAWING = 400; // pixels

/** The drawing is as high as the window has room for it. */
const fitDrawing = () => {
  const place = found("drawing");
  const above = place.getBoundingClientRect().top + scrollY;
  const room = innerHeight - above - found("dock").offsetHeight - 10;
  place.style.setProperty("--height", `${Math.max(SMALLEST_DRAWING, Math.floor(room))}px`);
};

new ResizeObserver(fitDrawing).observe(document.querySelector(".masthead"));

addEventListener("resize", fitDrawing);

const stackTitle = (title, says) => element("h2", { class: "stack-title" }, title, " ", element("small", {}, says));

/** The blocks of a stack in the order of computation; on a wide screen the style stacks them upwards. */
const blockRows = (run, stack) => {
  const rows = [blockButton(stack, "embedding")];
  for (const layer of layersOf(run, stack)) rows.push(layerBox(run, layer));
  if (stack === "decoder") rows.push(blockButton("decoder.word", "word"));
  return rows;
};

const layerBox = (run, layer) => {
  const { sublayers } = sublayersOf(run, layer);
  return element("div", { class: "layer", "data-layer": layer, role: "group", "aria-label": fullTitleOf(layer) }, [
    openingButton(layer, "layer-name", titleOf(layer)),
    sublayers.map(({ part, residual }) =>
      element("div", { class: `sub ${kindOf(part)}` }, [
        blockButton(part, kindOf(part)),
        openingButton(residual, "add", titleOf(residual)),
      ]),
    ),
  ]);
};

/** A button that opens a block, or a layer, of the model. */
export const openingButton = (block, kind, children, { key = block, ...properties } = {}) =>
  button(children, () => goToBlock(block), {
    class: kind,
    "data-block": block,
    "data-key": key,
    "aria-label": fullTitleOf(block),
    ...properties,
  });

const blockButton = (block, kind) => openingButton(block, `block ${kind}`, element("span", {}, titleOf(block)));

/** A row of tokens, each over or under the line of its vector. */
const tokenRow = (run, side, token) => {
  const tokens = run[side];
  return element(
    "div",
    {
      class: `token-row ${side}`,
      role: "group",
      "aria-label": TOKEN_ROWS[side],
      "--count": tokens.length,
      "data-many": tokens.length > 24,
    },
    tokens.map((text, place) => token(run, text, place)),
  );
};

const SMALLEST = 0.66; // of a token's size, to which a row is made smaller for its longest token
const MOST_UPRIGHT = 8; // tokens: a longer row of long tokens is written upwards

/** Make a row of tokens fit where a token is wider than its place: smaller, upright where there are many, or cut. */
const fitTokens = (model) => {
  for (const row of model.querySelectorAll(".token-row")) {
    const room = row.clientWidth / row.children.length - 8; // less the edge of a button
    const widths = [...row.querySelectorAll("bdi:not(.raw, .special)")].map((text) => text.scrollWidth);
    const fit = Math.min(1, room / Math.max(1, ...widths));
    row.classList.toggle("turned", fit < SMALLEST && row.children.length > MOST_UPRIGHT);
    if (fit < 1) row.style.setProperty("--fit", Math.max(SMALLEST, fit).toFixed(3));
  }
};

const TOKEN_ROWS = {
  source: "source tokens",
  target: "what the decoder reads: the target, shifted right",
  expected: "the next words",
};

const sourceToken = (run, text, place) =>
  element(
    "span",
    { class: "token", "data-source": place, mouseenter: () => lookBack(place), mouseleave: () => lookBack(null) },
    tokenText(text),
  );

const targetToken = (run, text, place) =>
  element(
    "span",
    {
      class: place ? "token" : "token start",
      "data-position": place,
      mouseenter: () => glance(place),
      mouseleave: () => glance(null),
    },
    tokenText(text),
  );

/** A token. A special token such as </s> shows its meaning, with the token itself small beneath. */
const tokenText = (text) => {
  const meaning = meaningOf(text);
  return meaning
    ? [element("bdi", { class: "special", title: text }, meaning), words(text, { class: "raw" })]
    : words(text, { title: visibleText(text) });
};

/** The word that a position says, with its probability: a button that makes it the current position. */
const saidToken = (run, text, place) => {
  const step = run.steps[place];
  const label = `position ${place + 1}: after ${run.target[place]}, ${text}, probability ${fourDecimals(step.probability)}`;
  return element(
    "button",
    {
      class: step.predicted === step.expected ? "token said" : "token said missed",
      "data-position": place,
      "data-key": `said-${place}`,
      "aria-label": label,
      click: () => setState({ position: place }),
      mouseenter: () => glance(place),
      mouseleave: () => glance(null),
      focus: () => glance(place),
      blur: () => glance(null),
    },
    tokenText(text),
    element("span", { class: "probability" }, step.probability.toFixed(2)),
    shareBar(step.probability),
  );
};

/** The memory: a vector for each source token as a strip of heat, and how much the current position takes of each. */
const memoryBand = (run, memory) => {
  const width = memory.shape.at(-1);
  const { most } = scaleOf("numbers", memory);
  const vector = (place) => memory.data.subarray(place * width, (place + 1) * width);
  return element("div", { class: "memory", title: "a vector for each source token, made once" }, [
    blockButton("encoder.output", "memory-name"),
    element("ol", { class: "memory-tokens" }, [
      run.source.map((text, place) =>
        element("li", { "data-source": place }, [
          element("bdi", { title: text }, meaningOf(text) ?? visibleText(text)),
          element("span", { class: "share" }),
          stripCanvas(vector(place), 1, width, most, `the vector of ${text}: ${width} numbers`),
        ]),
      ),
    ]),
    run.source.length > MOST_ROWS
      ? element("p", { class: "memory-more" }, `… ${run.source.length - MOST_ROWS} more, looked at less`)
      : null,
  ]);
};
