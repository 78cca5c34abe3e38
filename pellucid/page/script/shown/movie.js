// The movie of learning: a slider over the models that a training kept, and curves of what they say, on one time axis.
// The page's runs are its frames, the last model first. The curves are computed here, from the weights of each frame.

import { drawn, element, found, redraw } from "../base/elements.js";
import { bestPlaces, sumOf } from "../base/numbers.js";
import { page } from "../base/page.js";
import { madeOnceOf } from "../base/text.js";
import { meaningOf } from "../base/tokens.js";
import { computedRun } from "../runs/computed.js";
import { alignmentOf } from "../runs/parts.js";
import { state, walkTo } from "../view/state.js";
import { ownRun } from "../view/typing.js";
import { sharesOf } from "./why.js";

const CURVES = {
  loss: { says: "loss of the training", low: 0 },
  probability: { says: "probability of the last words", low: 0, high: 1 },
  source: { says: "share from the source", low: 0, high: 1 },
  order: { says: "order: as the source 1, reversed −1", low: -1, high: 1 },
};
const PLAY_FRAME = 900; // milliseconds for each frame

/** Start the slider and its button, if the page is a movie. */
export const startMovie = () => {
  found("movie").hidden = !page.header.movie;
  if (!page.header.movie) return;
  document.querySelector(".purpose").textContent = "Move the slider: each point is the whole model at that time.";
  const slider = found("frame");
  slider.max = page.runs.length - 1;
  slider.addEventListener("input", () => walkTo({ run: slider.max - slider.value }));
  found("play-frames").addEventListener("click", () => playFrames(!framesPlaying));
};

let framesPlaying = null; // the timer while the movie plays

const playFrames = (isOn) => {
  clearInterval(framesPlaying);
  framesPlaying = isOn ? setInterval(playFrame, PLAY_FRAME) : null;
  found("play-frames").textContent = isOn ? "❚❚" : "▶";
  found("play-frames").ariaLabel = isOn ? "pause" : "play the training";
  if (isOn && state.run === 0) walkTo({ run: page.runs.length - 1 });
};

const playFrame = () => (state.run === 0 ? playFrames(false) : walkTo({ run: state.run - 1 }));

let framesAsked = 0;

/** Show the frame of the state on the slider, and the curves of its sentence: each point as soon as it is computed. */
export const showFrame = async () => {
  const { movie } = page.header;
  if (!movie) return;
  const asked = (framesAsked += 1);
  const { run } = state;
  const { step } = movie[run];
  found("frame").value = movie.length - 1 - run;
  found("frame").ariaValueText = `after ${step} updates`;
  found("frame-says").textContent = `after ${step} updates`;
  const figures = [];
  for (const at of [...movie.keys()].reverse()) {
    figures.push(await figuresOf(at).catch(() => ({})));
    if (asked !== framesAsked) return;
    const missing = Array.from({ length: movie.length - figures.length }, () => ({}));
    const now = movie.length - 1 - run;
    redraw(found("learned"), figures.length === movie.length && stagesLearned(figures, now));
    redraw(
      found("curves"),
      Object.keys(CURVES).map((key) => curveOf(key, [...figures, ...missing], now)),
    );
  }
};

const runOfFrame = async (at) => {
  const run = await page.open(at);
  return state.text === null ? run : ownRun(state.text, state.to, state.target, run.model);
};

/** Return what a frame's model says of the sentence, in numbers; a number that cannot be known is null. */
const figuresOf = async (at) => {
  const [run, last] = [await runOfFrame(at), await runOfFrame(0)];
  return madeOnceOf(run, "figures", async () => {
    await new Promise((done) => setTimeout(done)); // the page answers the reader between two frames
    const { steps } = run.computes ? computedRun(run.model, last.sentence) : { steps: [] };
    const shares = sharesOf(run);
    return {
      at,
      said: run.translation,
      loss: page.header.movie[at].loss,
      probability: steps.length ? Math.exp(-meanOfAll(steps.map(({ loss }) => loss))) : null,
      source: shares && meanOfAll(shares),
      order: orderOf(run, await alignmentOf(run)),
    };
  });
};

const meanOfAll = (numbers) => sumOf(numbers) / numbers.length;

/** Return Kendall's τ of the source words that the target words look at most: 1 if they stand in the same order, −1 if
 *  in the reverse order. Pairs with the same source word are left out; null if no pair is left. */
const orderOf = ({ source, expected }, weights) => {
  const isWord = (token) => !meaningOf(token);
  const places = [...source.keys()].filter((place) => isWord(source[place]));
  const rows = weights.filter((_, position) => isWord(expected[position]));
  const most = rows.map(
    (row) =>
      places[
        bestPlaces(
          places.map((place) => row[place]),
          1,
        )[0]
      ],
  );
  const signs = most.flatMap((one, at) => most.slice(at + 1).map((other) => Math.sign(other - one))).filter(Boolean);
  return signs.length ? sumOf(signs) / signs.length : null;
};

/** Return the stage of a frame, of those that Voita et al. 2021 found, or null where its figures show none. */
const stageOfFrame = ({ said, probability, source, order }, before, first, last) => {
  if (source < last.source / 2)
    return said && probability > 2 * first.probability ? "a language model of the target" : null;
  if (last.order === null || last.order === 1 || order === null) return null;
  if (order === 1) return before.includes("reordering") ? null : "word by word, in the order of the source";
  return before.some((stage) => stage?.startsWith("word by word")) ? "reordering" : null;
};

/** Say which stages the figures show, and with which frame each begins; null if they show none. */
const stagesLearned = (figures, now) => {
  const stages = [];
  for (const each of figures) stages.push(stageOfFrame(each, stages, figures[0], figures.at(-1)));
  const begins = [...new Set(stages)].filter(Boolean).map((stage) => {
    const { step } = page.header.movie[figures[stages.indexOf(stage)].at];
    return [element(stage === stages[now] ? "strong" : "span", stage), ` (after ${step} updates)`];
  });
  return begins.length ? ["It learned in stages: ", begins.map((each, place) => [place ? "; " : "", each]), "."] : null;
};

/** Draw a curve over the frames, with a point for each and its number at the shown frame. */
const curveOf = (key, figures, now) => {
  const { says, low, high } = CURVES[key];
  const numbers = figures.map((each) => each[key] ?? null);
  const top = high ?? Math.max(...numbers.filter((number) => number !== null), 1);
  const written = (number) => (number === null || number === undefined ? "–" : number.toFixed(2));
  const placed = (number, at) => number !== null && [at, `${at},${(1 - (number - low) / (top - low)).toFixed(4)}`];
  const spots = numbers.map(placed).filter(Boolean); // a line leads to a spot from the frame before it
  const listed = numbers.map((number, at) => `${written(number)} after ${page.header.movie.at(-1 - at).step}`);
  const label = `${says}: ${listed.join(", ")} updates`;
  return element("div.curve", [
    element("span.label", says),
    drawn(
      "svg",
      { role: "img", "aria-label": label, viewBox: `0 0 ${numbers.length - 1} 1`, preserveAspectRatio: "none" },
      [
        drawn("path.now", { d: `M${now},0V1` }),
        drawn("path", {
          d: spots.map(([at, spot]) => `${numbers[at - 1] === null || at === 0 ? "M" : "L"}${spot}`).join(" "),
        }),
        drawn("path.spots", { d: spots.map(([, spot]) => `M${spot}h0`).join(" ") }),
      ],
    ),
    element("span.number", written(numbers[now])),
  ]);
};
