// Decode a run's tokens step by step, with or without a cache, and compare all tensors with one pass.

import { apart, makeTensor, numbersOf, panelOf, panelsOf } from "../base/numbers.js";
import { madeOnceOf } from "../base/text.js";
import { GrowingPast } from "../model/cache.js";
import { Transformer } from "../model/model.js";
import { realTokens, recording } from "./computed.js";
import { finishRun } from "./runs.js";
import { seeSwitched } from "./switches.js";

/**
 * Decode a run's target token by token; return each step's tensors by name. With a cache, a step computes only the new
 * row and reads the earlier keys and values; without a cache, it computes the rows of the whole prefix again.
 */
export const stepsOfDecoding = (run, cached) =>
  madeOnceOf(run, `steps ${cached}`, () => {
    const { sourceIds, targetIds, sentence, switches, model } = run;
    const transformer = new Transformer(model.config, model.parameters, seeSwitched(model, switches));
    const mask = realTokens(sourceIds, sentence, switches);
    const memory = transformer.remember(transformer.encode(sourceIds, mask), mask);
    const past = new GrowingPast();
    return targetIds.map((id, step) => {
      const tensors = new Map();
      transformer.see = recording(tensors, seeSwitched(model, switches));
      if (cached) transformer.decode([id], memory, past);
      else transformer.decode(targetIds.slice(0, step + 1), memory, new GrowingPast());
      return tensors;
    });
  });

/** Compare decoding step by step with one pass: return the largest {difference, where (in which tensor)}. */
export const comparedInTime = (run, cached) =>
  madeOnceOf(run, `compared ${cached}`, async () => {
    let most = { difference: 0, where: "" };
    for (const [step, tensors] of stepsOfDecoding(run, cached).entries()) {
      for (const [where, tensor] of tensors) {
        const difference = largestDifferenceOf(tensor, await run.get(where), step);
        if (difference > most.difference) most = { difference, where };
      }
    }
    return most;
  });

/** Return the largest difference between a step's rows (the last row is new) and the same rows of the whole pass. */
const largestDifferenceOf = (part, whole, step) => {
  let most = 0;
  panelsOf(part).forEach((one, head) => {
    const other = panelOf(whole, head);
    const above = one.rows === other.rows ? 0 : step + 1 - one.rows; // 0 for parts with all rows: the source's
    const at = (row, column) => apart(one.at(row, column), other.at(above + row, column)); // NaN stays NaN
    for (const each of numbersOf({ ...one, at })) most = Math.max(most, Number.isNaN(each) ? Infinity : each);
  });
  return most;
};

/** Return the run as it is at step t (from 1). Without the causal mask, a row changes when later tokens come, because
 *  it attends to them. With a cache it does not change, because it was computed before they came. */
export const runOfStep = (run, t, cached) =>
  run.switches.causal ? runUntil(run, t) : madeOnceOf(run, `step ${t} ${cached}`, () => decodedUntil(run, t, cached));

const decodedUntil = async (run, t, cached) => {
  const { model, name, unswitched, switches, sentence } = run;
  const { again } = model.maker;
  const made = cached
    ? runUntil(await again(run, sentence, { ...switches, causal: true }), t)
    : await again(run, { ...sentence, expected: sentence.expected.slice(0, t) }, switches);
  return { ...made, name, switches, unswitched: unswitched && runUntil(unswitched, t) };
};

/** Return the run as it is at step t if later tokens change no row: target rows and columns up to t. */
export const runUntil = (run, t) => (run.target.length <= t ? run : madeOnceOf(run, `until ${t}`, () => cutAt(run, t)));

const cutAt = (run, t) => {
  const isCutAxis = (name, axis) =>
    name.startsWith("decoder") && (axis === "L" || (axis === "M" && !name.includes(".cross_attention.")));
  const cut = (name, { axes, shape }) => shape.map((size, place) => (isCutAxis(name, axes[place]) ? t : size));
  const shapes = Object.entries(run.shapes).map(([name, each]) => [name, { ...each, shape: cut(name, each) }]);
  const cutRun = {
    ...run,
    unswitched: run.unswitched && runUntil(run.unswitched, t),
    shapes: Object.fromEntries(shapes),
    get: async (name) => {
      const tensor = await run.get(name);
      return { ...tensor, ...cutTensor(tensor, cut(name, tensor)) };
    },
  };
  for (const list of ["target", "expected", "targetIds", "steps"]) cutRun[list] = run[list].slice(0, t);
  return finishRun(cutRun);
};

/** Return the first rows and columns of each head. */
const cutTensor = (tensor, shape) => {
  const made = makeTensor(tensor.axes, shape);
  const { rows, columns } = panelOf(made);
  panelsOf(tensor).forEach(({ at }, head) => made.data.set(numbersOf({ rows, columns, at }), head * rows * columns));
  return made;
};
