// Lighting up: which position of the target the drawing shows, and where in the source it looked.

import { element, redraw, shareBar } from "../base/elements.js";
import { fourDecimals } from "../base/numbers.js";
import { visibleText } from "../base/text.js";
import { meaningOf } from "../words/tokens.js";
import { isReached, lightHeadline } from "../view/arcs.js";
import { state } from "../view/state.js";
import { lightStrands } from "./strands.js";

let onShow = null; // {model, run, shares}: what the drawing shows, for glances

export const lightUp = (model, run, shares) => {
  onShow = { model, run, shares };
  lightPosition(state.position);
};

/** Light a position up while a pointer or the focus is on it; null goes back to the current one. */
export const glance = (place) => {
  if (place !== null && !isReached(place)) return;
  lightHeadline(place ?? state.position);
  if (!onShow?.model.isConnected) return;
  lightPosition(place ?? state.position);
  lightStrands(place ?? state.position);
};

const lightPosition = (position) => {
  const { model, run, shares } = onShow;
  for (const token of model.querySelectorAll("[data-position]")) {
    const place = Number(token.dataset.position);
    token.classList.toggle("lit", place === position);
    token.classList.toggle("to-come", !isReached(place));
    token.classList.toggle("cached", state.mode === "step" && state.cached && place < state.position);
    if (token.tagName === "BUTTON") token.setAttribute("aria-pressed", String(place === position));
  }
  drawNext(run, position, model.querySelector(".next"));
  shareOut(shares[position] ?? []);
};

export const MOST_ROWS = 8; // of the memory; of a longer one the rows with the least attention are only counted

/** Show shares of the source, on the memory and under the encoder. */
const shareOut = (row) => {
  const { model } = onShow;
  for (const place of model.querySelectorAll("[data-source]")) {
    const share = row[Number(place.dataset.source)] ?? 0;
    place.style.setProperty("--share", share.toFixed(4));
    const number = place.querySelector(".share");
    if (number) number.textContent = share.toFixed(2);
    place.querySelector(".share-bar")?.style.setProperty("--share", share.toFixed(4));
  }
  const rows = [...model.querySelectorAll(".memory-tokens li")];
  const byShare = rows.map((_, place) => place).sort((one, other) => (row[other] ?? 0) - (row[one] ?? 0));
  const listed = new Set(byShare.slice(0, MOST_ROWS));
  rows.forEach((each, place) => (each.hidden = !listed.has(place)));
  for (const each of rows) each.classList.toggle("most", (row[rows.indexOf(each)] ?? 0) > 0.3);
};

/** The reverse: a source token lights up the words that attended to it. */
export const lookBack = (source) => {
  if (!onShow) return;
  for (const token of document.querySelectorAll(".said, .target-word")) {
    const share = source === null ? 0 : (onShow.shares[Number(token.dataset.position)]?.[source] ?? 0);
    token.style.setProperty("--looked", share.toFixed(4));
  }
};

/** Beside the decoder: what it has read, and the most probable next words. */
const drawNext = (run, position, place) => {
  const step = run.steps[position];
  redraw(place, [
    element("h2", { class: "stack-title" }, "Next word"),
    element("p", { class: "read" }, [
      "after ",
      run.target.slice(0, position + 1).map((token) => [nameOfToken(token), " "]),
    ]),
    element("ol", { class: "best" }, [
      step.alternatives.map(([token, probability]) =>
        element("li", { class: token === step.expected ? "expected" : null }, [
          nameOfToken(token),
          shareBar(probability),
          element("span", { class: "number" }, fourDecimals(probability)),
        ]),
      ),
    ]),
  ]);
};

/** A token as a chip; of a special one its meaning. */
const nameOfToken = (token) => element("bdi", { class: "chip", title: token }, meaningOf(token) ?? visibleText(token));
