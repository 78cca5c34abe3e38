// The same tokens one step at a time, with a cache and without: what each step computes, and how it compares.

import { apart, headsOfTensor, makeTensor, panelOf, rowOfPanel, sizeOfShape } from "../base/numbers.js";
import { madeOnce } from "../base/text.js";
import { GrowingPast, NoPast } from "../model/cache.js";
import { Transformer } from "../model/model.js";
import { computedRun, realTokens, recording, stepsOf } from "./computed.js";
import { splitName } from "./parts.js";
import { finishRun, wholeOf } from "./runs.js";
import { isSwitched, seeSwitched } from "./switches.js";

const madeOfRuns = new WeakMap();

/** What is made of a run, once. */
const onceOfRun = (run, key, make) =>
  madeOnce(
    madeOnce(madeOfRuns, run, () => new Map()),
    key,
    make,
  );

/**
 * A run's target decoded token by token: of each step its tensors by name. With a cache a step computes the new row
 * alone and looks at the keys and values of the rows before; without one it computes the rows of the whole prefix again.
 */
const stepsOfDecoding = (run, cached) =>
  onceOfRun(run, `steps ${cached}`, () => {
    const { sourceIds, targetIds, sentence, switches, model } = run;
    const transformer = new Transformer(model.config, model.parameters, seeSwitched(model, switches));
    const mask = realTokens(sourceIds, sentence, switches);
    const memory = transformer.remember(transformer.encode(sourceIds, mask), mask);
    const past = new GrowingPast();
    return targetIds.map((id, step) => {
      const tensors = new Map();
      transformer.see = recording(tensors, seeSwitched(model, switches));
      if (cached) transformer.decode([id], memory, past);
      else transformer.decode(targetIds.slice(0, step + 1), memory, new NoPast());
      return tensors;
    });
  });

/** Decoding step by step, compared with all positions at once: {difference, where}, the largest and in which tensor. */
export const comparedInTime = (run, cached) => onceOfRun(run, `compared ${cached}`, () => stepByStep(run, cached));

const stepByStep = async (run, cached) => {
  if (run.computes) {
    const compared = stepsOfDecoding(run, cached).map((tensors, step) => furthest(run, tensors, cached ? step : 0));
    return (await Promise.all(compared)).reduce(further);
  }
  const difference = run.largest_difference; // of the search's log-probabilities, which had a cache
  if (cached && difference !== null && !isSwitched(run.switches)) return { difference, where: "the log-probabilities" };
  throw new Error(
    "This page holds a recording, not the model: it cannot decode again. In Python, print(explanation.stepwise).",
  );
};

const further = (one, other) => (other.difference > one.difference ? other : one);

/** The largest difference of a new row's numbers from the run's, and in which tensor: rows from the run's `first`. */
const furthest = async (run, tensors, first) => {
  let most = { difference: 0, where: "" };
  for (const [name, tensor] of tensors)
    most = further(most, { difference: largestDifferenceOf(tensor, await run.get(name), first), where: name });
  return most;
};

const largestDifferenceOf = (part, whole, first) => {
  const start = part.axes.includes("M") && !part.axes.includes("L") ? first : 0; // keys and values hold all rows so far
  let most = 0;
  for (let head = 0; head < headsOfTensor(part); head++) {
    const [one, other] = [panelOf(part, head), panelOf(whole, head)];
    for (let row = start; row < one.rows; row++) {
      for (let column = 0; column < one.columns; column++) {
        const difference = apart(one.at(row, column), other.at(first - start + row, column)); // −∞ equals −∞; NaN equals nothing
        most = Math.max(most, Number.isNaN(difference) ? Infinity : difference);
      }
    }
  }
  return most;
};

/** Step t (from 1) of a run as {cached, again}: two runs that end with this step. */
export const waysOfStep = (run, t) => onceOfRun(run, `ways ${t}`, () => bothWays(run, t));

