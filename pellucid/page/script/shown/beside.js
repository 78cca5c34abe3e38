// Show two explanations side by side: two of the page (checkpoints, models), or one before and after a switch.

import { button, choiceButton, element, words } from "../base/elements.js";
import { page } from "../base/page.js";
import { capitalised } from "../base/text.js";
import { meaningOf } from "../base/tokens.js";
import { cannotSwitch, isSwitched } from "../runs/switches.js";
import { NO_SENTENCE, choiceTo, replaceState, setState, state } from "../view/state.js";
import { ownRun } from "../view/typing.js";
import { runInTime, runSwitched } from "../view/view.js";
import { compare } from "./panel.js";
import { stepsTable } from "./sentence.js";

/** Return the run that is shown beside the current one, or null. */
export const besideOf = async (base, before) => {
  if (state.beside === "before") return before;
  if (state.beside !== "other") return null;
  if (state.second !== null)
    return ownRun(state.second, base.to, null, base.model).catch((error) => {
      replaceState({ ...state, second: null, fault: error.message });
      return null;
    });
  if (page.runs.length < 2 || page.header.movie || state.text !== null) return null;
  const other = page.runs[otherRun()];
  const isShown = isSwitched(state.switches) && !cannotSwitch(other, state.switches);
  return runInTime(isShown ? await runSwitched(other, state.switches) : other);
};

const otherRun = () => (state.run === 0 ? 1 : 0);

/** Make a chooser of the page's explanations and a button for side by side; null if there is only one, and in a movie,
 *  which has a slider. The model of the chosen explanation also translates the reader's sentence. */
export const choiceOfRuns = () => {
  if (page.runs.length < 2 || page.header.movie) return null;
  const isOwn = state.text !== null;
  const isBeside = state.beside === "other" && !isOwn;
  const runs = page.runs.map((run, at) => {
    const label = element("span", { title: runName(at) }, runName(at)); // which may be cut short
    return choiceTo(`run-${at}`, label, state.run === at, { run: at, ...(run.model.maker ? {} : NO_SENTENCE) });
  });
  const sideBySide = () => compare(isBeside ? "" : "other", NO_SENTENCE);
  return [
    element("span.label", isOwn ? "Your sentence, computed by:" : "Two explanations:"),
    runs.map(choiceButton),
    button("Side by side", sideBySide, { "data-key": "beside", pressed: isBeside }),
    isOwn && button("Back to the two", () => setState(NO_SENTENCE), { "data-key": "no-sentence" }),
  ];
};

const runName = (at) => page.runs[at].name || ["the first", "the other"][at] || `number ${at + 1}`;

/** Show an expected word; if the model would say another word, strike it out and add that word. */
const saidInstead = ({ expected, predicted }) => {
  if (predicted !== expected) return [element("del", words(expected)), " ", words(predicted), " "];
  return meaningOf(expected) ? null : [words(expected), " "];
};

/** Show the words and probabilities of both runs, word by word; null if there is only one run. */
export const besideCards = (run, beside) => {
  if (!beside) return null;
  const second = state.beside === "other" ? state.second : null;
  const names = () =>
    second === null ? [state.run, otherRun()].map((at) => capitalised(runName(at))) : [run.text, beside.text];
  const titles = state.beside === "before" ? ["After the switch", "Before it"] : names();
  const exchange = () => setState({ text: second, to: run.to, target: null, second: run.text });
  const card = (shown, at) => {
    const isLeft = state.beside === "other" && isSwitched(state.switches) && !isSwitched(shown.switches);
    const reason = isLeft && cannotSwitch(shown, state.switches);
    return element("section.beside-card", { "aria-label": titles[at], tabindex: 0 }, [
      element("h3", titles[at]),
      reason && element("p.note", `without the switch: ${reason}`),
      element("p.beside-sentence", shown.steps.map(saidInstead)),
      second !== null && at === 1 && button("Look inside this one", exchange, { "data-key": "exchange" }),
      stepsTable(shown, null),
    ]);
  };
  return [
    element("h2", "Side by side"),
    element("div.pair", [run, beside].map(card)),
    state.block && element("p.note", "The open part shows both, where its plates can stand beside each other."),
  ];
};
