// With a cache and without one: the same step decoded in both ways, next to each other. With a cache a step computes
// one row and looks at the keys and values remembered; without, it computes all rows so far again.

import { columnHead, element, rowHead, tableOf, words } from "../base/elements.js";
import { fourDecimals } from "../base/numbers.js";
import { mostProbable } from "../runs/runs.js";
import { stepsOfDecoding } from "../runs/stepping.js";
import { state } from "../view/state.js";

/** The present step in both ways, as a table: rows computed, what is remembered, and the next words. */
export const waysSideBySide = (run) => {
  if (state.mode !== "step" || !run.computes) return null;
  const t = state.position + 1;
  return [
    element("h2", `Step ${t}, with a cache and without`),
    element("div.wide-table", { tabindex: 0, role: "region", "aria-label": "rows, and the most probable words" }, [
      tableOf("both-ways", {
        heading: [element("td"), columnHead("with a cache"), columnHead("without")],
        rows: [...rowsComputed(run, t), ...wordsOfWays(run, t)],
      }),
    ]),
  ];
};

const rowsComputed = (run, t) => {
  const rows = (count) => `${count} row${count === 1 ? "" : "s"}`;
  const source = `${rows(run.source.length)}, computed ${t === 1 ? "now, once" : "once, at step 1"}`;
  const lines = [
    ["rows computed now", 1, t],
    ["rows computed so far", t, (t * (t + 1)) / 2],
    ["K and V of the target", `${rows(t - 1)} remembered, 1 new`, `${rows(t)} computed now`],
    ["K and V of the source", source, source],
  ];
  return lines.map(([says, cached, again]) => [rowHead(says), element("td", cached), element("td", again)]);
};

/** The best next words with their probabilities, which are the same. */
const wordsOfWays = (run, t) => {
  const [cached, again] = [true, false].map((way) => {
    const probabilities = stepsOfDecoding(run, way)[t - 1].get("decoder.probabilities");
    return mostProbable(probabilities, way ? 0 : t - 1, 3, run.model.vocabulary.tokens.target);
  });
  const cell = ({ token, probability }) => element("td.number", words(token), ` ${fourDecimals(probability)}`);
  return ["the most probable next", "the second", "the third"].map((says, place) => [
    rowHead(says),
    cell(cached[place]),
    cell(again[place]),
  ]);
};
