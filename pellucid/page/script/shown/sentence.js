// Make the headline (a sentence and its translation, with a button for each word), a remark on a translation that the
// reader gave, and the table of steps below the drawing.

import { button, chip, drawn, element, found, rowHead, shareBar, tableOf, words } from "../base/elements.js";
import { fourDecimals } from "../base/numbers.js";
import { visibleText } from "../base/text.js";
import { tokenName } from "../base/tokens.js";
import { placesOf } from "../words/places.js";
import { setState, state } from "../view/state.js";
import { ownTranslation, partingOf } from "../view/typing.js";
import { glancing } from "./lighting.js";
import { askWhatCarries } from "./why.js";

/** Make the headline of a whole run, with the probabilities of the shown run's steps. `before`: the run without
 *  switches, or null. shares: the source's in each word, or null. */
export const headlineOf = (run, { steps }, before, shares) => {
  const to = /^[\w-]+$/.test(run.to ?? "") ? run.to : null;
  const [source, target] = [run.text, run.translation].map(visibleText);
  found("sentence").style.setProperty("--letters", Math.max(20, [...source, ...target].length + 3));
  document.title = `${source} → ${target} · Pellucid`;
  return [
    drawn("svg.arcs", { "aria-hidden": "true" }),
    element("bdi", liveWords(source, run.source, sourceWordOf(run))),
    " ",
    element("span.arrow", { role: "img", "aria-label": "becomes" }, "→"),
    " ",
    element("bdi.said-sentence", { lang: to }, liveWords(target, run.expected, targetWordOf(steps, before, shares))),
  ];
};

/** Return a sentence as nodes: each token that is found in it becomes an element; the rest stays text. */
const liveWords = (text, tokens, live) => {
  let at = 0;
  const nodes = placesOf(text, tokens).map((found, place) => {
    if (!found) return null;
    const between = text.slice(at, found.start);
    at = found.end;
    return [between, live(text.slice(found.start, found.end), place)];
  });
  return [...nodes, text.slice(at)];
};

/** Make a word of the source, which leads to its causal map. */
const sourceWordOf = (run) => (word, place) =>
  button(word, () => askWhatCarries(run, place), {
    class: "source-word",
    "data-source": place,
    "data-key": `source-${place}`,
    "aria-label": `${word}: what carries it`,
    title: "what carries this word?",
  });

/** Make a word of the translation, with its probability; it is crossed out if the model would now say another word. */
const targetWordOf = (steps, before, shares) => (word, place) => {
  const { probability = NaN, predicted, expected } = steps[place] ?? {}; // a later step may have no numbers yet
  const isOther = before !== null && predicted !== expected;
  const now = isOther && tokenName(predicted);
  const said = steps[place] ? `, probability ${fourDecimals(probability)}` : "";
  const from = shares ? `, ${shares[place].toFixed(2)} of it from the source` : "";
  const label = `${word}, position ${place + 1}${said}${from}`;
  return button(word, () => setState({ position: place }), {
    class: isOther ? "target-word missed" : "target-word",
    "data-position": place,
    "data-key": `word-${place}`,
    "--source": shares?.[place].toFixed(4),
    "data-probability": isOther ? `now ${now}` : probability.toFixed(2),
    "aria-label": isOther ? `${label}, now it would say ${now}` : label,
    ...glancing(place),
  });
};

/** Say how a sentence was read if its upper and lower case were corrected, and where a given translation first differs
 *  from the model's own; null if there is nothing to say. */
export const givenInWords = async (run, typed) => {
  const read = typed !== null && typed !== run.text && ["Read as ", chip(run.text), ". "];
  const differs = run.forced && (await differenceOf(run));
  return read || differs ? [read, differs] : null;
};

const differenceOf = async (run) => {
  const given = "This translation was given, not found by the model";
  const said = await ownTranslation(run);
  if (!said) return `${given}.`;
  const place = partingOf(run, said);
  if (place < 0) return [`${given}, and the model says the same: `, words(said.translation), "."];
  const loss = ({ steps }) => fourDecimals(steps.reduce((sum, step) => sum + step.loss, 0));
  const has = ({ expected, probability }) => [words(expected), ` has ${fourDecimals(probability)}`];
  return [
    `${given}. The model says `,
    words(said.translation),
    `, with a loss of ${loss(said)}; this one has ${loss(run)}. They part at position ${place + 1}: `,
    has(said.steps[place]), // both have the same earlier words
    ", ",
    has(run.steps[place]),
    ".",
  ];
};

/** Make the table of steps: input, expected and predicted word, probability, loss and the most probable words. */
export const stepsTable = (run, before) => {
  const total = run.steps.reduce((sum, step) => sum + step.loss, 0);
  const was = before ? ["before the switch"] : [];
  return tableOf("steps", {
    caption: `The losses add up to ${fourDecimals(total)}.`,
    heading: ["step", "input", "expected", "probability", ...was, "loss", "most probable"],
    rows: run.steps.map((_, at) => stepRow(run, at, before)),
  });
};

const stepRow = (run, at, before) => {
  const { input, expected, predicted, probability, loss, alternatives } = run.steps[at];
  const cell = (label, ...children) => element("td", { "data-label": label }, children);
  const number = (label, ...children) => element("td.number", { "data-label": label }, children);
  const choice = ([token, share]) => [
    element("span.choice", words(token), " ", element("span.share", fourDecimals(share))),
    " ",
  ];
  return element("tr", { class: at === state.position && "lit" }, [
    rowHead(at + 1),
    cell("input", words(input)),
    element("td.expected", { "data-label": "expected" }, [
      words(expected),
      predicted !== expected && element("small.miss", "more probable: ", words(predicted)),
    ]),
    number("probability", fourDecimals(probability), shareBar(probability)),
    before && number("before the switch", fourDecimals(before.steps[at].probability)),
    number("loss", fourDecimals(loss)),
    cell("most probable", element("div", alternatives.map(choice))),
  ]);
};
