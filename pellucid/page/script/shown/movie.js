// The movie of learning: a slider over the models that a training kept, and curves of what they say of the page's own
// sentence, on one time axis. The page's runs are its frames, the last model first; the numbers come from Python.

import { drawn, element, found, redraw } from "../base/elements.js";
import { page } from "../base/page.js";
import { state, walkTo } from "../view/state.js";

const CURVES = {
  loss: ["loss of the training", 0],
  probability: ["probability of the last words", 0, 1],
  source: ["share from the source", 0, 1],
  order: ["order: as the source 1, reversed −1", -1, 1],
};

/** Start the slider, if the page is a movie. */
export const startMovie = () => {
  found("movie").hidden = !page.header.movie;
  found("frame").max = page.runs.length - 1;
  found("frame").addEventListener("input", ({ target }) => walkTo({ run: target.max - target.value }));
};

/** Show the frame of the state on the slider and in the curves, which are not those of a reader's sentence. */
export const showFrame = () => {
  const frames = page.header.movie?.toReversed();
  if (!frames) return;
  const now = frames.length - 1 - state.run;
  const after = `after ${frames[now].step} updates`;
  Object.assign(found("frame"), { value: now, ariaValueText: after });
  found("frame-says").textContent = after;
  found("curves").hidden = found("learned").hidden = state.text !== null;
  const curve = ([key, about]) => curveOf(key, about, frames, now);
  redraw(found("curves"), Object.entries(CURVES).map(curve));
  redraw(found("learned"), stagesLearned(frames, now));
};

/** Say which stages the figures show (Python names them), and with which frame each begins. */
const stagesLearned = (frames, now) =>
  frames.flatMap(({ stage, step }, at) => {
    if (!stage || frames.findIndex((frame) => frame.stage === stage) !== at) return [];
    return [element(stage === frames[now].stage ? "strong" : "span", `${stage} (after ${step} updates)`)];
  });

/** Draw a curve over the frames, with a point for each and its number at the shown frame. */
const curveOf = (key, [says, low, high], frames, now) => {
  const numbers = frames.map((frame) => frame[key]);
  const top = high ?? Math.max(...numbers);
  const written = (at) => numbers[at]?.toFixed(2) ?? "–";
  const spot = (at) => `${at},${(1 - (numbers[at] - low) / (top - low)).toFixed(4)}`;
  const known = [...numbers.keys()].filter((at) => numbers[at] !== null);
  const line = known.map((at) => (known.includes(at - 1) ? "L" : "M") + spot(at));
  const label = `${says}: ${frames.map(({ step }, at) => `${written(at)} after ${step}`).join(", ")} updates`;
  const axes = { role: "img", "aria-label": label, viewBox: `0 0 ${frames.length - 1} 1`, preserveAspectRatio: "none" };
  const paths = { now: `M${now},0V1`, line: line.join(""), spots: known.map((at) => `M${spot(at)}h0`).join("") };
  const drawing = Object.entries(paths).map(([kind, d]) => drawn(`path.${kind}`, { d }));
  return element("div.curve", [
    element("span.label", says),
    drawn("svg", axes, drawing),
    element("span.number", written(now)),
  ]);
};
