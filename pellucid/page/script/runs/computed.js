// Compute a run in the page: for another sentence, or with switches.

import { bestPlaces, makeTensor } from "../base/numbers.js";
import { page } from "../base/page.js";
import { Transformer } from "../model/model.js";
import { logSumExp, searchBeam } from "../model/search.js";
import { checkTokens, inKnownCase, textOfTarget, tokenise } from "../words/vocabulary.js";
import { finishRun, mostProbable } from "./runs.js";
import { UNSWITCHED, seeSwitched } from "./switches.js";

/** The maker of a model whose weights are in the page; served.js has the maker of a model that a server has. */
export const computing = {
  /** Make the run of a sentence that the reader has typed, and of its translation or of a given target. Words in another
   *  case are read as the known words. */
  explain: async (text, to, target, model) => {
    const read = (typed, side) => typed && inKnownCase(typed, to, model, side);
    return explainText(read(text, "source"), to, read(target, "target"), model);
  },

  /** Make the run of the same sentence with switches. */
  again: async ({ model }, sentence, switches) => computedRun(model, sentence, switches),

  /** Translate a run's sentence again with the run's switches; return the text. */
  anew: async ({ model, sentence, switches }) =>
    textOfTarget(translateIds(sentence.source, model, [], seeSwitched(model, switches))[0].ids, sentence.to, model),

  /** Translate a run's sentence again with another token at a position, the `rank`-th most probable one; return the text. */
  instead: async ({ model, sentence, get }, position, rank) => {
    const { shape, data } = await get("decoder.probabilities");
    const size = shape.at(-1);
    const id = bestPlaces(data.subarray(position * size, (position + 1) * size), rank + 1)[rank];
    const prefix = [...sentence.expected.slice(0, position), id];
    return textOfTarget(translateIds(sentence.source, model, prefix)[0].ids, sentence.to, model);
  },
};

/** Translate source ids. Return the hypotheses, best first. prefix: ids that they begin with. */
const translateIds = (ids, { config, vocabulary, translation, parameters }, prefix = [], see = undefined) => {
  const limit = Math.min(2 * ids.length + 20, translation.max_length);
  const tags = vocabulary.targets.map((language) => vocabulary.target.pieces.indexOf(`>>${language}<<`));
  const forbidden = [config.pad_id, config.start_id, config.unknown_id, ...tags, ...translation.suppressed];
  return searchBeam(new Transformer(config, parameters, see), ids, { ...translation, limit, forbidden, prefix });
};

/** Compute a run for a sentence that the reader has typed. It is translated, unless a target is given. */
export const explainText = async (text, to, target = null, model = page.runs[0].model) => {
  const source = tokenise(text, to, model);
  checkTokens(source, model.vocabulary);
  const given = target === null ? null : tokenise(target, source.to, model, "target");
  if (given) checkTokens(given, model.vocabulary);
  const { ids: expected } = given ?? translateIds(source.ids, model)[0];
  const translation = textOfTarget(expected, source.to, model);
  const sentence = { text, to: source.to, translation, forced: given !== null, source: source.ids, expected };
  return computedRun(model, sentence);
};

/** Compute a run by one teacher-forced pass. sentence: {text, to, translation, forced, source: ids, expected: ids}. */
export const computedRun = (model, sentence, switches = UNSWITCHED) => {
  const { config, vocabulary } = model;
  const padding = switches.padding === "none" ? [] : [config.pad_id, config.pad_id];
  const sourceIds = [...sentence.source, ...padding];
  const targetIds = [config.start_id, ...sentence.expected.slice(0, -1)];
  const tensors = new Map();
  const see = recording(tensors, seeSwitched(model, switches));
  const mask = realTokens(sourceIds, sentence, switches);
  new Transformer(config, model.parameters, see).forward(sourceIds, mask, targetIds);
  const { source, target } = vocabulary.tokens;
  return finishRun({
    ...sentence,
    title: `${sentence.text} → ${sentence.translation}`,
    source: sourceIds.map((id) => source[id]),
    target: targetIds.map((id) => target[id]),
    expected: sentence.expected.map((id) => target[id]),
    sourceIds,
    targetIds,
    sentence,
    model,
    switches,
    shapes: Object.fromEntries(tensors),
    get: async (name) => tensors.get(name),
    origin: () => "computed",
    steps: stepsOf(model, sentence, targetIds, tensors),
  });
};

/** Return for each source position whether attention may look at it: true for real tokens and for unmasked padding. */
export const realTokens = (sourceIds, sentence, switches) =>
  sourceIds.map((_, place) => place < sentence.source.length || switches.padding !== "masked");

/** Return a `see` for the model that edits each tensor and stores the edited tensor in float32. */
export const recording = (tensors, edit) => (path, name, axes, value) => {
  const used = edit(path, name, axes, value);
  tensors.set(`${path}.${name}`, tensorOfHeads(axes, [used].flat(), Float32Array));
  return used;
};

/** Join one matrix, or one matrix for each head, to a tensor with these axes. */
export const tensorOfHeads = (axes, heads, Numbers) => {
  const [{ rows, columns }] = heads;
  const data = new Numbers(heads.length * rows * columns);
  heads.forEach((head, place) => data.set(head.data, place * rows * columns));
  const ends = axes.endsWith("BL") ? [rows] : [rows, columns];
  const sizes = { B: 1, H: heads.length };
  const shape = [...axes].slice(0, axes.length - ends.length).map((axis) => sizes[axis]);
  return makeTensor(axes, [...shape, ...ends], data);
};

/** Return the input, the expected token and the model's probabilities at each position. */
const stepsOf = (model, sentence, target, tensors) => {
  const [logits, probabilities] = [tensors.get("decoder.logits"), tensors.get("decoder.probabilities")];
  const size = logits.shape[2];
  const label = model.vocabulary.tokens.target;
  return sentence.expected.map((id, row) => {
    const alternatives = mostProbable(probabilities, row, 5, label);
    const numbers = Array.from(logits.data.subarray(row * size, (row + 1) * size));
    return {
      input: label[target[row]],
      expected: label[id],
      predicted: alternatives[0][0],
      probability: probabilities.data[row * size + id],
      loss: logSumExp(numbers) - numbers[id],
      alternatives,
    };
  });
};
