// The ledger of one word, as in pellucid/reading/ledger.py: its logit as a sum. With attention weights, the norms'
// variances and the gates a(x) / x held at their values, a pass is linear: the passes of its summands add up to it.

import { Matrix } from "../base/matrix.js";
import { sumOf } from "../base/numbers.js";
import { GrowingPast } from "./cache.js";
import { NORM_EPSILON, Transformer } from "./model.js";

/** A Transformer that passes on one summand: `inputs` has the matrices that enter the stacks (a missing one is 0), and
 *  hasBiases says whether biases are added. kept: the tensors of the pass whose weights, variances and gates it has. */
class Held extends Transformer {
  constructor({ config, parameters }, kept, inputs, hasBiases) {
    super(config, parameters);
    Object.assign(this, { kept, inputs, hasBiases });
  }

  embed(stack, ids) {
    return this.inputs[stack] ?? new Matrix(ids.length, this.config.width);
  }

  keysAndValues(path, y) {
    return { keys: [], values: this.split(this.project(`${path}.value`, y)) };
  }

  attention(path, x, { values }) {
    const sums = this.kept.get(`${path}.weights`).map((head, h) => head.times(values[h]));
    return this.project(`${path}.output`, Matrix.besideEachOther(sums));
  }

  feedForward(path, x) {
    const [hidden, activated] = ["hidden", "activated"].map((name) => this.kept.get(`${path}.${name}`));
    const gate = (row, column) => activated.at(row, column) / (hidden.at(row, column) || Infinity);
    const gated = this.project(`${path}.inner`, x).map((value, row, column) => value * gate(row, column));
    return this.project(`${path}.outer`, gated);
  }

  norm(path, x) {
    const [weight, bias] = ["weight", "bias"].map((name) => this.parameters.get(`${path}.${name}`).data);
    const variance = this.kept.get(`${path}.variance`);
    const means = new Matrix(x.rows, 1).map((_, row) => sumOf(x.row(row)) / x.columns);
    const scale = (row, column) => weight[column] / Math.sqrt(variance.at(row, 0) + NORM_EPSILON);
    const added = (column) => (this.hasBiases ? bias[column] : 0);
    return x.map((value, row, column) => (value - means.at(row, 0)) * scale(row, column) + added(column));
  }

  linear(x, weightName, biasName) {
    return super.linear(x, weightName, this.hasBiases ? biasName : null);
  }

  logits(output) {
    return output;
  }
}

/** Return a matrix in which all rows but one are 0. */
const onlyRow = (matrix, kept) => matrix.map((value, row) => (row === kept ? value : 0));

/** Make a pass and keep its tensors; `inputs` are its summands: every word that a stack reads, the positions of both
 *  stacks, and the biases, each {stack, place} with the `output` of the decoder that it adds. */
export const keptPass = (model, sourceIds, targetIds) => {
  const kept = new Map();
  const keep = (path, name, axes, value) => kept.set(`${path}.${name}`, value) && value;
  const mask = sourceIds.map(() => true);
  const plain = new Transformer(model.config, model.parameters, keep);
  const memory = plain.remember(plain.encode(sourceIds, mask), mask);
  plain.decode(targetIds, memory, new GrowingPast());
  const term = (stack, place, inputs, hasBiases = false) => {
    return { stack, place, output: new Held(model, kept, inputs, hasBiases).forward(sourceIds, mask, targetIds) };
  };
  const stacks = { encoder: sourceIds, decoder: targetIds };
  const words = Object.entries(stacks).flatMap(([stack, ids]) => {
    const embeddings = kept.get(`${stack}.token_embeddings`);
    return ids.map((_, place) => term(stack, place, { [stack]: onlyRow(embeddings, place) }));
  });
  const positions = Object.keys(stacks).map((stack) => term(stack, null, { [stack]: kept.get(`${stack}.positions`) }));
  return { model, sourceIds, targetIds, kept, memory, inputs: [...words, ...positions, term(null, null, {}, true)] };
};

