// What a switch changed, in words and numbers: each sentence is made from the two runs, before and after.

import {
  button,
  columnHead,
  element,
  redraw,
  rowHead,
  say,
  shareBar,
  tableOf,
  ticketOf,
  words,
} from "../base/elements.js";
import { fourDecimals } from "../base/numbers.js";
import { attentionsOf, fullTitleOf, isAttention, isDecoderSelf, lastCrossOf } from "../runs/parts.js";
import { placeOf, setState, state } from "../view/state.js";
import { resetSwitches } from "./panel.js";

export const drawEffect = async (run, before, place) => {
  const isNewest = ticketOf(place);
  place.hidden = !before;
  if (!before) return redraw(place);
  const leak = await leakOf(run, state.switches);
  const [first, ...more] = await effectsOf(run, before, state.switches, leak);
  if (!isNewest()) return;
  const isOpen = place.querySelector("details")?.open;
  const says = element("p", { class: "effect-says" }, first);
  const details = element("details", { open: isOpen }, [
    element("summary", {}, "Details"),
    more.map((sentence) => element("p", {}, sentence)),
    ...changesOf(run, before),
    leak ? leakSeen() : null,
  ]);
  const compare = button(
    "Compare before and after",
    () => setState({ beside: state.beside === "before" ? "" : "before" }),
    { "data-key": "effect-beside", pressed: state.beside === "before" },
  );
  redraw(
    place,
    element("div", { class: "effect-head" }, says, leak ? seeLeak(leak) : null, compare, resetEffect()),
    details,
  );
  say(
    [first, ...more]
      .flat(Infinity)
      .map((part) => part.textContent ?? part)
      .join(" "),
  );
};

// The same small model, trained twice; docs/results/leakage.md has the whole of it.
const LEAKAGE = [
  ["with the mask", "0.0690", 917],
  ["without the mask", "0.0247", 0],
];

/** What a model learns that was trained without the mask: to copy. */
const leakSeen = () =>
  tableOf("leak-seen", {
    caption:
      "The same small model, trained with the mask and without: what looks better in training translates nothing.",
    heading: [element("td"), columnHead("loss in training"), columnHead("of 1,000 new sentences, translated rightly")],
    rows: LEAKAGE.map(([how, loss, right]) => [
      rowHead(how),
      element("td", { class: "number" }, loss),
      element("td", { class: "number" }, String(right), shareBar(right / 1000)),
    ]),
  });

/** Why this page cannot show what its switches ask for. */
export const drawRefusal = (reason, place) => {
  ticketOf(place);
  place.hidden = false;
  say(reason);
  redraw(place, [
    element("div", { class: "effect-head" }, element("p", { class: "effect-says" }, reason), resetEffect()),
  ]);
};

const resetEffect = () => button("Reset", resetSwitches, { "data-key": "effect-reset" });
const MANY_CHANGES = 8; // more than these push what they mean out of sight
const LARGEST_CHANGES = 5;

/** Each expected word's probability before and after; of many, those that changed most. */
const changesOf = (run, before) => {
  const change = (at) => Math.abs(run.steps[at].probability - before.steps[at].probability);
  const all = run.steps.map((_, at) => at);
  const isLong = all.length > MANY_CHANGES;
  const shown = isLong
    ? all
        .toSorted((a, b) => change(b) - change(a))
        .slice(0, LARGEST_CHANGES)
        .sort((a, b) => a - b)
    : all;
  const label = "probability of each expected word, before and after";
  return [
    element("ol", { class: "changes", "aria-label": label }, [
      shown.map((at) => changeOf(run.steps[at], before.steps[at])),
    ]),
    isLong &&
      element("p", { class: "note" }, [
        `The ${LARGEST_CHANGES} largest changes of ${all.length}; the table of steps has them all.`,
      ]),
  ];
};

const changeOf = (step, was) => {
  const change = step.probability - was.probability;
  const mark = Math.abs(change) < 0.00005 ? "=" : change > 0 ? "▲" : "▼";
  return element("li", { class: mark === "=" ? null : "changed" }, [
    words(step.expected),
    " ",
    element("span", { class: "number" }, [
      `${fourDecimals(was.probability)} → ${fourDecimals(step.probability)} ${mark}`,
    ]),
    step.predicted === was.predicted ? null : element("small", { class: "miss" }, "now says ", words(step.predicted)),
  ]);
};

const effectsOf = async (run, before, switches, leak) => {
  const sentences = [];
  if (!switches.causal) sentences.push(leakSentence(run, leak));
  if (!switches.scale) sentences.push(await scaleSentence(run, before, switches));
  if (!switches.residual) sentences.push(residualSentence(switches));
  if (switches.padding !== "none") sentences.push(await paddingSentence(run, switches));
  for (const [part, heads] of Object.entries(switches.silent))
    if (heads.length) sentences.push(silentSentence(part, heads));
  sentences.push(changeSentence(run, before));
  return sentences;
};

