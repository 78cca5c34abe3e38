// The same tokens one step at a time, with a cache and without: what each step computes, and how it compares.

import { apart, headsOfTensor, makeTensor, panelOf, rowOfPanel, sizeOfShape } from "../base/numbers.js";
import { madeOnce } from "../base/text.js";
import { GrowingPast, NoPast } from "../model/cache.js";
import { Transformer } from "../model/model.js";
import { computedRun, realTokens, recording, stepsOf } from "./computed.js";
import { splitName } from "./parts.js";
import { finishRun, wholeOf } from "./runs.js";
import { isSwitched, seeSwitched } from "./switches.js";

/**
 * A run's target decoded token by token: of each step its tensors by name. With a cache a step computes the new row
 * alone and looks at the keys and values of the rows before; without one it computes the rows of the whole prefix again.
 */
function* stepsOfDecoding({ sourceIds, targetIds, sentence, switches, model }, cached) {
  const transformer = new Transformer(model.config, model.parameters, seeSwitched(model, switches));
  const mask = realTokens(sourceIds, sentence, switches);
  const memory = transformer.remember(transformer.encode(sourceIds, mask), mask);
  const past = new GrowingPast();
  for (let step = 0; step < targetIds.length; step++) {
    const tensors = new Map();
    transformer.see = recording(tensors, seeSwitched(model, switches));
    if (cached) transformer.decode([targetIds[step]], memory, past);
    else transformer.decode(targetIds.slice(0, step + 1), memory, new NoPast());
    yield tensors;
  }
}

/**
 * Decoding step by step, compared with all positions at once: {largestDifference, where, perStep: [{input, rows (of
 * each tensor, computed in this step), difference, where}]}.
 */
const stepByStep = async (run, cached) => {
  if (!run.computes) {
    const difference = run.largest_difference; // of the search's log-probabilities, which had a cache
    if (cached && difference !== null && !isSwitched(run.switches)) {
      return { largestDifference: difference, where: "the log-probabilities", perStep: [] };
    }
    throw new Error(
      "This page holds a recording, not the model: it cannot decode again. In Python, print(explanation.stepwise).",
    );
  }
  const perStep = [];
  let step = 0;
  for (const tensors of stepsOfDecoding(run, cached)) {
    const most = await furthest(run, tensors, cached ? step : 0);
    perStep.push({ input: run.target[step], rows: cached ? 1 : step + 1, ...most });
    step += 1;
  }
  const most = perStep.reduce((worst, each) => (each.difference > worst.difference ? each : worst));
  return { largestDifference: most.difference, where: most.where, perStep };
};

/** The largest difference of any number from the run's, and in which tensor; here row 0 is row `first` of the run. */
const furthest = async (run, tensors, first) => {
  let most = { difference: 0, where: "" };
  for (const [name, tensor] of tensors) {
    const [one, other] = [tensor, await run.get(name)];
    const difference = largestDifferenceOf(one, other, first);
    if (difference > most.difference) most = { difference, where: name };
  }
  return most;
};

const largestDifferenceOf = (part, whole, first) => {
  // Keys and values hold all rows so far, so their first row is always row 0.
  const start = part.axes.includes("M") && !part.axes.includes("L") ? 0 : first;
  let most = 0;
  for (let head = 0; head < headsOfTensor(part); head++) {
    const [one, other] = [panelOf(part, head), panelOf(whole, head)];
    for (let row = 0; row < one.rows; row++) {
      for (let column = 0; column < one.columns; column++) {
        const [x, y] = [one.at(row, column), other.at(start + row, column)];
        const difference = apart(x, y); // −∞ equals −∞; NaN equals nothing
        most = Math.max(most, Number.isNaN(difference) ? Infinity : difference);
      }
    }
  }
  return most;
};

const comparisons = new WeakMap();

/** A run decoded step by step and compared with all positions at once; made once. */
export const comparedInTime = (run, cached) => {
  const known = madeOnce(comparisons, run, () => new Map());
  return madeOnce(known, cached, () => stepByStep(run, cached));
};

const waysOfRuns = new WeakMap();

/** Step t (from 1) of a run as {cached, again}: two runs that end with this step. Made once. */
export const waysOfStep = (run, t) => {
  const known = madeOnce(waysOfRuns, run, () => new Map());
  return madeOnce(known, t, () => bothWays(run, t));
};

const bothWays = (run, t) => {
  const sentence = { ...run.sentence, expected: run.sentence.expected.slice(0, t) };
  const step = { name: run.name, unswitched: run.unswitched, whole: run };
  const again = { ...computedRun(run.model, sentence, run.switches), ...step };
  const made = rowsOfSteps(run, t);
  const cached = finishRun({
    ...run,
    ...again,
    stepwise: true,
    shapes: Object.fromEntries(again.names.map((name) => [name, made.get(name) ?? run.shapes[name]])),
    get: async (name) => made.get(name) ?? run.get(name), // what the encoder made is remembered
    origin: () => "computed",
    steps: stepsOf(run.model, sentence, again.targetIds, made),
  });
  return { cached, again };
};

