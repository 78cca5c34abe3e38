// The causal map of a source word, as in pellucid/reading/causal_map.py: the word's embedding becomes the mean of all
// embeddings, one vector at a time becomes again what it was, and all that follows is computed anew.

import { Matrix } from "../base/matrix.js";
import { bestPlaces } from "../base/numbers.js";
import { madeOnceOf } from "../base/text.js";
import { GrowingPast } from "./cache.js";
import { Transformer } from "./model.js";

const RESTORED = /(_attention|feed_forward|^encoder.*residual_2|residual_3)\.output$/; // names of the tensors of a map

/** Return the causal map of the source word at a place, for a step: {clean, corrupt (the expected token's probability
 *  before and after), restored: [{name, row: it with the vector of each position restored}]}. pass: that of `keptPass`. */
export const causalMapOf = (pass, expected, place, step) => {
  const [corrupt] = probabilitiesWith(pass, expected, place, { step });
  const restored = [...pass.kept.keys()]
    .filter((name) => RESTORED.test(name))
    .map((name) => {
      const count = name.startsWith("encoder") ? pass.sourceIds.length : step + 1;
      const row = Array.from({ length: count }, (_, at) =>
        probabilitiesWith(pass, expected, place, { step, name, at }),
      );
      return { name, row: row.flat() };
    });
  return { clean: pass.kept.get("decoder.probabilities").at(step, expected[step]), corrupt, restored };
};

/** Return the step whose expected token loses the most probability without the source word at a place. */
export const stepLosingMost = (pass, expected, place) => {
  const clean = pass.kept.get("decoder.probabilities");
  const lost = probabilitiesWith(pass, expected, place).map((now, step) => clean.at(step, expected[step]) - now);
  return bestPlaces(lost, 1)[0];
};

/** Return the expected token's probability at each step, or at one alone, with a source word made unreadable; and with
 *  the vector at a position of the tensor `name` restored. */
const probabilitiesWith = (pass, expected, place, { step = null, name = "", at = 0 } = {}) => {
  const { model, sourceIds, targetIds, kept } = pass;
  let shares = null;
  const see = (path, last, axes, value) => {
    const full = `${path}.${last}`;
    if (full === "encoder.token_embeddings") return withRow(value, place, blankOf(model));
    if (full === name) return withRow(value, at, kept.get(name).row(at));
    if (full === "decoder.output" && step !== null) return new Matrix(1, value.columns, value.row(step));
    if (full === "decoder.probabilities") shares = value;
    return value;
  };
  const edited = new Transformer(model.config, model.parameters, see);
  const mask = sourceIds.map(() => true);
  const remembered = () => edited.remember(edited.encode(sourceIds, mask), mask);
  const isOfSource = name.startsWith("encoder");
  const memory = isOfSource ? remembered() : madeOnceOf(pass, `memory without ${place}`, remembered);
  edited.decode(step === null ? targetIds : targetIds.slice(0, step + 1), memory, new GrowingPast());
  return step === null ? expected.map((id, row) => shares.at(row, id)) : [shares.at(0, expected[step])];
};

const withRow = (matrix, row, vector) => matrix.map((x, each, column) => (each === row ? vector[column] : x));

/** Return what stands for an unreadable word: the mean of all embeddings of the encoder. */
const blankOf = (model) =>
  madeOnceOf(model, "mean embedding", () => {
    const { config, parameters } = model;
    const { shape, data } = parameters.get("embedding.weight") ?? parameters.get("encoder.embedding.weight");
    const [count, width] = shape;
    const scale = config.scale_embeddings ? Math.sqrt(width) : 1;
    const mean = new Float64Array(width);
    data.forEach((x, at) => (mean[at % width] += (x * scale) / count));
    return mean;
  });
