// Light up one position of the target in the headline and the drawing, and show where in the source it attends to.

import { button, chip, drawn, element, found, redraw, shareBar } from "../base/elements.js";
import { fourDecimals } from "../base/numbers.js";
import { isReached, state } from "../view/state.js";
import { fitTokens } from "./fitting.js";
import { candidate } from "./instead.js";
import { lightStrands } from "./strands.js";
import { askWhy } from "./why.js";

// What is lit: a run; its `shares` (the attention of each position to the source); a drawing, which may belong to an
// earlier run; the position of the view (`shown`); and the position under the pointer.
const lit = { run: null, shares: [], drawing: null, shown: 0, position: 0 };

/** Light up the headline of a run, at the position of the view. */
export const lightHeadline = (run, shares, position) => {
  Object.assign(lit, { run, shares, shown: position });
  lightPosition(position);
};

/** Set the drawing to light up, {model, run, looks}, and light it up. */
export const lightDrawing = (drawing) => {
  lit.drawing = drawing;
  lightAgain();
  watchSize.disconnect();
  watchSize.observe(drawing.model);
};

// Sizes are measured again when the layout changes: with the size of the window, in print, or if a hidden drawing
// becomes visible.
const lightAgain = () => {
  if (lit.drawing?.model.checkVisibility()) fitTokens(lit.drawing.model);
  lightPosition(lit.position);
};
const watchSize = new ResizeObserver(lightAgain);
addEventListener("resize", lightAgain);
matchMedia("print").addEventListener("change", lightAgain);

/** Return event handlers that light a position up while the pointer or the focus is on an element. */
export const glancing = (position) => {
  const glance = () => isReached(position) && lightPosition(position);
  const leave = () => lightPosition(lit.shown);
  return { mouseenter: glance, focus: glance, mouseleave: leave, blur: leave };
};

const lightPosition = (position) => {
  lit.position = position;
  const drawing = lit.drawing?.run === lit.run ? lit.drawing : null; // a drawing of another run has other positions
  lightTokens(found("sentence"), position);
  drawArcs(position);
  if (!drawing) return;
  lightTokens(drawing.model, position);
  const next = drawing.model.querySelector(".next");
  // A button that is made anew while it is pressed, because a word above lost the focus, would not be clicked.
  if (next.dataset.at !== String(position)) redraw(next, nextWords(drawing.run, position));
  next.dataset.at = position;
  lightStrands(drawing, position);
};

const lightTokens = (place, position) => {
  for (const token of place.querySelectorAll("[data-position]")) {
    const at = Number(token.dataset.position);
    token.classList.toggle("lit", at === position);
    token.classList.toggle("unsaid", !isReached(at));
    token.classList.toggle("cached", state.mode === "step" && state.cached && at < state.position);
    if (token.matches(".said")) token.setAttribute("aria-pressed", String(at === position));
  }
  shareOut(place, lit.shares[position] ?? []);
};

export const MOST_ROWS = 8; // the number of memory rows that are shown; rows with less attention are only counted

/** Show each source token's share of the attention: in the headline, on the memory and under the encoder. */
const shareOut = (place, row) => {
  const shareOf = (token) => row[Number(token.dataset.source)] ?? 0;
  for (const token of place.querySelectorAll("[data-source]")) {
    token.style.setProperty("--share", shareOf(token).toFixed(4));
    token.querySelector(".share")?.replaceChildren(shareOf(token).toFixed(2));
  }
  const rows = [...place.querySelectorAll(".memory-tokens li")];
  const byShare = rows.toSorted((one, other) => shareOf(other) - shareOf(one));
  byShare.forEach((each, rank) => {
    each.hidden = rank >= MOST_ROWS;
    each.classList.toggle("most", shareOf(each) > 0.3);
  });
};

const ARC = 40; // the height of an arc in pixels

/** Draw arcs from a target word of the headline to the source words that it attends to. */
const drawArcs = (position) => {
  const place = found("sentence");
  const svg = place.querySelector(".arcs");
  const word = place.querySelector(`.target-word[data-position="${position}"]`);
  if (!svg) return;
  const origin = svg.getBoundingClientRect();
  const top = (each) => {
    const box = each.getBoundingClientRect();
    return [(box.left + box.right) / 2 - origin.left, box.top - origin.top + 4];
  };
  const arcTo = (source) => {
    const [[x1, y1], [x2, y2]] = [top(word), top(source)];
    const peak = Math.min(y1, y2) - ARC;
    const d = `M${x1},${y1} C${x1},${peak} ${x2},${peak} ${x2},${y2}`;
    return drawn("path.arc", { d, "--share": source.style.getPropertyValue("--share") });
  };
  svg.replaceChildren(...(word ? [...place.querySelectorAll("[data-source]")].map(arcTo) : []));
};

/** Show, beside the decoder, the tokens that it has read and the most probable next words. */
const nextWords = (run, position) => {
  const { alternatives, expected } = run.steps[position];
  const read = run.target.slice(0, position + 1).map((token) => [chip(token), " "]);
  return [
    element("h2.stack-title", "Next word"),
    button("Why this word?", askWhy, { class: "why-button", "data-key": "why" }),
    element("p.read", "after ", read),
    element("ol.best", [
      alternatives.map(([token, probability], rank) => {
        const shown = [chip(token), shareBar(probability), element("span.number", fourDecimals(probability))];
        return element("li", { class: token === expected && "expected" }, candidate(run, position, rank, shown));
      }),
    ]),
  ];
};