/** The run that is true at step t. With the mask a step has the rows of all positions at once; without it each row
 *  looks at other tokens the more there are, so the step is decoded by itself. */
export const runOfStep = (run, t, cached) =>
  waysOfStep(run, Math.min(t, run.target.length))[cached ? "cached" : "again"];

const cutRuns = new WeakMap();

/** A run as step t has it: of the target, rows and columns of words already said. Made once. */
export const runUntil = (run, t) => {
  if (run.target.length <= t) return run;
  const known = madeOnce(cutRuns, run, () => new Map());
  return madeOnce(known, t, () => cutAt(run, t));
};

const cutAt = (run, t) => {
  const cutShape = (name, shape) =>
    shape.map((size, place) => (isCutAxis(name, run.shapes[name].axes[place]) ? t : size));
  const shapes = Object.entries(run.shapes).map(([name, each]) => [
    name,
    { ...each, shape: cutShape(name, each.shape) },
  ]);
  const get = async (name) => {
    const tensor = await run.get(name);
    return { ...cutTensor(tensor, cutShape(name, tensor.shape)), kept: tensor.kept, unknown: tensor.unknown };
  };
  const unswitched = run.unswitched && runUntil(run.unswitched, t);
  const [target, expected] = [run.target.slice(0, t), run.expected.slice(0, t)];
  const targetIds = run.targetIds.slice(0, t);
  const made = finishRun({ ...run, unswitched, target, expected, targetIds, shapes: Object.fromEntries(shapes), get });
  return { ...made, whole: wholeOf(run) };
};

/** Whether an axis counts words of the target. */
const isCutAxis = (name, axis) =>
  name.startsWith("decoder") && (axis === "L" || (axis === "M" && !name.includes(".cross_attention.")));

/** The first rows and columns of a tensor. */
const cutTensor = ({ axes, shape, data }, to) => {
  const cut = makeTensor(axes, to, new data.constructor(sizeOfShape(to)));
  const steps = shape.map((_, place) => sizeOfShape(shape.slice(place + 1)));
  const fill = (place, from, at) => {
    if (place === to.length - 1) return cut.data.set(data.subarray(from, from + to[place]), at);
    for (let index = 0; index < to[place]; index++)
      fill(place + 1, from + index * steps[place], at + index * sizeOfShape(to.slice(place + 1)));
  };
  fill(0, 0, 0);
  return cut;
};

/** What t steps with a cache have computed, by name: of each tensor one row a step, under those of the steps before. */
const rowsOfSteps = (run, t) => {
  const steps = [];
  for (const tensors of stepsOfDecoding(run, true)) {
    steps.push(tensors);
    if (steps.length === t) break;
  }
  return new Map(
    [...steps.at(-1).keys()].map((name) => [
      name,
      stackRows(
        name,
        steps.map((step) => step.get(name)),
      ),
    ]),
  );
};

/** One row under the other; keys and values that were remembered are all there already. */
const stackRows = (name, tensors) => {
  const last = tensors.at(-1);
  if (!last.axes.includes("L")) return last;
  const [rows, heads, { columns }] = [tensors.length, headsOfTensor(last), panelOf(last)];
  const data = new Float32Array(heads * rows * columns).fill(ofLaterKeys(name));
  tensors.forEach((tensor, row) => {
    for (let head = 0; head < heads; head++) {
      data.set(rowOfPanel(panelOf(tensor, head), 0), (head * rows + row) * columns);
    }
  });
  const shape = last.shape.map((size, place) => (last.axes[place] === "L" ? rows : size));
  return makeTensor(last.axes, shape, data);
};

/** What a row has for keys that came after its step: they did not exist, which is what the mask makes of them. */
const ofLaterKeys = (name) => {
  const { last } = splitName(name);
  return last === "weights" ? 0 : last === "mask" || last === "masked_scores" ? -Infinity : NaN;
};

/** The largest difference of the new row's numbers between the two ways, and in which tensor. */
export const differenceOfWays = async ({ cached, again }) => {
  let most = { difference: 0, where: "" };
  for (const name of again.names.filter((each) => each.startsWith("decoder"))) {
    const [one, other] = [await cached.get(name), await again.get(name)];
    for (let head = 0; head < headsOfTensor(one); head++) {
      const [new_, same] = [one, other].map((tensor) => lastRowOf(panelOf(tensor, head)));
      new_.forEach((value, place) => {
        const difference = apart(value, same[place]);
        if (!(difference <= most.difference)) most = { difference, where: name };
      });
    }
  }
  return most;
};

const lastRowOf = (panel) => rowOfPanel(panel, panel.rows - 1);
