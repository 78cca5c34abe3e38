// Compare the same decoding step with a cache and without one. With a cache, a step computes one row and reads the
// stored keys and values; without one, it computes all rows so far again.

import { element, rowHead, tableOf, words } from "../base/elements.js";
import { fourDecimals, inExponents } from "../base/numbers.js";
import { mostProbable } from "../runs/runs.js";
import { comparedInTime, stepsOfDecoding } from "../runs/stepping.js";
import { state } from "../view/state.js";

/** Make a table of the current step in both ways: computed rows, stored keys and values, and the next words. */
export const waysSideBySide = async (run) => {
  if (state.mode !== "step" || !run.computes) return null;
  const [t, isCached] = [state.position + 1, state.cached];
  const rows = (count) => `${count} row${count === 1 ? "" : "s"}`;
  const source = `${rows(run.source.length)}, computed ${t === 1 ? "now, once" : "once, at step 1"}`;
  const counts = [
    ["rows computed now", 1, t],
    ["rows computed so far", t, (t * (t + 1)) / 2],
    ["K and V of the target", `${rows(t - 1)} remembered, 1 new`, `${rows(t)} computed now`],
    ["K and V of the source", source, source],
  ];
  const [cached, again] = [true, false].map((way) => {
    const probabilities = stepsOfDecoding(run, way)[t - 1].get("decoder.probabilities");
    return mostProbable(probabilities, way ? 0 : t - 1, 3, run.model.vocabulary.tokens.target);
  });
  const best = ([token, probability]) => [words(token), ` ${fourDecimals(probability)}`];
  const next = ["the most probable next", "the second", "the third"];
  const nextWords = next.map((says, place) => [says, best(cached[place]), best(again[place])]);
  const table = tableOf("both-ways", {
    heading: [null, "with a cache", "without"],
    rows: [...counts, ...nextWords].map(([says, ...ways]) => [rowHead(says), ways.map((way) => element("td", way))]),
  });
  const region = { tabindex: 0, role: "region", "aria-label": "rows, and the most probable words" };
  return [
    element("h2", `Step ${t}, with a cache and without`),
    element("p.equality", await equalityOf(run, isCached)),
    element("div.wide-table", region, table),
  ];
};

/** Say whether decoding step by step gives the same numbers as one pass, with the largest difference. */
const equalityOf = async (run, cached) => {
  const { difference, where } = await comparedInTime(run, cached);
  if (difference > 1e-3)
    return `Step by step differs from all at once, by up to ${difference.toFixed(2)} (${where}): a step cannot see later words.`;
  return `Step by step equals all at once: largest difference ${inExponents(difference)}.`;
};