/** Return what a logit is the product of: the row of the projection of a token (less that of another one), and its bias. */
const directionOf = ({ model }, [id, other = null]) => {
  const transformer = new Transformer(model.config, model.parameters);
  const { data } = model.parameters.get(transformer.projection);
  const bias = model.parameters.get("decoder.projection.bias")?.data;
  const { width } = model.config;
  const less = (numbers, of, at) => numbers[of(id) + at] - (other === null ? 0 : numbers[of(other) + at]);
  const vector = Float64Array.from({ length: width }, (_, at) => less(data, (each) => each * width, at));
  return { vector, bias: bias ? less(bias, (each) => each, 0) : 0 };
};

const dotted = (row, { vector }) => sumOf(row.map((value, at) => value * vector[at]));

/** Return the source's share in each expected token: of the absolute values of all words' terms. */
export const sourceShares = (pass, expected) =>
  expected.map((id, step) => {
    const direction = directionOf(pass, [id]);
    const size = ({ output }) => Math.abs(dotted(output.row(step), direction));
    const words = pass.inputs.filter(({ place }) => place !== null);
    const sizeOf = (side) => sumOf(words.filter(({ stack }) => stack === side).map(size));
    const [source, target] = ["encoder", "decoder"].map(sizeOf);
    return source / (source + target);
  });

/** Return the ledger of a token at a step, or of one less another: its logit and three lists of terms, each with its
 *  share of the logit, and by how much the logit falls without it: {zero, mean} of a part, {absent} of a word. */
export const ledgerOf = (pass, step, ids) => {
  const direction = directionOf(pass, ids);
  const shareOf = (row, isBias) => dotted(row, direction) + (isBias ? direction.bias : 0);
  const logit = shareOf(pass.kept.get("decoder.output").row(step), true);
  const fallOf = (edit, isOfSource) => logit - shareOf(outputWith(pass, edit, isOfSource).row(step), true);
  const byInput = pass.inputs
    .filter(({ stack, place }) => stack !== "decoder" || place === null || place <= step)
    .map(({ stack, place, output }) => ({
      stack,
      place,
      share: shareOf(output.row(step), stack === null),
      ...(place !== null && { absent: fallOf(hiding(stack, place), stack === "encoder") }),
    }));
  const byPosition = streamOf(pass, step).map(({ vector, ...term }) => ({
    ...term,
    share: shareOf(vector, term.part === null),
  }));
  const parts = Map.groupBy(byPosition, ({ part, name, head }) => `${part} ${name} ${head}`);
  const byPart = [...parts.values()].map((terms) => {
    const { part, name, head } = terms[0];
    const without = (how) => fallOf(replacing(part, name, head, step, how));
    const falls = part && { zero: without("zero"), mean: without("mean") };
    return { part, name, head, share: sumOf(terms.map(({ share }) => share)), ...falls };
  });
  return { logit, byInput, byPart, byPosition };
};

/** Return what the decoder's stream is made of at a step, each vector carried through the norms that follow it: the word
 *  read, its position, what each head took from each position (`at`), the feed-forwards, and the biases (part: null). */