/** Find the position that looks most at the word it must predict: {share, part, head, row}; null if none does. */
const leakOf = async (run, switches) => {
  if (switches.causal) return null;
  const parts = attentionsOf(run).filter(isDecoderSelf);
  const part = switches.where ?? (parts.includes(state.block) ? state.block : parts[0]);
  const weights = await run.get(`${part}.weights`);
  const [heads, rows, columns] = weights.shape.slice(-3);
  let most = null;
  for (let head = 0; head < heads; head++) {
    if (switches.head !== null && head !== switches.head) continue;
    for (let row = 0; row + 1 < rows; row++) {
      const share = weights.data[(head * rows + row) * columns + row + 1];
      if (share > (most?.share ?? 0)) most = { share, part, head, row };
    }
  }
  return most && { ...most, alone: switches.head !== null };
};

const leakSentence = (run, leak) =>
  leak
    ? [
        `Without the mask${leak.alone ? " in this head alone" : ""}, position ${leak.row + 1} now looks at `,
        words(run.target[leak.row + 1], { class: "chip" }),
        ` (${leak.share.toFixed(2)}, head ${leak.head} of ${fullTitleOf(leak.part)}), the word that it must predict: `,
        "training would leak.",
      ]
    : "Without the mask nothing changes here: there is no later position to look at.";

const seeLeak = ({ part, head, row }) =>
  button("See this cell", () => setState({ ...placeOf(`${part}.weights`), head, row, column: row + 1 }), {
    class: "primary",
    "data-key": "see-leak",
  });

/** How sharp the weights become when scores are not made smaller. */
const scaleSentence = async (run, before, switches) => {
  const part =
    switches.where ??
    (isAttention(state.block) ? state.block : attentionsOf(run).find((name) => name.startsWith("decoder")));
  const [now, was] = [await run.get(`${part}.weights`), await before.get(`${part}.weights`)];
  const [, rows, columns] = now.shape.slice(-3);
  const most = (tensor, row) => {
    const from = (state.head * rows + row) * columns;
    return Math.max(...tensor.data.subarray(from, from + columns));
  };
  const growth = (row) => most(now, row) - most(was, row);
  const row = Array.from({ length: rows }, (_, at) => at).reduce((best, at) => (growth(at) > growth(best) ? at : best));
  const keys = await run.get(`${part}.keys`);
  const dimension = keys.shape.at(-1);
  return `Without the scale, scores are √${dimension} = ${Math.sqrt(dimension).toFixed(2)} times as large: the largest weight of position ${row + 1}, head ${state.head}, goes from ${most(was, row).toFixed(4)} to ${most(now, row).toFixed(4)} (${fullTitleOf(part)}).`;
};

const residualSentence = (switches) =>
  switches.where
    ? `Without the residual connection of ${fullTitleOf(switches.where)}, only what its part computed goes on.`
    : "Without residual connections, each part’s output replaces the stream: what earlier parts found is lost on the way.";

/** Who gives the pad tokens most of its attention: {share, part, head, row}, over all that look at the source. */
const mostPadded = async (run) => {
  let most = { share: 0, part: lastCrossOf(run), head: 0, row: 0 };
  for (const part of attentionsOf(run)) {
    if (isDecoderSelf(part)) continue;
    const weights = await run.get(`${part}.weights`);
    const [heads, rows, columns] = weights.shape.slice(-3);
    for (let place = 0; place < heads * rows; place++) {
      const end = (place + 1) * columns;
      const share = weights.data[end - 1] + weights.data[end - 2];
      if (share > most.share) most = { share, part, head: Math.floor(place / rows), row: place % rows };
    }
  }
  return most;
};

const paddingSentence = async (run, switches) => {
  const { share, part, head, row } = await mostPadded(run);
  if (switches.padding === "masked")
    return share === 0
      ? "Two pad tokens stand after the source, masked with −∞: every position of every head gives them exactly 0."
      : `Two pad tokens stand after the source, masked, and still get ${share.toExponential(1)}.`;
  return `Two pad tokens stand after the source and nothing masks them: position ${row + 1} in head ${head} of ${fullTitleOf(part)} now gives them ${share.toFixed(4)} of its attention.`;
};

const silentSentence = (part, heads) =>
  `Head${heads.length > 1 ? "s" : ""} ${heads.join(", ")} of ${fullTitleOf(part)} add${heads.length > 1 ? "" : "s"} nothing.`;

/** Which expected word's probability changed most, and how many words the model would say otherwise. */
const changeSentence = (run, before) => {
  let most = 0;
  run.steps.forEach((step, at) => {
    const changeAt = (place) => Math.abs(run.steps[place].probability - before.steps[place].probability);
    if (changeAt(at) > changeAt(most)) most = at;
  });
  const [was, now] = [before.steps[most].probability, run.steps[most].probability];
  const other = run.steps.filter((step, at) => step.predicted !== before.steps[at].predicted).length;
  const change = Math.abs(now - was);
  if (change < 0.00005)
    return change ? `No probability changes by more than ${change.toExponential(0)}.` : "No probability changes.";
  return [
    "Of the expected words’ probabilities that of ",
    words(run.expected[most], { class: "chip" }),
    ` changes most, from ${fourDecimals(was)} to ${fourDecimals(now)}; `,
    other
      ? `at ${other} of ${run.steps.length} positions the model would say something else.`
      : "what the model would say stays the same.",
  ];
};
