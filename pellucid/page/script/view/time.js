// Time: show all positions at once, as in training, or one step after another, as in translation.

import { button, element, say, words } from "../base/elements.js";
import { setState, state } from "./state.js";
import { current } from "./view.js";

export let playing = null; // the timer while steps are played
const PLAY_EVERY = 1300; // milliseconds for each step

/** Make the controls of time for a run. */
export const timeControls = (run) => {
  const isStep = state.mode === "step";
  const goTo = (position) => () => setState({ mode: "step", position });
  const by = isStep ? state.position : -1;
  const key = (name, kind = name) => ({ class: kind, "data-key": name });
  return [
    button(playing ? "❚❚" : "▶", playOrPause, {
      ...key("play"),
      "aria-label": playing ? "pause" : "play, step by step",
      title: "space",
    }),
    element("div.steps-of-time", { role: "group", "aria-label": "steps" }, [
      element("span.label", "Step"),
      // Narrow screens show buttons for one step back and forward; wide screens show a button for each step.
      button("‹", goTo(by - 1), { ...key("step-back", "step-by"), "aria-label": "the step before", disabled: by < 1 }),
      run.target.map((_, at) =>
        button(at + 1, goTo(at), { ...key(`step-${at}`, "step"), pressed: at === by, "aria-label": `step ${at + 1}` }),
      ),
      button("›", goTo(by + 1), {
        ...key("step-on", "step-by"),
        "aria-label": "the next step",
        disabled: by + 1 >= run.target.length,
      }),
    ]),
    button(["All at once", element("span.wide", " (training)")], () => setState({ mode: "training" }), {
      ...key("training", "mode"),
      pressed: !isStep,
    }),
  ];
};

/** Describe the current step in a sentence. */
export const momentInWords = (run) => {
  if (state.mode === "training") return element("p", trainingOfMoment(state.switches));
  const sentence = element("p", stepOfMoment(run));
  say(sentence.textContent);
  return sentence;
};

const trainingOfMoment = ({ causal, where }) => {
  const place = where ? "there" : "everywhere";
  const masked = causal
    ? "the whole triangle. The right words go in, shifted by one; the mask keeps each position from the words after it."
    : `the right words go in, shifted by one, and without the mask ${place} each position sees those after it too.`;
  return `As in training, all positions at once: ${masked}`;
};

const stepOfMoment = (run) => {
  const { position, cached } = state;
  const t = position + 1;
  const read = [words(run.target[position]), " in, ", words(run.steps[position].predicted), " out."];
  const source =
    t === 1 ? " K and V of the source are computed now, once." : " K and V of the source: computed once, at step 1.";
  if (!cached) return [`Step ${t}, without a cache: all ${t} rows again; `, read, source];
  const rows = `K and V of ${position} earlier row${position > 1 ? "s" : ""} are remembered.`;
  return [`Step ${t}, one new row: `, read, ` Of the target, ${t === 1 ? "nothing is remembered yet." : rows}`, source];
};

export const playOrPause = () => {
  if (playing) {
    clearInterval(playing);
    playing = null;
    return setState({});
  }
  playing = setInterval(playOn, PLAY_EVERY);
  return setState({ mode: "step", position: state.mode === "training" || isAtEnd() ? 0 : state.position });
};

const isAtEnd = () => state.position >= current.whole.target.length - 1;

/** Go to the next step. Playing ends at the last step, if the tour opens, or if all positions are shown. */
const playOn = () =>
  state.mode !== "step" || state.open || isAtEnd() ? playOrPause() : setState({ position: state.position + 1 });
