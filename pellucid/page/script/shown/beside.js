// Two explanations side by side: the page's other one (a checkpoint, another model), or before and after a switch.

import {
  button,
  choiceButton,
  columnHead,
  element,
  redraw,
  rowHead,
  shareBar,
  tableOf,
  words,
} from "../base/elements.js";
import { fourDecimals } from "../base/numbers.js";
import { page } from "../base/page.js";
import { capitalised } from "../base/text.js";
import { isSwitched } from "../runs/switches.js";
import { NO_SENTENCE, setState, state } from "../view/state.js";
import { cannotShow, runInTime, runSwitched } from "../view/view.js";
import { runCalled } from "./both_ways.js";

/** The run that stands beside the present one; null where none was asked for. */
export const besideOf = async (before) => {
  if (state.beside === "before") return before && runCalled(before, "before the switch");
  if (state.beside !== "other" || page.runs.length < 2 || state.text !== null) return null;
  const other = page.runs[otherRun()];
  const isShown = isSwitched(state.switches) && !cannotShow(other, state.switches);
  return runInTime(isShown ? await runSwitched(other, state.switches) : other);
};

const otherRun = () => (state.run === 0 ? 1 : 0);

/** The chooser of the page's explanations, and whether they stand side by side. A sentence of the reader's own is
 *  computed by the model of the chosen one. */
export const drawChoiceOfRuns = (place) => {
  place.hidden = page.runs.length < 2;
  if (place.hidden) return;
  const isOwn = state.text !== null;
  const choices = page.runs.map((run, at) => ({
    label: element("span", { title: runName(run, at) }, runName(run, at)), // which may be cut short
    key: `run-${at}`,
    chosen: state.run === at,
    choose: () => setState({ run: at, ...(run.computes ? {} : NO_SENTENCE) }),
  }));
  choices.push({
    label: "Side by side",
    key: "beside",
    chosen: state.beside === "other" && !isOwn,
    choose: () => setState({ beside: state.beside === "other" && !isOwn ? "" : "other", ...NO_SENTENCE }),
  });
  const back = () => setState(NO_SENTENCE);
  redraw(place, [
    element("span", { class: "label" }, isOwn ? "Your sentence, computed by:" : "Two explanations:"),
    choices.map(choiceButton),
    isOwn && button("Back to the two", back, { "data-key": "no-sentence" }),
  ]);
};

const runName = (run, at) => run.name || ["the first", "the other"][at] || `number ${at + 1}`;

/** Both runs' words and probabilities, word by word. */
export const drawBeside = (run, beside, place) => {
  place.hidden = !beside;
  if (!beside) return redraw(place);
  const titles =
    state.beside === "before"
      ? ["After the switch", "Before it"]
      : [state.run, otherRun()].map((at) => capitalised(runName(page.runs[at], at)));
  redraw(place, [
    element("h2", {}, "Side by side"),
    element("div", { class: "pair" }, [[run, beside].map((each, at) => besideCard(each, titles[at]))]),
    state.block
      ? element("p", { class: "note" }, "The open part shows both, where its plates can stand beside each other.")
      : null,
  ]);
};

/** Why a run stands without the switches that were asked for; "" if it has them. */
const notSwitched = (run) => {
  if (!isSwitched(state.switches) || isSwitched(run.switches)) return "";
  return cannotShow(run, state.switches);
};

const besideCard = (run, title) => {
  const reason = state.beside === "other" ? notSwitched(run) : "";
  const table = tableOf(null, {
    heading: ["expected", "probability", "loss", "most probable"].map((name) => columnHead(name)),
    rows: run.steps.map((step) => [
      rowHead(words(step.expected)),
      element("td", { class: "number" }, fourDecimals(step.probability), shareBar(step.probability)),
      element("td", { class: "number" }, fourDecimals(step.loss)),
      element("td", {}, words(step.predicted)),
    ]),
  });
  return element("section", { class: "beside-card", "aria-label": title }, [
    element("h3", {}, title),
    reason && element("p", { class: "note" }, `without the switch: ${reason}`),
    element("p", { class: "beside-sentence" }, words(run.translation)),
    table,
  ]);
};
