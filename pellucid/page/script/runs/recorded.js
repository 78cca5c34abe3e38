// Runs as they were recorded when the file was written: a tensor is in a block of the file, or made
// again of others with the same bits; pellucid/page/payload.py tried each.

import { makeTensor, sizeOfShape } from "../base/numbers.js";
import { page } from "../base/page.js";
import { numbersIn, openBlock } from "./blocks.js";
import { finishRun } from "./runs.js";
import { UNSWITCHED } from "./switches.js";

/** An explanation of the header as a run. */
export const recordedRun = (recorded) => {
  const model = page.models[recorded.model];
  const { source_ids, target_ids, tensors, steps, ...run } = recorded;
  const targetIds = [model.config.start_id, ...target_ids.slice(0, -1)];
  const { text, to, translation, forced } = run;
  return finishRun({
    ...run,
    ...readerOf(tensors, model),
    model,
    sourceIds: source_ids,
    targetIds,
    switches: UNSWITCHED,
    steps: steps.map(readStep),
    sentence: { text, to, translation, forced, source: source_ids, expected: target_ids },
  });
};

/** A step with its numbers; JSON has none for what is infinite or no number, so these are words in it. */
const readStep = (step) => ({
  ...step,
  probability: numberSaid(step.probability),
  loss: numberSaid(step.loss),
  alternatives: step.alternatives.map(([token, probability]) => [token, numberSaid(probability)]),
});

const numberSaid = (said) => (typeof said === "number" ? said : ({ inf: Infinity, "-inf": -Infinity }[said] ?? NaN));

/** How a tensor is made of others, in float32. */
const HOW = {
  same: (x) => x,
  plus: (x, y) => x.map((value, place) => value + y[place % y.length]), // positions are the same for every sentence
  activation: (x) => x.map((value) => Math.max(value, 0)),
  affine: (x, weight, bias) =>
    x.map((value, place) => Math.fround(value * weight[place % weight.length]) + bias[place % bias.length]),
};

/** How the tensors of a run are read; each is unpacked or made once. */
const readerOf = (tensors, model) => {
  const opened = new Map();
  const get = (name) => {
    if (!opened.has(name)) opened.set(name, read(name));
    return opened.get(name);
  };
  const read = async (name) => {
    const { axes, shape, how, kept, ...place } = tensors[name];
    if (how) {
      const [of, parameters] = model.made_of[name];
      const sources = [...(await Promise.all(of.map(get))), ...parameters.map((each) => model.parameters.get(each))];
      return makeTensor(axes, shape, HOW[how](...sources.map(({ data }) => data)));
    }
    const tensor = makeTensor(axes, shape, numbersIn(await openBlock(place.block), place, sizeOfShape(shape)));
    return kept ? { ...tensor, kept } : tensor;
  };
  return { shapes: tensors, get, origin: () => "recorded" };
};
