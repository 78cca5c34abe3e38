// Say in words and numbers what a switch changed. Each sentence is computed from the runs before and after.

import { button, chip, element, fill, found, say, words } from "../base/elements.js";
import { bestPlaces, fourDecimals, inExponents, largestCell, panelsOf } from "../base/numbers.js";
import { attentionsOf, fullTitleOf, isAttention, isDecoderSelf } from "../runs/parts.js";
import { isMeant } from "../runs/switches.js";
import { placeOf, setState, state } from "../view/state.js";
import { compareButton, resetSwitches } from "./panel.js";

/** Describe what the switches changed; null if no switch is set. */
export const effectOf = async (run, before, reason) => {
  const reset = button("Reset", resetSwitches, { "data-key": "effect-reset" });
  if (reason) {
    say(reason);
    return element("div.effect-head", element("p.effect-says", reason), reset);
  }
  if (!before) return null;
  const { causal, scale, residual, padding, silent, where } = state.switches;
  const leak = causal ? null : await leakOf(run, state.switches);
  const sentences = [
    !causal && leakSentence(run, leak),
    !scale && (await scaleSentence(run, before, where)),
    !residual && residualSentence(where),
    padding !== "none" && (await paddingSentence(run, padding)),
    ...Object.entries(silent).map(([part, heads]) => heads.length > 0 && silentSentence(part, heads)),
    changeSentence(run, before),
  ];
  const [first, ...more] = sentences.filter(Boolean).map((told) => element("p", told));
  first.className = "effect-says";
  first.append(" ", ...hereSentence(run, before));
  say([first, ...more].map((part) => part.textContent).join(" "));
  const leaking = !causal && found("leak-seen").content.cloneNode(true);
  const anew = element("p.effect-anew", { hidden: true });
  fill(anew, anewSentence(run)); // it comes later: it is a search
  return [
    element("div.effect-head", first, !causal && seeLeak(leak), compareButton(), reset),
    anew,
    element("details", element("summary", "Details"), more, leaking),
  ];
};

/** Find the position that attends most to the word it must predict: {part, head, row, column, value, here (the same for
 *  the open head)}; null if no position does. */
const leakOf = async (run, { where, head: only }) => {
  const parts = attentionsOf(run).filter(isDecoderSelf);
  const part = where ?? (parts.includes(state.block) ? state.block : parts[0]);
  const panels = panelsOf(await run.get(`${part}.weights`));
  const mostOf = (heads) => largestCell(heads, (row, column) => column === row + 1);
  const most = mostOf(only === null ? panels : [panels[only]]);
  const here = part === state.block && mostOf([panels[state.head]]);
  return most?.value > 0 ? { ...most, head: only ?? most.head, part, here } : null;
};

const leakSentence = (run, leak) => {
  if (!leak) return "Without the mask nothing changes here: no later word exists yet.";
  const { part, head, row, value, here } = leak;
  const other = head === state.head ? "" : `; the most in head ${state.head}, here, is ${here?.value?.toFixed(2)}`;
  return [
    `Without the mask${state.switches.head === null ? "" : " in this head alone"}, position ${row + 1}, `,
    chip(run.target[row]),
    ", now looks at ",
    chip(run.target[row + 1]),
    ` (${value.toFixed(2)}, head ${head}${here ? other : ` of ${fullTitleOf(part)}`}), the word that it must predict: training would leak.`,
  ];
};

/** Make a button to the cell that leaks most; if none leaks, to all positions at once, as in training. */
const seeLeak = (leak) => {
  const { part, head, row, column } = leak ?? {};
  const [label, changes] = leak
    ? [`See it in head ${head}`, { ...placeOf(`${part}.weights`), head, row, column }]
    : ["See all at once", { mode: "training" }];
  return button(label, () => setState(changes), { class: "primary", "data-key": "see-leak" });
};