const streamOf = ({ model, kept }, step) => {
  const { config, parameters } = model;
  const transformer = new Transformer(config, parameters);
  const matrixOf = (path) =>
    new Matrix(...parameters.get(`${path}.weight`).shape, parameters.get(`${path}.weight`).data);
  const biases = { part: null, vector: new Float64Array(config.width) };
  const addBias = (path) =>
    biases.vector.forEach((_, at) => (biases.vector[at] += parameters.get(`${path}.bias`).data[at]));
  const embedded = (name) => ({ part: "decoder", name, vector: kept.get(`decoder.${name}`).row(step) });
  const terms = [embedded("token_embeddings"), embedded("positions"), biases];
  const norm = (path) => {
    const variance = kept.get(`${path}.variance`).at(step, 0);
    for (const term of terms) {
      const mean = sumOf(term.vector) / config.width;
      const { data } = parameters.get(`${path}.weight`);
      term.vector = term.vector.map((x, at) => ((x - mean) * data[at]) / Math.sqrt(variance + NORM_EPSILON));
    }
    addBias(path);
  };
  const takenBy = (part) => {
    const outputs = matrixOf(`${part}.output`).split(config.heads);
    const looked = kept.get(`${part}.weights`).map((head) => head.row(step));
    return kept.get(`${part}.values`).flatMap((values, head) => {
      const taken = values.map((x, at) => x * looked[head][at]).timesTransposed(outputs[head]);
      const places = [...looked[head].keys()].filter((at) => !part.endsWith(".self_attention") || at <= step);
      return places.map((at) => ({ part, name: "context", head, at, vector: taken.row(at) }));
    });
  };
  for (let layer = 0; layer < config.decoder_layers; layer++) {
    const path = `decoder.layers.${layer}`;
    ["self_attention", "cross_attention", "feed_forward"].forEach((last, at) => {
      const part = `${path}.${last}`;
      const isLook = last !== "feed_forward";
      const rows = isLook ? takenBy(part) : kept.get(`${part}.activated`).timesTransposed(matrixOf(`${part}.outer`));
      terms.push(...(isLook ? rows : [{ part, name: "activated", vector: rows.row(step) }]));
      addBias(isLook ? `${part}.output` : `${part}.outer`);
      if (!transformer.normFirst) norm(`${path}.residual_${at + 1}.norm`);
    });
  }
  if (transformer.normFirst) norm("decoder.norm");
  return [...terms.filter((term) => term !== biases), biases];
};

/** Return the decoder's output with an edit: a function like `see` of the model. */
const outputWith = ({ model, sourceIds, targetIds, memory }, edit, isOfSource = false) => {
  let output = null;
  const see = (path, name, axes, value) => {
    const used = edit(path, name, value) ?? value;
    if (path === "decoder" && name === "output") output = used;
    return used;
  };
  const edited = new Transformer(model.config, model.parameters, see);
  edited.logits = () => null; // of the whole vocabulary nothing is needed
  const mask = sourceIds.map(() => true);
  if (isOfSource) edited.forward(sourceIds, mask, targetIds);
  else edited.decode(targetIds, memory, new GrowingPast());
  return output;
};

/** Return the edit that makes one part's vector at a step 0, or its mean over the positions. */
const replacing = (part, tensor, head, step, how) => {
  const replaced = (matrix) => {
    const mean = (column) =>
      sumOf(Array.from({ length: matrix.rows }, (_, row) => matrix.at(row, column))) / matrix.rows;
    return matrix.map((x, row, column) => (row !== step ? x : how === "zero" ? 0 : mean(column)));
  };
  return (path, name, value) => {
    if (path !== part || name !== tensor) return null;
    return head === undefined ? replaced(value) : value.map((each, h) => (h === head ? replaced(each) : each));
  };
};

/** Return the edit that makes the embedding of a word 0 and hides it from all other positions. */
const hiding = (stack, place) => {
  const hide = (keepsOwn) => (x, row, column) => (column === place && !(keepsOwn && row === place) ? -Infinity : x);
  return (path, name, value) => {
    if (path === stack && name === "token_embeddings") return value.map((x, row) => (row === place ? 0 : x));
    const isOwn = path.startsWith(stack) && path.endsWith(".self_attention");
    const isLook = isOwn || (stack === "encoder" && path.endsWith(".cross_attention"));
    return name === "mask" && isLook ? value.map((head) => head.map(hide(isOwn))) : null;
  };
};

/** Return Spearman's rank correlation of the terms' shares with their falls of one kind. */
export const rankCorrelation = (terms, kind) => {
  const known = terms.filter((term) => term[kind] !== undefined);
  const ranksBy = (name) => {
    const order = [...known.keys()].sort((one, other) => known[one][name] - known[other][name]);
    return known.map((_, at) => order.indexOf(at) - (known.length - 1) / 2);
  };
  const [shares, falls] = [ranksBy("share"), ranksBy(kind)];
  return sumOf(shares.map((rank, at) => rank * falls[at])) / sumOf(shares.map((rank) => rank * rank));
};
