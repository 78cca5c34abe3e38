// The lines of the drawing: each token's vector rising through the blocks, who looks at whom inside an attention,
// and the memory's keys and values on their way to every cross-attention.

import { drawn, found, ticketOf } from "../base/elements.js";
import { meanOfHeads } from "../base/numbers.js";
import { attentionsOf } from "../runs/parts.js";
import { isReached } from "../view/arcs.js";
import { state } from "../view/state.js";

const MOST_LINES = 40; // tokens, beyond which only the current position has its line
let strandsOf = null; // {model, run, weights}: drawn again when the drawing changes its size

/** Draw all lines; the mean of the heads' weights is as strong as the line. */
export const drawStrands = async (model, run) => {
  const isNewest = ticketOf(found("drawing"));
  const weights = {};
  for (const part of model.classList.contains("compact") ? [] : attentionsOf(run)) {
    if (part.endsWith(".self_attention") && run.source.length <= MOST_LINES && run.target.length <= MOST_LINES) {
      weights[part] = meanOfHeads(await run.get(`${part}.weights`));
    }
  }
  if (!isNewest()) return;
  strandsOf = { model, run, weights };
  lightStrands(state.position);
  watchSize.disconnect();
  watchSize.observe(model);
};

const watchSize = new ResizeObserver(() => lightStrands(state.position));

// Paper has another layout than the screen.
matchMedia("print").addEventListener("change", () => lightStrands(state.position));

/** Draw the lines with this target position lit up. */
export const lightStrands = (position) => {
  if (!strandsOf?.model.isConnected) return;
  const { model } = strandsOf;
  const svg = model.querySelector(".strands");
  const origin = model.getBoundingClientRect();
  const box = (part) => {
    const rectangle = part.getBoundingClientRect();
    const [left, top] = [rectangle.left - origin.left, rectangle.top - origin.top];
    return {
      left,
      top,
      right: left + rectangle.width,
      bottom: top + rectangle.height,
      x: left + rectangle.width / 2,
      y: top + rectangle.height / 2,
    };
  };
  svg.setAttribute("viewBox", `0 0 ${origin.width} ${origin.height}`);
  svg.replaceChildren(
    ...rising(model, box, ".encoder", ".source .token", null),
    ...rising(model, box, ".decoder", ".target .token", position),
    ...bridges(model, box, position),
    ...saying(model, box),
  );
};

/** Each token's line through its stack, and inside an attention a line from each attended token to the asking one. */
const rising = (model, box, stack, tokens, lit) => {
  const root = model.querySelector(stack);
  const places = [...root.querySelectorAll(tokens)].map(box);
  const blocks = [...root.querySelectorAll(".block")].map((part) => ({
    ...box(part),
    block: part.dataset.block,
    part,
  }));
  if (places.length === 0 || blocks.length === 0) return [];
  const upwards = places[0].top > blocks[0].top;
  const [from, to] = upwards
    ? [places[0].top, Math.min(...blocks.map((block) => block.top))]
    : [places[0].bottom, Math.max(...blocks.map((block) => block.bottom))];
  const lines = [];
  if (model.classList.contains("compact")) return lines; // there a layer's parts stand side by side
  places.forEach((place, at) => {
    if (places.length > MOST_LINES && at !== lit) return;
    lines.push(drawn("line", { class: lineClass(at, lit), x1: place.x, x2: place.x, y1: from, y2: to }));
  });
  for (const block of blocks) {
    const weight = strandsOf.weights[block.block];
    if (weight) lines.push(...crossings(places, block, weight, lit, upwards));
  }
  return lines;
};

const lineClass = (at, lit) => {
  if (lit === null) return "stream";
  if (!isReached(at)) return "stream to-come";
  if (at === lit) return "stream lit";
  return state.mode === "step" && state.cached ? "stream cached" : "stream";
};

