// The headline lit up: arcs from the current word to the words that it looked at.

import { drawn, found } from "../base/elements.js";
import { state } from "./state.js";

/** In step mode, positions after the current step do not exist yet. */
export const isReached = (place) => state.mode === "training" || place <= state.position;

/** Light a position up in the headline: arcs to the words that it looked at; words not yet said are grey. */
export const lightHeadline = (position) => {
  const place = found("sentence");
  if (!place.shown) return;
  for (const word of place.querySelectorAll("[data-position]")) {
    const at = Number(word.dataset.position);
    word.classList.toggle("lit", at === position);
    word.classList.toggle("unsaid", !isReached(at));
  }
  const lit = place.querySelector(`.target-word[data-position="${position}"]`);
  const row = place.shown.shares[position] ?? [];
  const sources = [...place.querySelectorAll("[data-source]")];
  for (const word of sources) word.style.setProperty("--share", (row[Number(word.dataset.source)] ?? 0).toFixed(4));
  drawArcs(place.querySelector(".arcs"), lit, sources, row);
};

const ARC = 30; // pixels, how high

const drawArcs = (svg, lit, sources, row) => {
  const origin = svg.getBoundingClientRect();
  const top = (word) => {
    const box = word.getBoundingClientRect();
    return [(box.left + box.right) / 2 - origin.left, box.top - origin.top + 4];
  };
  svg.replaceChildren(
    ...(lit ? sources : []).map((word) => {
      const [[x1, y1], [x2, y2]] = [top(lit), top(word)];
      const peak = Math.min(y1, y2) - ARC * 1.3;
      const d = `M${x1},${y1} C${x1},${peak} ${x2},${peak} ${x2},${y2}`;
      return drawn("path", { d, class: "arc", "--share": (row[Number(word.dataset.source)] ?? 0).toFixed(3) });
    }),
  );
};