const bothWays = (run, t) => {
  const sentence = { ...run.sentence, expected: run.sentence.expected.slice(0, t) };
  const step = { name: run.name, unswitched: run.unswitched, whole: run };
  const again = { ...computedRun(run.model, sentence, run.switches), ...step };
  const made = rowsOfSteps(stepsOfDecoding(run, true).slice(0, t));
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

/** The largest difference of step t's new row between the two ways, and in which tensor. */
export const differenceOfWays = (run, t) =>
  furthest(waysOfStep(run, t).again, stepsOfDecoding(run, true)[t - 1], t - 1);

/** The run that is true at step t. With the mask a step has the rows of all positions at once; without it each row
 *  looks at other tokens the more there are, so the step is decoded by itself. */
export const runOfStep = (run, t, cached) =>
  waysOfStep(run, Math.min(t, run.target.length))[cached ? "cached" : "again"];

/** What steps with a cache have computed, by name: of each tensor one row a step, under those of the steps before. */
const rowsOfSteps = (steps) =>
  new Map(
    [...steps.at(-1).keys()].map((name) => [
      name,
      stackRows(
        name,
        steps.map((step) => step.get(name)),
      ),
    ]),
  );

/** One row under the other; keys and values that were remembered are all there already. */
const stackRows = (name, tensors) => {
  const last = tensors.at(-1);
  if (!last.axes.includes("L")) return last;
  const [rows, heads, { columns }] = [tensors.length, headsOfTensor(last), panelOf(last)];
  const data = new Float32Array(heads * rows * columns).fill(ofLaterKeys(name));
  tensors.forEach((tensor, row) => {
    for (let head = 0; head < heads; head++)
      data.set(rowOfPanel(panelOf(tensor, head), 0), (head * rows + row) * columns);
  });
  const shape = last.shape.map((size, place) => (last.axes[place] === "L" ? rows : size));
  return makeTensor(last.axes, shape, data);
};

/** What a row has for keys that came after its step: they did not exist, which is what the mask makes of them. */
const ofLaterKeys = (name) => {
  const { last } = splitName(name);
  return last === "weights" ? 0 : last === "mask" || last === "masked_scores" ? -Infinity : NaN;
};

/** A run as step t has it: of the target, rows and columns of words already said. */
export const runUntil = (run, t) => (run.target.length <= t ? run : onceOfRun(run, `until ${t}`, () => cutAt(run, t)));

const cutAt = (run, t) => {
  const cut = (name, { axes, shape }) => shape.map((size, place) => (isCutAxis(name, axes[place]) ? t : size));
  const shapes = Object.entries(run.shapes).map(([name, each]) => [name, { ...each, shape: cut(name, each) }]);
  const get = async (name) => {
    const tensor = await run.get(name);
    return { ...tensor, ...cutTensor(tensor, cut(name, tensor)) };
  };
  const cutRun = {
    ...run,
    unswitched: run.unswitched && runUntil(run.unswitched, t),
    shapes: Object.fromEntries(shapes),
    get,
  };
  for (const words of ["target", "expected", "targetIds"]) cutRun[words] = run[words].slice(0, t);
  return { ...finishRun(cutRun), whole: wholeOf(run) };
};

/** Whether an axis counts words of the target. */
const isCutAxis = (name, axis) =>
  name.startsWith("decoder") && (axis === "L" || (axis === "M" && !name.includes(".cross_attention.")));

/** The first rows and columns of each head. */
const cutTensor = (tensor, shape) => {
  const made = makeTensor(tensor.axes, shape, new tensor.data.constructor(sizeOfShape(shape)));
  const { rows, columns } = panelOf(made);
  for (let head = 0; head < headsOfTensor(made); head++) {
    const panel = panelOf(tensor, head);
    for (let row = 0; row < rows; row++)
      made.data.set(rowOfPanel({ ...panel, columns }, row), (head * rows + row) * columns);
  }
  return made;
};
