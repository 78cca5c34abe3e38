// The headline: a sentence and what it became, each word live. Below the drawing, each step in a table.

import {
  button,
  columnHead,
  drawn,
  element,
  redraw,
  rowHead,
  shareBar,
  tableOf,
  ticketOf,
  words,
} from "../base/elements.js";
import { fourDecimals } from "../base/numbers.js";
import { visibleText } from "../base/text.js";
import { meaningOf } from "../words/tokens.js";
import { alignmentOf } from "../runs/parts.js";
import { lightHeadline } from "../view/arcs.js";
import { setState, state } from "../view/state.js";
import { glance, lookBack } from "./lighting.js";

/** Draw the headline of a run; of a switched one, `before` is the run without switches. */
export const drawHeadline = async (run, before, place) => {
  const isNewest = ticketOf(place);
  const shares = await alignmentOf(run);
  if (!isNewest()) return;
  const to = /^[\w-]+$/.test(run.to ?? "") ? run.to : null;
  const [source, target] = [run.text, run.translation].map(visibleText);
  redraw(place, [
    drawn("svg", { class: "arcs", "aria-hidden": "true" }),
    element("bdi", {}, liveWords(source, run.source, sourceWord)),
    " ",
    element("span", { class: "arrow", role: "img", "aria-label": "becomes" }, "→"),
    " ",
    element("bdi", { class: "said-sentence", lang: to }, liveWords(target, run.expected, targetWordOf(run, before))),
  ]);
  place.style.setProperty("--letters", Math.max(20, [...source, ...target].length + 3));
  place.shown = { run, shares };
  document.title = `${source} → ${target} · Pellucid`;
  lightHeadline(state.position);
};

/** A sentence as nodes: each token that is found in it, in order, is live; the rest stays text. */
const liveWords = (text, tokens, live) => {
  const nodes = [];
  let at = 0;
  tokens.forEach((token, place) => {
    const word = visibleText(token).replace(/^▁/, "");
    const start = word && !meaningOf(token) ? text.indexOf(word, at) : -1;
    if (start < 0) return;
    nodes.push(text.slice(at, start), live(word, place));
    at = start + word.length;
  });
  return [...nodes, text.slice(at)];
};

const sourceWord = (word, place) =>
  element(
    "span",
    { class: "source-word", "data-source": place, mouseenter: () => lookBack(place), mouseleave: () => lookBack(null) },
    word,
  );

/** A word of the translation, with its probability; struck where the model would say another one now. */
const targetWordOf = (run, before) => (word, place) => {
  const { probability, predicted, expected } = run.steps[place];
  const isOther = before !== null && predicted !== expected;
  const other = isOther ? `, now it would say ${meaningOf(predicted) ?? visibleText(predicted)}` : "";
  return button(word, () => setState({ position: place }), {
    class: isOther ? "target-word missed" : "target-word",
    "data-position": place,
    "data-key": `word-${place}`,
    "data-probability": isOther ? `now ${meaningOf(predicted) ?? visibleText(predicted)}` : probability.toFixed(2),
    "aria-label": `${word}, position ${place + 1}, probability ${fourDecimals(probability)}${other}`,
    mouseenter: () => glance(place),
    mouseleave: () => glance(null),
    focus: () => glance(place),
    blur: () => glance(null),
  });
};

addEventListener("resize", () => lightHeadline(state.position));

/** The table of steps: input, expected, predicted, probability, loss and the most probable words. */
export const drawSteps = (run, before, place) => {
  const total = run.steps.reduce((sum, step) => sum + step.loss, 0);
  const names = ["step", "input", "expected", "probability", "loss", "most probable"];
  if (before) names.splice(4, 0, "before the switch");
  const table = tableOf("steps", {
    caption: `The losses add up to ${fourDecimals(total)}.`,
    heading: names.map((name) => columnHead(name)),
    rows: run.steps.map((step, at) => stepRow(step, at, before)),
  });
  place.querySelector("table")?.replaceWith(table);
};

const stepRow = (step, at, before) => {
  const cell = (label, ...children) => element("td", { "data-label": label }, children);
  const number = (label, ...children) => element("td", { "data-label": label, class: "number" }, children);
  const better = element("small", { class: "miss" }, "more probable: ", words(step.predicted));
  const share = (probability) => element("span", { class: "share" }, fourDecimals(probability));
  return element("tr", { class: at === state.position ? "lit" : null }, [
    rowHead(at + 1),
    cell("input", words(step.input)),
    element("td", { "data-label": "expected", class: "expected" }, [
      words(step.expected),
      step.predicted === step.expected ? null : better,
    ]),
    number("probability", fourDecimals(step.probability), shareBar(step.probability)),
    before ? number("before the switch", fourDecimals(before.steps[at].probability)) : null,
    number("loss", fourDecimals(step.loss)),
    cell(
      "most probable",
      element("div", {}, [
        step.alternatives.map(([token, probability]) => [
          element("span", { class: "choice" }, words(token), " ", share(probability)),
          " ",
        ]),
      ]),
    ),
  ]);
};

/** Where each step looked: the alignment of words, as a table. */
export const drawAlignment = async (run, place) => {
  const isNewest = ticketOf(place);
  const shares = await alignmentOf(run);
  if (!isNewest()) return;
  const table = tableOf("alignment", {
    heading: [
      element("td", { class: "corner" }, "asks ↓", element("br"), "attended to →"),
      run.source.map((token) => columnHead(words(token))),
    ],
    rows: shares.map((row, at) => [
      rowHead(words(run.target[at]), " ", element("small", {}, "→ ", words(run.expected[at]))),
      row.map((share) => element("td", { "--share": share.toFixed(4) }, fourDecimals(share))),
    ]),
  });
  place.querySelector("table")?.replaceWith(table);
};
