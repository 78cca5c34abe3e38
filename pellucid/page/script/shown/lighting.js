// Lighting up: which position of the target the headline and the drawing show, and where in the source it looked.

import { chip, drawn, element, found, redraw, shareBar } from "../base/elements.js";
import { fourDecimals } from "../base/numbers.js";
import { isReached, state } from "../view/state.js";
import { fitTokens } from "./fitting.js";
import { lightStrands } from "./strands.js";

// What is lit: a run and where its positions looked; a drawing, which may still be that of a run before;
// the position of the view, and the one that a pointer is on.
const lit = { run: null, shares: [], drawing: null, shown: 0, position: 0 };

/** Light up the headline of a run: where each position looked, and the position of the view. */
export const lightHeadline = (run, shares, position) => {
  Object.assign(lit, { run, shares, shown: position });
  lightPosition(position);
};

/** The drawing that is to be lit up: {model, run, looks}. */
export const lightDrawing = (drawing) => {
  lit.drawing = drawing;
  lightAgain();
  watchSize.disconnect();
  watchSize.observe(drawing.model);
};

// Whatever depends on measures is drawn again when the layout changes: another window size, or paper; or when a drawing
// is seen that was hidden.
const lightAgain = () => {
  if (lit.drawing?.model.checkVisibility()) fitTokens(lit.drawing.model);
  lightPosition(lit.position);
};
const watchSize = new ResizeObserver(lightAgain);
addEventListener("resize", lightAgain);
matchMedia("print").addEventListener("change", lightAgain);

/** Light a position up while a pointer or the focus is on an element. */
export const glancing = (position) => {
  const glance = () => isReached(position) && lightPosition(position);
  const leave = () => lightPosition(lit.shown);
  return { mouseenter: glance, focus: glance, mouseleave: leave, blur: leave };
};

const lightPosition = (position) => {
  lit.position = position;
  const drawing = lit.drawing?.run === lit.run ? lit.drawing : null; // positions are those of one run
  lightTokens(found("sentence"), position);
  drawArcs(position);
  if (!drawing) return;
  lightTokens(drawing.model, position);
  redraw(drawing.model.querySelector(".next"), nextWords(drawing.run, position));
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

export const MOST_ROWS = 8; // of the memory; of a longer one the rows with the least attention are only counted

/** Show shares of the source: in the headline, on the memory and under the encoder. */
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

const ARC = 40; // pixels, how high

/** Arcs from a word of the headline to the words that it looked at. */
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

/** Beside the decoder: what it has read so far, and the most probable next words. */
const nextWords = (run, position) => {
  const { alternatives, expected } = run.steps[position];
  const read = run.target.slice(0, position + 1).map((token) => [chip(token), " "]);
  return [
    element("h2.stack-title", "Next word"),
    element("p.read", "after ", read),
    element("ol.best", [
      alternatives.map(([token, probability]) =>
        element("li", { class: token === expected && "expected" }, [
          chip(token),
          shareBar(probability),
          element("span.number", fourDecimals(probability)),
        ]),
      ),
    ]),
  ];
};
