// Draw the lines of the drawing: each token's vector that rises through the blocks, the weights inside an attention,
// and the memory's keys and values that go to every cross-attention.

import { drawn } from "../base/elements.js";
import { isReached } from "../view/state.js";

export const MOST_LINES = 40; // if there are more tokens, only the current position has a line

/** Draw the lines of a drawing, with this target position lit up. `looks`: the weights of each self-attention, which
 *  are the strengths of its lines. */
export const lightStrands = ({ model, looks }, position) => {
  const svg = model.querySelector(".strands");
  const origin = model.getBoundingClientRect();
  const box = (part) => {
    const { left, top, width, height } = part.getBoundingClientRect();
    const [x, y] = [left - origin.left, top - origin.top];
    return { part, left: x, top: y, right: x + width, bottom: y + height, x: x + width / 2, y: y + height / 2 };
  };
  const boxes = (selector) => [...model.querySelectorAll(selector)].map(box);
  const isCompact = model.classList.contains("compact"); // a layer's parts are side by side
  svg.setAttribute("viewBox", `0 0 ${origin.width} ${origin.height}`);
  svg.replaceChildren(
    ...(isCompact ? [] : rising(boxes(".source .token"), boxes(".encoder .block"), looks, null)),
    ...(isCompact ? [] : rising(boxes(".target .token"), boxes(".decoder .block"), looks, position)),
    ...bridges(model, box, position, isCompact),
  );
};

/** Draw each token's line through its stack and, inside an attention, lines from attended tokens to asking tokens. */
const rising = (places, blocks, looks, lit) => {
  if (places.length === 0 || blocks.length === 0) return [];
  const upwards = places[0].top > blocks[0].top;
  const y2 = upwards ? Math.min(...blocks.map((block) => block.top)) : Math.max(...blocks.map((block) => block.bottom));
  const lines = places.map(({ part, x, top, bottom }) => {
    return drawn("line.stream", { class: statesOf(part), x1: x, x2: x, y1: upwards ? top : bottom, y2 });
  });
  const isDrawn = (_, at) => places.length <= MOST_LINES || at === lit;
  const attentions = blocks.filter(({ part }) => looks[part.dataset.block]);
  const within = attentions.flatMap((block) => crossings(places, block, looks[block.part.dataset.block], lit, upwards));
  return [...lines.filter(isDrawn), ...within];
};

/** Give a line the states of its token. */
const statesOf = (token) => ["lit", "unsaid", "cached"].filter((state) => token.classList.contains(state)).join(" ");

const FAINTEST = 0.02; // a smaller weight has no line
const MANY = 8; // with more tokens, only the lit token has such faint lines; others need an equal share (1 / tokens)

/** Inside an attention, draw a line from each attended position to the position that asks. */
const crossings = (places, block, weight, lit, upwards) => {
  const name = block.part.querySelector("span").getBoundingClientRect().height; // the name is on top on a narrow screen
  const [in_, out] = upwards ? [block.bottom - 3, block.top + 3] : [block.top + name + 8, block.bottom - 3];
  const middle = (in_ + out) / 2;
  const line = (row, column) => {
    const [asks, asked, share] = [places[row].x, places[column].x, weight.at(row, column)];
    if (share < (row === lit || places.length <= MANY ? FAINTEST : 1 / places.length)) return [];
    const aside = asked - 11 - share * 10; // a position's weight for itself is a loop
    const [over, under] =
      row === column ? [`${aside},${in_}`, `${aside},${out}`] : [`${asked},${middle}`, `${asks},${middle}`];
    const d = `M${asked},${in_} C${over} ${under} ${asks},${out}`;
    return [drawn("path.looks", { class: row === lit && "lit", d, "--share": share.toFixed(3) })];
  };
  const asking = places.map((_, row) => row).filter((row) => lit === null || isReached(row));
  return asking.flatMap((row) => places.flatMap((_, column) => line(row, column)));
};

/** Draw the line from the encoder to the memory, and keys and values from there to each cross-attention. */
const bridges = (model, box, position, isCompact) => {
  const memory = box(model.querySelector(".memory"));
  const last = [...model.querySelectorAll(isCompact ? ".encoder .block" : ".encoder .add")].at(-1);
  const encoder = { ...box(last), right: box(last.closest(".layer") ?? last).right };
  const asking = model.querySelector(`.target [data-position="${position}"]`);
  const isBeside = memory.left >= encoder.right;
  const into = Math.min(memory.bottom - 20, Math.max(memory.top + 20, encoder.y));
  const d = isBeside
    ? curveBetween(encoder.right, encoder.y, memory.left, into)
    : `M${memory.x},${encoder.bottom} V${memory.top}`;
  const crosses = [...model.querySelectorAll(".block.cross_attention")]
    .map((cross) => box(isCompact ? cross.closest(".layer") : cross))
    .sort((one, other) => one.y - other.y);
  const lit = asking && !isCompact ? box(asking).x : null;
  const away = (at) => memory.top + ((at + 1) / (crosses.length + 1)) * (memory.bottom - memory.top);
  return [
    drawn("path.bridge", { d }),
    ...crosses.flatMap((cross, at) => intoCross(cross, memory, isBeside ? away(at) : null, lit)),
  ];
};

/** Draw keys and values from the memory into a cross-attention up to the lit line, and the query that meets them there.
 *  `from`: the height where they leave a memory beside the decoder, or null if the memory is above. */
const intoCross = (cross, memory, from, lit) => {
  const end = lit ?? cross.left;
  const x = cross.left - 26;
  const strand = (kind, shift) => {
    const into = cross.y + shift;
    const down = `M${memory.left + 10 + shift},${memory.bottom} V${into}`;
    const way = from === null ? down : curveBetween(memory.right, from + shift, cross.left, into);
    return drawn("path.bridge", { class: kind, d: `${way} H${end}` });
  };
  const query = () => [
    drawn("path.bridge.queries", { d: `M${end},${cross.bottom - 2} V${cross.y}` }),
    drawn("circle.arrival", { cx: end, cy: cross.y, r: 6 }),
    letter("Q", "queries", end + 13, cross.bottom - 4),
  ];
  const lettered = (name, kind, shift, y) => [strand(kind, shift), letter(name, kind, x, cross.y + y)];
  const lines = [...lettered("K", "keys", -3.5, -9), ...lettered("V", "values", 3.5, 17)];
  return lit === null ? lines : [...lines, ...query()];
};

const letter = (text, kind, x, y) => drawn("text.strand-letter", { class: kind, x, y }, text);

const curveBetween = (x1, y1, x2, y2) => `M${x1},${y1} C${(x1 + x2) / 2},${y1} ${(x1 + x2) / 2},${y2} ${x2},${y2}`;
