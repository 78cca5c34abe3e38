// Time: all positions at once, as in training, or one step after another, as when it translates.

import { animate, button, element, found, redraw, say, ticketOf, words } from "../base/elements.js";
import { inExponents } from "../base/numbers.js";
import { roam } from "../base/roam.js";
import { wholeOf } from "../runs/runs.js";
import { comparedInTime } from "../runs/stepping.js";
import { drawAgain, setState, state } from "./state.js";
import { current } from "./view.js";

export let playing = null; // {timer, whole, open, position}: the view that it goes on from
const PLAY_EVERY = 1300; // milliseconds

/** The controls of time for a run. */
export const drawTime = (run, place) => {
  const isStep = state.mode === "step";
  const steps = run.target.map((_, at) =>
    timeButton(`step-${at}`, "step", at + 1, () => setState({ mode: "step", position: at }), {
      pressed: isStep && at === state.position,
      "aria-label": `step ${at + 1}`,
    }),
  );
  redraw(place, [
    timeButton("play", "play", playing ? "❚❚" : "▶", playOrPause, {
      "aria-label": playing ? "pause" : "play, step by step",
      title: "space",
    }),
    element("div", { class: "steps-of-time", role: "group", "aria-label": "steps" }, [
      element("span", { class: "label" }, "Step"),
      stepBy(run, -1, "‹", "the step before"),
      steps,
      stepBy(run, 1, "›", "the next step"),
    ]),
    timeButton(
      "training",
      "mode",
      ["All at once", element("span", { class: "wide" }, " (training)")],
      () => setState({ mode: "training" }),
      { pressed: !isStep },
    ),
    isStep ? cacheButton() : null,
  ]);
  roam(place);
};

const timeButton = (key, kind, sign, click, properties) =>
  button(sign, click, { class: kind, "data-key": key, ...properties });

/** One step back or forward, for narrow screens; wide ones show a button for each step. */
const stepBy = (run, by, sign, says) => {
  const to = state.mode === "step" ? state.position + by : by > 0 ? 0 : -1;
  return timeButton(`step-by-${by}`, "step-by", sign, () => setState({ mode: "step", position: to }), {
    "aria-label": says,
    disabled: to < 0 || to >= run.target.length,
  });
};

/** The button that turns the cache on and off. */
const cacheButton = () =>
  timeButton("cached", "cached", "Cache", () => setState({ cached: !state.cached }), { pressed: state.cached });

/** What this moment is, in a sentence. */
export const drawMoment = async (run, place) => {
  const isNewest = ticketOf(place);
  const sentence = momentOf(run);
  redraw(place, element("p", {}, sentence));
  if (state.mode !== "step") return;
  say(place.textContent);
  const equality = await equalityOf(wholeOf(run), state.cached);
  if (isNewest() && equality)
    redraw(place, element("p", {}, sentence, " ", element("span", { class: "equality" }, equality)));
};

const momentOf = (run) => {
  const { position } = state;
  if (state.mode === "training") {
    const { causal, where } = state.switches;
    const masked = causal
      ? "the whole triangle. The right words go in, shifted by one; the mask keeps each position from the words after it."
      : `the right words go in, shifted by one, and without the mask ${where ? "there" : "everywhere"} each position sees those after it too.`;
    return `As in training, all positions at once: ${masked}`;
  }
  const read = [words(run.target[position]), " in, ", words(run.steps[position].predicted), " out."];
  const source =
    position === 0
      ? "K and V of the source are computed now, once."
      : "K and V of the source: computed once, at step 1.";
  if (!state.cached)
    return [`Step ${position + 1}, without a cache: all ${position + 1} rows again; `, ...read, " ", source];
  const kept =
    position === 0
      ? "nothing is remembered yet"
      : `K and V of ${position} earlier row${position > 1 ? "s" : ""} are remembered`;
  return [`Step ${position + 1}, one new row: `, ...read, ` Of the target, ${kept}. `, source];
};

/** That step by step gives what all positions at once give, with the largest difference of any number. */
const equalityOf = async (run, cached) => {
  if (!run.computes) return "";
  const { difference, where } = await comparedInTime(run, cached);
  if (difference > 1e-3)
    return `Step by step differs from all at once, by up to ${difference.toFixed(2)} (${where}): a step cannot see later words.`;
  return `Step by step equals all at once: largest difference ${inExponents(difference)}.`;
};

// Playing

export const playOrPause = () => {
  if (playing) {
    pause();
    return drawAgain();
  }
  const { whole } = current;
  const isAtEnd = state.position >= whole.target.length - 1;
  const position = state.mode === "training" || isAtEnd ? 0 : state.position;
  playing = { timer: setInterval(playOn, PLAY_EVERY), whole, open: state.open, position };
  return setState({ mode: "step", position });
};

const playOn = () => {
  if (playing.position >= playing.whole.target.length - 1) return playOrPause();
  const said = found("drawing").querySelector(`.said[data-position="${state.position}"] bdi`)?.getBoundingClientRect();
  playing.position += 1;
  return setState({ position: playing.position }).then(() => feedBack(said));
};

const pause = () => {
  clearInterval(playing?.timer);
  playing = null;
};

/** Playing ends where something else changes what is played: another sentence, switch or step, the tour. */
export const stopIfLeft = () => {
  if (!playing) return;
  const { whole, open, position } = playing;
  const isPlayed = current.whole === whole && state.mode === "step" && state.position === position;
  if (!isPlayed || state.open !== open) pause();
};

/** Move the predicted word to where the decoder reads it: its output is its next input. */
const feedBack = (from) => {
  const place = found("drawing").querySelector(`.target [data-position="${state.position}"]`);
  const to = place?.querySelector("bdi").getBoundingClientRect(); // not of the place itself, by which lines are drawn
  if (!from?.width || !to?.width) return;
  const start = `translate(${from.x - to.x}px, ${from.y - to.y}px)`;
  animate(place.querySelector("bdi"), { transform: [start, "none"], opacity: [0.3, 1] }, 290);
};