/** Inside an attention, a line from each attended position to the position that asks. */
const crossings = (places, block, weight, lit, upwards) => {
  const name = block.part.querySelector("span").getBoundingClientRect().height; // on top, where the screen is narrow
  const [in_, out] = upwards ? [block.bottom - 3, block.top + 3] : [block.top + name + 8, block.bottom - 3];
  const lines = [];
  places.forEach((asks, row) => {
    if (lit !== null && !isReached(row)) return;
    places.forEach((asked, column) => {
      const share = weight.at(row, column);
      if (share < 0.02) return;
      const middle = (in_ + out) / 2;
      const aside = asked.x - 11 - share * 10; // what a position gives itself is a loop
      const d =
        row === column
          ? `M${asked.x},${in_} C${aside},${in_} ${aside},${out} ${asks.x},${out}`
          : `M${asked.x},${in_} C${asked.x},${middle} ${asks.x},${middle} ${asks.x},${out}`;
      lines.push(drawn("path", { class: row === lit ? "looks lit" : "looks", d, "--share": share.toFixed(3) }));
    });
  });
  return lines;
};

/** From the encoder to the memory, and from there keys and values to each cross-attention, as far as the lit line. */
const bridges = (model, box, position) => {
  const memory = box(model.querySelector(".memory"));
  const last = [...model.querySelectorAll(".encoder .block")].at(-1);
  const encoder = { ...box(last), right: box(last.closest(".layer") ?? last).right };
  const asking = model.querySelector(`.target [data-position="${position}"]`);
  const beside = memory.left >= encoder.right;
  const into = Math.min(memory.bottom - 20, Math.max(memory.top + 20, encoder.y));
  const d = beside
    ? curveBetween(encoder.right, encoder.y, memory.left, into)
    : `M${memory.x},${encoder.bottom} V${memory.top}`;
  const lines = [drawn("path", { class: "bridge", d })];
  const isCompact = model.classList.contains("compact"); // there a line ends at the row of the layer
  const crosses = [...model.querySelectorAll(".block.cross_attention")]
    .map((cross) => (isCompact ? box(cross.closest(".layer")) : box(cross)))
    .sort((one, other) => one.y - other.y);
  crosses.forEach((cross, at) => {
    const end = asking && !isCompact ? box(asking).x : cross.left;
    for (const [kind, shift] of Object.entries({ keys: -3.5, values: 3.5 })) {
      const d = beside
        ? `${curveBetween(memory.right, memory.top + ((at + 1) / (crosses.length + 1)) * (memory.bottom - memory.top) + shift, cross.left, cross.y + shift)} H${end}`
        : `M${memory.left + 10 + shift},${memory.bottom} V${cross.y + shift} H${end}`;
      lines.push(drawn("path", { class: `bridge ${kind}`, d }));
    }
    const [x, y] = beside ? [cross.left - 26, cross.y] : [memory.left + 10, cross.y - 14];
    lines.push(letter("K", "keys", x, y - 9), letter("V", "values", x, y + 17));
    if (end === cross.left) return;
    lines.push(drawn("path", { class: "bridge queries", d: `M${end},${cross.bottom - 2} V${cross.y}` }));
    lines.push(
      drawn("circle", { class: "arrival", cx: end, cy: cross.y, r: 6 }),
      letter("Q", "queries", end + 13, cross.bottom - 4),
    );
  });
  return lines;
};

const letter = (text, kind, x, y) => drawn("text", { class: `strand-letter ${kind}`, x, y }, text);

/** From the last block to the next word beside it. */
const saying = (model, box) => {
  const [word, next] = [".block.word", ".next .best"].map((part) => box(model.querySelector(part)));
  if (next.left < word.right) return []; // below each other, where the screen is narrow
  const row = model.querySelector(".best .expected") ?? model.querySelector(".best li");
  const y = row ? box(row).y : next.y;
  const end = next.left - 12;
  return [
    drawn("path", { class: "bridge says", d: curveBetween(word.right, word.y, end, y) }),
    drawn("path", { class: "says-end", d: `M${end + 8},${y} l-9,-5 v10 z` }),
  ];
};

const curveBetween = (x1, y1, x2, y2) => `M${x1},${y1} C${(x1 + x2) / 2},${y1} ${(x1 + x2) / 2},${y2} ${x2},${y2}`;