/** Describe how much sharper the weights are if the scores are not divided: name the weight that changes most. */
const scaleSentence = async (run, before, where) => {
  const isChosen = (each) => (where ? isMeant(run.switches, each) : isDecoderSelf(each));
  const part = !where && isAttention(state.block) ? state.block : attentionsOf(run).find(isChosen);
  const [was, now] = await Promise.all([before, run].map(async (each) => panelsOf(await each.get(`${part}.weights`))));
  const change = (head) => (row, column) => now[head].at(row, column) - was[head].at(row, column);
  const changes = was.map((panel, head) => ({ ...panel, at: change(head) })); // without new columns (padding)
  const { head, row, column } = largestCell(changes);
  const dimensions = run.config.width / run.config.heads;
  return [
    `Without the scale, scores are √${dimensions} = ${Math.sqrt(dimensions).toFixed(2)} times as large: what position ` +
      `${row + 1} gives `,
    chip(run.labels(`${part}.weights`, "M")[column]),
    ` in head ${head} goes from ${fourDecimals(was[head].at(row, column))} to ${fourDecimals(now[head].at(row, column))} ` +
      `(${fullTitleOf(part)}).`,
  ];
};

const residualSentence = (where) =>
  where
    ? `Without the residual connection of ${fullTitleOf(where)}, only what its part computed goes on.`
    : "Without residual connections, each part’s output replaces the stream: what earlier parts found is lost on the way.";

/** Describe the position that gives most of its attention to the two pad tokens of the source. */
const paddingSentence = async (run, padding) => {
  const lastTwo = ({ rows, columns, at }) => ({
    rows,
    columns: 1,
    at: (row) => at(row, columns - 1) + at(row, columns - 2),
  });
  let most = { value: -1 };
  for (const part of attentionsOf(run).filter((each) => !isDecoderSelf(each))) {
    const found = largestCell(panelsOf(await run.get(`${part}.weights`)).map(lastTwo));
    if (found.value > most.value) most = { ...found, part };
  }
  if (padding === "masked")
    return `Two pad tokens stand after the source, masked with −∞: the most that any position gives them is ${inExponents(most.value)}.`;
  return (
    `Two pad tokens stand after the source and nothing masks them: position ${most.row + 1} in head ${most.head} of ` +
    `${fullTitleOf(most.part)} now gives them ${fourDecimals(most.value)} of its attention.`
  );
};

/** Say what the model makes of the sentence if it searches with these switches. Without the mask nothing differs, because
 *  a search has no later words; padding is not searched with. */
const anewSentence = async (run) => {
  const { scale, residual, silent } = run.switches;
  if (scale && residual && !Object.values(silent).flat().length) return null;
  const text = await run.model.maker.anew(run).catch(() => null); // numbers may have become NaN
  if (text === null) return null;
  return ["Translated again so: ", words(text, { class: "anew" }), text === run.translation && " (the same)"];
};

const silentSentence = (part, heads) =>
  `Head${heads.length > 1 ? "s" : ""} ${heads.join(", ")} of ${fullTitleOf(part)} add${heads.length > 1 ? "" : "s"} nothing.`;

/** Describe the probability of the expected word, before and after. */
const hereSentence = (run, before) => {
  const at = Math.min(state.position, run.expected.length - 1);
  const [was, now] = [before, run].map(({ steps }) => fourDecimals(steps[at].probability));
  return ["The probability of ", chip(run.expected[at]), ` goes from ${was} to ${now}.`];
};

/** Describe the largest change of an expected word's probability, and how many words the model would change. */
const changeSentence = (run, before) => {
  const changes = run.steps.map((step, at) => Math.abs(step.probability - before.steps[at].probability));
  const [most] = bestPlaces(changes, 1);
  if (changes[most] < 0.00005) return `No probability changes by more than ${inExponents(changes[most])}.`;
  const [was, now] = [before, run].map(({ steps }) => fourDecimals(steps[most].probability));
  const other = run.steps.filter((step, at) => step.predicted !== before.steps[at].predicted).length;
  return [
    "Of the expected words’ probabilities that of ",
    chip(run.expected[most]),
    ` changes most, from ${was} to ${now}; `,
    other
      ? `at ${other} of ${run.steps.length} positions the model would say something else.`
      : "what the model would say stays the same.",
  ];
};
