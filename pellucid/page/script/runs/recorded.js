// What the file carries: its header, the parameters of its models, and its explanations as runs. Numbers are in blocks,
// little-endian, compressed, in base64; a tensor that is in none is made again of others.

import { makeTensor, sizeOfShape } from "../base/numbers.js";
import { page } from "../base/page.js";
import { madeOnce } from "../base/text.js";
import { openVocabulary } from "../words/vocabulary.js";
import { derive } from "./derived.js";
import { stackOf } from "./parts.js";
import { finishRun } from "./runs.js";
import { UNSWITCHED } from "./switches.js";

/** Read the header of the file; numbers are unpacked later, when a view needs them. */
export const openPage = async () => {
  const header = JSON.parse(document.getElementById("payload").textContent);
  page.models = await Promise.all(header.models.map(openModel));
  page.header = header;
  page.runs = header.runs.map(recordedRun);
  return page;
};

/** The parameters that the page has of a model, by their names in the model's state_dict, and its vocabulary. */
const openModel = async (model) => {
  const parameters = new Map();
  for (const [name, place] of Object.entries(model.parameters)) {
    const numbers = numbersIn(await openBlock(place.block), place, sizeOfShape(place.shape));
    parameters.set(name, makeTensor(place.shape.length === 2 ? "OI" : "O", place.shape, numbers));
  }
  return { ...model, parameters, vocabulary: openVocabulary(model.vocabulary, model.config) };
};

/** An explanation of the header as a run. */
const recordedRun = (recorded) => {
  const model = page.models[recorded.model];
  const { source_ids, target_ids, tensors, steps, ...run } = recorded;
  const targetIds = [model.config.start_id, ...target_ids.slice(0, -1)];
  const { text, to, translation, forced } = run;
  return finishRun({
    ...run,
    ...readerOf(tensors, model, { encoder: source_ids, decoder: targetIds }),
    model,
    sourceIds: source_ids,
    targetIds,
    switches: UNSWITCHED,
    steps: steps.map(readStep),
    sentence: { text, to, translation, forced, source: source_ids, expected: target_ids },
  });
};

/** The run that was precomputed with some switches: the file does not have all of its tensors. */
export const recordedVariant = (run, { switches, steps, title, tensors }) => {
  const all = run.names.map((name) => [name, tensors[name] ?? { ...run.shapes[name], unknown: true }]);
  return finishRun({
    ...run,
    ...readerOf(Object.fromEntries(all), run.model, { encoder: run.sourceIds, decoder: run.targetIds }),
    switches,
    steps: steps.map(readStep),
    title: `${run.title}, ${title}`,
    variants: [],
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

/** How the tensors of a run are read; each is unpacked or derived once. */
const readerOf = (tensors, model, ids) => {
  const opened = new Map();
  const get = (name) => madeOnce(opened, name, () => read(name));
  const read = async (name) => {
    const { axes, shape, how, kept, unknown, ...place } = tensors[name];
    if (unknown) return { ...makeTensor(axes, shape, new Float32Array(sizeOfShape(shape)).fill(NaN)), unknown };
    if (how) {
      const [of, parameters] = model.made_of[name];
      const sources = [...(await Promise.all(of.map(get))), ...parameters.map((each) => model.parameters.get(each))];
      return derive({ axes, shape, how }, sources, model.config, ids[stackOf(name)]);
    }
    const tensor = makeTensor(axes, shape, numbersIn(await openBlock(place.block), place, sizeOfShape(shape)));
    return kept ? { ...tensor, kept } : tensor;
  };
  const origin = (name) => (tensors[name].unknown ? "not in the page" : tensors[name].how ? "derived" : "recorded");
  return { shapes: tensors, get, origin };
};

/** What is in a block of the page, an ArrayBuffer; a block is unpacked once. */
const openBlock = (name) =>
  madeOnce(openedBlocks, name, () => unpack(document.getElementById(`block-${name}`).textContent));

const openedBlocks = new Map();

const unpack = (text) => {
  const letters = atob(text);
  const bytes = new Uint8Array(letters.length);
  for (let place = 0; place < letters.length; place++) bytes[place] = letters.charCodeAt(place);
  return new Response(new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"))).arrayBuffer();
};

/** The float32 numbers at a place in a block; 16 bits a number are widened, which changes none. */
const numbersIn = (buffer, { offset, type = "float32" }, count) => {
  if (type === "float32") return new Float32Array(buffer, offset, count);
  return Float32Array.from(new Uint16Array(buffer, offset, count), widened);
};

/** The number that 16 bits mean: a sign, five bits of exponent, ten of fraction. */
const widened = (bits) => {
  const sign = bits & 0x8000 ? -1 : 1;
  const exponent = (bits >> 10) & 31;
  const fraction = bits & 1023;
  if (exponent === 0) return sign * 2 ** -24 * fraction;
  if (exponent === 31) return fraction ? NaN : sign * Infinity;
  return sign * 2 ** (exponent - 15) * (1 + fraction / 1024);
};
