// Read the content of the file: its header, the parameters of its models, and its explanations as runs. Numbers are in
// blocks (little-endian, compressed, base64); a tensor that no block contains is computed from other tensors.

import { makeTensor, sizeOfShape } from "../base/numbers.js";
import { page } from "../base/page.js";
import { madeOnce, madeOnceOf } from "../base/text.js";
import { openVocabulary } from "../words/vocabulary.js";
import { computedRun, computing } from "./computed.js";
import { finishRun } from "./runs.js";
import { UNSWITCHED } from "./switches.js";

/** Read the header of the file. Tensors are unpacked later, when a view needs them; so are the frames of a movie. */
export const openPage = async () => {
  const header = JSON.parse(document.getElementById("payload").textContent);
  Object.assign(page, { header, runs: header.runs.map(() => null), open: openRunAt });
  await Promise.all((header.movie ? [0] : [...header.runs.keys()]).map(openRunAt));
  return page;
};

/** Open an explanation of the file with its model, once. A later model has only what differs from the first. */
const openRunAt = (at) =>
  madeOnceOf(page.header.runs[at], "run", async () => {
    const { runs, models } = page.header;
    const { model } = runs[at];
    page.models[model] = await madeOnceOf(models[model], "model", () => openModel({ ...models[0], ...models[model] }));
    return (page.runs[at] = recordedRun(runs[at], page.models[model]));
  });

/** Return a model of the header with its vocabulary and its parameters, by their names in the model's state_dict. */
const openModel = async (model) => {
  const parameters = new Map();
  for (const [name, place] of Object.entries(model.parameters)) {
    const numbers = numbersIn(await openBlock(place.block), place, sizeOfShape(place.shape));
    parameters.set(name, makeTensor(place.shape.length === 2 ? "OI" : "O", place.shape, numbers));
  }
  const maker = model.computes ? computing : null;
  return { ...model, maker, parameters, vocabulary: openVocabulary(model.vocabulary, model.config) };
};

/** Return an explanation of the file as a run. Those of a movie hold no tensors: their models compute them. */
const recordedRun = (recorded, model) => {
  const { text, to, translation, forced, source_ids: source, target_ids: expected } = recorded;
  if (!Object.keys(recorded.tensors).length)
    return computedRun(model, { text, to, translation, forced, source, expected });
  return openRun(recorded, model, readerOf(recorded.tensors, model));
};

/** Return an explanation of a header as a run. reader: gives the tensors. */
export const openRun = (recorded, model, reader) => {
  const { source_ids, target_ids, tensors, steps, ...run } = recorded;
  const targetIds = [model.config.start_id, ...target_ids.slice(0, -1)];
  const { text, to, translation, forced } = run;
  return finishRun({
    ...run,
    ...reader,
    shapes: tensors,
    model,
    sourceIds: source_ids,
    targetIds,
    switches: UNSWITCHED,
    steps: steps.map(({ probability, loss, alternatives, ...step }) => ({
      ...step,
      probability: numberSaid(probability),
      loss: numberSaid(loss),
      alternatives: alternatives.map(([token, share]) => [token, numberSaid(share)]),
    })),
    sentence: { text, to, translation, forced, source: source_ids, expected: target_ids },
  });
};

/** Read a number from JSON, where infinities and NaN are written as strings. */
const numberSaid = (said) => (typeof said === "number" ? said : ({ inf: Infinity, "-inf": -Infinity }[said] ?? NaN));

/** The operations that compute a tensor from others, in float32. */
const HOW = {
  same: (x) => x,
  plus: (x, y) => x.map((value, place) => value + y[place % y.length]), // positions are the same for every sentence
  activation: (x) => x.map((value) => Math.max(value, 0)),
  affine: (x, weight, bias) =>
    x.map((value, place) => Math.fround(value * weight[place % weight.length]) + bias[place % bias.length]),
};

/** Return functions that read the tensors of a run; each tensor is unpacked or computed once. */
const readerOf = (tensors, model) => {
  const opened = new Map();
  const get = (name) => madeOnce(opened, name, () => read(name));
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
  return { get, origin: () => "recorded" };
};

/** Return the content of a block of the page as an ArrayBuffer; each block is unpacked once. */
const openBlock = (name) =>
  madeOnce(openedBlocks, name, () => unpack(document.getElementById(`block-${name}`).textContent));

const openedBlocks = new Map();

/** Unpack the text of a block. */
export const unpack = (text) => {
  const bytes = Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0));
  return new Response(new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"))).arrayBuffer();
};

/** Return the numbers at a place in a block as float32, exactly. The lowest bytes of all stand first there. */
export const numbersIn = (buffer, { offset, type = "float32" }, count, size = type === "float32" ? 4 : 2) => {
  const apart = new Uint8Array(buffer, offset, count * size);
  const bytes = apart.map((_, at) => apart[(at % size) * count + Math.floor(at / size)]);
  return size === 4 ? new Float32Array(bytes.buffer) : Float32Array.from(new Uint16Array(bytes.buffer), widened);
};

/** Convert a 16-bit float: one sign bit, five bits of exponent, ten bits of fraction. */
const widened = (bits) => {
  const sign = bits & 0x8000 ? -1 : 1;
  const exponent = (bits >> 10) & 31;
  const fraction = bits & 1023;
  if (exponent === 0) return sign * 2 ** -24 * fraction;
  if (exponent === 31) return fraction ? NaN : sign * Infinity;
  return sign * 2 ** (exponent - 15) * (1 + fraction / 1024);
};
