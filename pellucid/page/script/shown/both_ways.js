// With a cache and without one: the same step decoded in both ways, next to each other. With a cache a step computes
// one row and looks at the keys and values remembered; without, it computes all rows so far again.

import { button, columnHead, element, redraw, rowHead, tableOf, ticketOf, words } from "../base/elements.js";
import { fourDecimals, inExponents } from "../base/numbers.js";
import { madeOnce } from "../base/text.js";
import { wholeOf } from "../runs/runs.js";
import { differenceOfWays, waysOfStep } from "../runs/stepping.js";
import { setState, state } from "../view/state.js";

const runsCalled = new WeakMap();

/** A run under another name; made once, so that it is known again. */
export const runCalled = (run, name) => {
  const known = madeOnce(runsCalled, run, () => new Map());
  return madeOnce(known, name, () => ({ ...run, name }));
};

/** The runs that the plates show where both ways are asked for; else null. */
export const waysInView = (run) => {
  if (state.beside !== "ways" || state.mode !== "step" || !run.computes) return null;
  const { cached, again } = waysOfStep(wholeOf(run), state.position + 1);
  return { run: runCalled(cached, "with a cache"), beside: runCalled(again, "without a cache") };
};

/** The present step in both ways, as a table: rows computed, what is remembered, and the numbers. */
export const drawBothWays = async (run, place) => {
  const isNewest = ticketOf(place);
  place.hidden = state.mode !== "step" || !run.computes;
  if (place.hidden) return redraw(place);
  const [t, isAsked] = [state.position + 1, state.beside === "ways"];
  const ways = waysOfStep(run, t);
  const { difference, where } = await differenceOfWays(run, t);
  if (!isNewest()) return;
  const show = () => setState({ beside: isAsked ? "" : "ways" });
  redraw(place, [
    element("h2", {}, `Step ${t}, with a cache and without`),
    element(
      "div",
      { class: "wide-table", tabindex: 0, role: "region", "aria-label": "rows, and the most probable words" },
      [
        tableOf("both-ways", {
          heading: [element("td"), columnHead("with a cache"), columnHead("without")],
          rows: [...rowsComputed(run, t), ...wordsOfWays(ways, t)],
        }),
      ],
    ),
    element("p", { class: "equality" }, [
      `Largest difference of any number in the new row: ${inExponents(difference)}${where ? ` (${where})` : ""}.`,
      !run.switches.causal && difference > 1e-3 ? WAYS_WITHOUT_MASK : "",
    ]),
    button("Both ways in every matrix", show, { "data-key": "both-ways", pressed: isAsked }),
  ]);
};

const WAYS_WITHOUT_MASK =
  " Without the mask a cache is no longer right: rows that are made again look at the tokens after them, remembered " +
  "rows could not.";

const rowsComputed = (run, t) => {
  const rows = (count) => `${count} row${count === 1 ? "" : "s"}`;
  const line = (says, cached, again) => [rowHead(says), element("td", {}, cached), element("td", {}, again)];
  const source =
    t === 1 ? `${rows(run.source.length)}, computed now, once` : `${rows(run.source.length)}, computed once, at step 1`;
  return [
    line("rows computed now", "1", String(t)),
    line("rows computed so far", String(t), String((t * (t + 1)) / 2)),
    line("K and V of the target", `${rows(t - 1)} remembered, 1 new`, `${rows(t)} computed now`),
    line("K and V of the source", source, source),
  ];
};

/** The best next words with their probabilities, which are the same. */
const wordsOfWays = ({ cached, again }, t) => {
  const [one, other] = [cached, again].map(({ steps }) => steps[t - 1].alternatives);
  const cell = ([token, probability]) =>
    element("td", { class: "number" }, words(token), ` ${fourDecimals(probability)}`);
  return one
    .slice(0, 3)
    .map((each, place) => [rowHead(place ? "" : "the most probable next"), cell(each), cell(other[place])]);
};
