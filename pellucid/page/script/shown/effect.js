// What a switch changed, in words and numbers: each sentence is made from the two runs, before and after.

import { button, chip, element, found, say } from "../base/elements.js";
import { bestPlaces, fourDecimals, inExponents, largestCell, panelsOf } from "../base/numbers.js";
import { attentionsOf, fullTitleOf, isDecoderSelf } from "../runs/parts.js";
import { placeOf, setState, state } from "../view/state.js";
import { compareButton, resetSwitches } from "./panel.js";

/** What the switches changed; null where none is switched. */
export const effectOf = async (run, before, reason) => {
  if (reason) say(reason);
  if (reason) return element("div.effect-head", element("p.effect-says", reason), resetEffect());
  if (!before) return null;
  const { switches } = state;
  const leak = switches.causal ? null : await leakOf(run, switches);
  const [first, ...more] = (await effectsOf(run, before, switches, leak)).map((told) => element("p", told));
  first.className = "effect-says";
  first.append(" ", ...hereSentence(run, before));
  say([first, ...more].map((part) => part.textContent).join(" "));
  const details = element(
    "details",
    element("summary", "Details"),
    more,
    !switches.causal && found("leak-seen").content.cloneNode(true),
  );
  return [
    element("div.effect-head", [first, !switches.causal && seeLeak(leak), compareButton(), resetEffect()]),
    details,
  ];
};

const resetEffect = () => button("Reset", resetSwitches, { "data-key": "effect-reset" });

const effectsOf = async (run, before, switches, leak) => {
  const silent = Object.entries(switches.silent).filter(([, heads]) => heads.length);
  return [
    ...(switches.causal ? [] : [leakSentence(run, leak)]),
    ...(switches.scale ? [] : [await scaleSentence(run, before, switches)]),
    ...(switches.residual ? [] : [residualSentence(switches)]),
    ...(switches.padding === "none" ? [] : [await paddingSentence(run, switches)]),
    ...silent.map(([part, heads]) => silentSentence(part, heads)),
    changeSentence(run, before),
  ];
};

/** Find the position that looks most at the word it must predict: {part, head, row, column, value}, and `here` the most
 *  in the head that is open; null if none does. */
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
  const other = head === state.head ? "" : `; in head ${state.head}, which is open, at most ${here?.value?.toFixed(2)}`;
  return [
    `Without the mask${state.switches.head === null ? "" : " in this head alone"}, position ${row + 1}, `,
    chip(run.target[row]),
    ", now looks at ",
    chip(run.target[row + 1]),
    ` (${value.toFixed(2)}, head ${head}${here ? other : ` of ${fullTitleOf(part)}`}), the word that it must predict: training would leak.`,
  ];
};

/** A click to the cell that leaks most; where none does, to all positions at once, as in training. */
const seeLeak = (leak) => {
  if (!leak) return state.mode === "step" && primary("see-training", "See all at once", { mode: "training" });
  const { part, head, row, column } = leak;
  return primary("see-leak", `See it in head ${head}`, { ...placeOf(`${part}.weights`), head, row, column });
};

const primary = (key, label, changes) => button(label, () => setState(changes), { class: "primary", "data-key": key });

/** How sharp the weights become when scores are not made smaller: the one that changes most. */
const scaleSentence = async (run, before, { where }) => {
  const part = where ?? attentionsOf(run).find((each) => each === state.block) ?? attentionsOf(run).find(isDecoderSelf);
  const [was, now] = await Promise.all([before, run].map(async (each) => panelsOf(await each.get(`${part}.weights`))));
  const changes = now.map((panel, head) => ({
    ...panel,
    at: (row, column) => panel.at(row, column) - was[head].at(row, column),
  }));
  const { head, row, column } = largestCell(changes, (_, column) => column < was[0].columns); // padding was none before
  const { columns: dimensions } = panelsOf(await run.get(`${part}.keys`))[0];
  return [
    `Without the scale, scores are √${dimensions} = ${Math.sqrt(dimensions).toFixed(2)} times as large: what position ` +
      `${row + 1} gives `,
    chip(run.labels(`${part}.weights`, "M")[column]),
    ` in head ${head} goes from ${fourDecimals(was[head].at(row, column))} to ${fourDecimals(now[head].at(row, column))} ` +
      `(${fullTitleOf(part)}).`,
  ];
};

const residualSentence = ({ where }) =>
  where
    ? `Without the residual connection of ${fullTitleOf(where)}, only what its part computed goes on.`
    : "Without residual connections, each part’s output replaces the stream: what earlier parts found is lost on the way.";

/** Who gives the two pad tokens most of its attention, over all that look at the source. */
const paddingSentence = async (run, { padding }) => {
  const given = ({ rows, columns, at }) => ({
    rows,
    columns: 1,
    at: (row) => at(row, columns - 1) + at(row, columns - 2),
  });
  const parts = attentionsOf(run).filter((each) => !isDecoderSelf(each));
  const found = parts.map(async (part) => ({
    ...largestCell(panelsOf(await run.get(`${part}.weights`)).map(given)),
    part,
  }));
  const { value, part, head, row } = (await Promise.all(found)).reduce((most, each) =>
    each.value > most.value ? each : most,
  );
  if (padding === "masked")
    return `Two pad tokens stand after the source, masked with −∞: the most that any position gives them is ${inExponents(value)}.`;
  return (
    `Two pad tokens stand after the source and nothing masks them: position ${row + 1} in head ${head} of ` +
    `${fullTitleOf(part)} now gives them ${fourDecimals(value)} of its attention.`
  );
};

const silentSentence = (part, heads) =>
  `Head${heads.length > 1 ? "s" : ""} ${heads.join(", ")} of ${fullTitleOf(part)} add${heads.length > 1 ? "" : "s"} nothing.`;

/** What became of the probability of the word that is expected here. */
const hereSentence = (run, before) => {
  const at = Math.min(state.position, run.expected.length - 1);
  const [was, now] = [before, run].map(({ steps }) => fourDecimals(steps[at].probability));
  return [chip(run.expected[at]), ` ${was} → ${now}.`];
};

/** Which expected word's probability changed most, and how many words the model would say otherwise. */
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
