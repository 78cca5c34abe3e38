// The Transformer in the order of the paper and with its symbols (Vaswani et al. 2017, Attention Is All You Need).
// It is the forward pass of pellucid/model.py, with the same names, for one sentence. A matrix has a row for each
// position. A tensor that has the axis H (heads) in Python is a list of matrices here, one for each head.

import { Matrix } from "../base/matrix.js";
import { sumOf } from "../base/numbers.js";
import { GrowingPast, Mask } from "./cache.js";

export class Transformer {
  /**
   * config: the fields of ModelConfig. parameters: a map like the model's state_dict; weights have the axes
   * (out, in). see(path, name, axes, value) is called with every tensor as soon as it is computed; the model
   * continues with the value that `see` returns.
   */
  constructor(config, parameters, see = (path, name, axes, value) => value) {
    Object.assign(this, { config, parameters, see });
  }

  /** Return the logits of the next token at every target position, in one pass (teacher forcing). */
  forward(source, sourceMask, target) {
    const memory = this.remember(this.encode(source, sourceMask), sourceMask);
    return this.decode(target, memory, new GrowingPast());
  }

  // The stacks (section 3.1)

  /** Return the output of the encoder for these ids. sourceMask: true at real tokens. */
  encode(ids, sourceMask) {
    const mask = new Mask(sourceMask);
    let x = this.embed("encoder", ids, 0);
    for (let layer = 0; layer < this.config.encoder_layers; layer++) {
      x = this.encoderLayer(`encoder.layers.${layer}`, x, mask);
    }
    return this.see("encoder", "output", "BLD", this.normFirst ? this.norm("encoder.norm", x) : x);
  }

  /** Return the source's keys and values for each decoder layer; they are computed once and used at every step. */
  remember(encoded, sourceMask) {
    const layers = [...Array(this.config.decoder_layers).keys()];
    const pairs = layers.map((layer) => this.keysAndValues(`decoder.layers.${layer}.cross_attention`, encoded));
    return { pairs, mask: new Mask(sourceMask) };
  }

  /** Return the logits of the token after each of these ids. memory: what `remember` returned; past: a cache. */
  decode(ids, memory, past) {
    const mask = past.mask();
    let x = this.embed("decoder", ids, past.position);
    for (let layer = 0; layer < this.config.decoder_layers; layer++) {
      x = this.decoderLayer(layer, x, mask, memory, past);
    }
    const output = this.see("decoder", "output", "BLD", this.normFirst ? this.norm("decoder.norm", x) : x);
    return this.logits(output);
  }

  /** Apply the linear layer before the softmax. In a tied model, its weight is the embedding matrix (section 3.4). */
  logits(output) {
    const linear = this.linear(output, this.projection, "decoder.projection.bias");
    const logits = this.see("decoder", "logits", "BLV", linear);
    this.see("decoder", "probabilities", "BLV", softmaxOfRows(logits));
    return logits;
  }

  /** Apply self-attention and the feed-forward network, each with Add & Norm. */
  encoderLayer(path, x, mask) {
    const lookAround = (y) => {
      const attention = `${path}.self_attention`;
      return this.attention(attention, y, this.keysAndValues(attention, y), mask);
    };
    x = this.residual(`${path}.residual_1`, x, lookAround);
    return this.residual(`${path}.residual_2`, x, (y) => this.feedForward(`${path}.feed_forward`, y));
  }

  /** Apply masked self-attention, cross-attention and the feed-forward network, each with Add & Norm. */
  decoderLayer(layer, x, mask, memory, past) {
    const path = `decoder.layers.${layer}`;
    const lookBack = (y) => {
      const attention = `${path}.self_attention`;
      return this.attention(attention, y, past.extend(layer, this.keysAndValues(attention, y)), mask);
    };
    const lookAtSource = (y) => this.attention(`${path}.cross_attention`, y, memory.pairs[layer], memory.mask);
    x = this.residual(`${path}.residual_1`, x, lookBack);
    x = this.residual(`${path}.residual_2`, x, lookAtSource);
    return this.residual(`${path}.residual_3`, x, (y) => this.feedForward(`${path}.feed_forward`, y));
  }

  // Attention: MultiHead(Q, K, V) = Concat(head_1, …, head_h) W^O (section 3.2.2)

  /** Return the keys and values of the positions in y, for each head. */
  keysAndValues(path, y) {
    return { keys: this.split(this.project(`${path}.key`, y)), values: this.split(this.project(`${path}.value`, y)) };
  }

  /** Compare each position's query with the keys; return weighted sums of the values. */
  attention(path, x, remembered, mask) {
    const queries = this.see(path, "queries", "BHLK", this.split(this.project(`${path}.query`, x)));
    const keys = this.see(path, "keys", "BHMK", remembered.keys);
    const values = this.see(path, "values", "BHMU", remembered.values);
    const context = this.attend(path, queries, keys, values, mask);
    const concatenated = this.see(path, "concatenated", "BLD", Matrix.besideEachOther(context));
    return this.see(path, "output", "BLD", this.project(`${path}.output`, concatenated));
  }

  /** Split the columns into one matrix for each head. */
  split(x) {
    return x.split(this.config.heads);
  }

  /** Compute Attention(Q, K, V) = softmax(Q Kᵀ / √d_k) V (equation 1) for each head. */
  attend(path, queries, keys, values, mask, scale = 1 / Math.sqrt(queries[0].columns)) {
    const see = (name, axes, heads) => this.see(path, name, axes, heads);
    const products = queries.map((head, h) => head.timesTransposed(keys[h]));
    const scores = see("scores", "BHLM", products);
    const scaled = scores.map((head) => head.map((score) => score * scale));
    const scaledScores = see("scaled_scores", "BHLM", scaled);
    const added = scores.map((head) => head.map((_, query, key) => mask.added(query, key)));
    const masks = see("mask", "BHLM", added);
    const masked = scaledScores.map((head, h) => head.plus(masks[h]));
    const maskedScores = see("masked_scores", "BHLM", masked);
    const weights = see("weights", "BHLM", maskedScores.map(softmaxOfRows));
    const sums = weights.map((head, h) => head.times(values[h]));
    return see("context", "BHLU", sums);
  }

  // The other parts of a layer

  /** Compute FFN(x) = max(0, x W_1 + b_1) W_2 + b_2 (equation 2), where max(0, ·) can be another activation. */
  feedForward(path, x) {
    const hidden = this.see(path, "hidden", "BLF", this.project(`${path}.inner`, x));
    const activated = this.see(path, "activated", "BLF", hidden.map(ACTIVATIONS[this.config.activation]));
    return this.see(path, "output", "BLD", this.project(`${path}.outer`, activated));
  }

  /** Add & Norm: compute LayerNorm(x + Sublayer(x)), or x + Sublayer(LayerNorm(x)) if the norm comes first. */
  residual(path, x, sublayer) {
    const added = sublayer(this.normFirst ? this.norm(`${path}.norm`, x) : x);
    const total = this.see(path, "sum", "BLD", x.plus(added));
    return this.see(path, "output", "BLD", this.normFirst ? total : this.norm(`${path}.norm`, total));
  }

  /** LayerNorm: scale each position's vector to mean 0 and variance 1; apply a weight and a bias (Ba et al. 2016). */
  norm(path, x) {
    const [weight, bias] = ["weight", "bias"].map((name) => this.parameters.get(`${path}.${name}`).data);
    const middle = meanOfRows(x); // an edited mean leaves the variance as it is
    const mean = this.see(path, "mean", "BL", middle);
    const squares = x.map((value, position) => (value - middle.at(position, 0)) ** 2);
    const variance = this.see(path, "variance", "BL", meanOfRows(squares));
    const deviation = variance.map((value) => Math.sqrt(value + NORM_EPSILON));
    const divided = x.map((value, position) => (value - mean.at(position, 0)) / deviation.at(position, 0));
    const standardized = this.see(path, "standardized", "BLD", divided);
    const output = standardized.map((value, _, d) => value * weight[d] + bias[d]);
    return this.see(path, "output", "BLD", output);
  }

  /** Return token embeddings times √D (section 3.4) plus positions (section 3.5). The first id has position `first`. */
  embed(stack, ids, first) {
    const shared = this.has("embedding.weight");
    const table = this.parameters.get(shared ? "embedding.weight" : `${stack}.embedding.weight`);
    const width = this.config.width;
    const scale = this.config.scale_embeddings ? Math.sqrt(width) : 1;
    const empty = new Matrix(ids.length, width);
    const vectors = empty.map((_, row, column) => table.data[ids[row] * width + column] * scale);
    const embeddings = this.see(stack, "token_embeddings", "BLD", vectors);
    const waves = empty.map((_, row, column) => sinusoid(first + row, column, width));
    const positions = this.see(stack, "positions", "LD", waves);
    return this.see(stack, "embedded", "BLD", embeddings.plus(positions));
  }

  // Parameters

  /** The name of the matrix that makes the logits. */
  get projection() {
    const matrices = ["decoder.projection.weight", "embedding.weight", "decoder.embedding.weight"];
    return matrices.find((name) => this.has(name));
  }

  get normFirst() {
    return this.config.norm === "first";
  }

  has(name) {
    return this.parameters.has(name);
  }

  /** Compute x · Wᵀ + b with the weight and bias at this path. */
  project(path, x) {
    return this.linear(x, `${path}.weight`, `${path}.bias`);
  }

  /** Compute x · Wᵀ + b. If the model has no such bias, b is 0. */
  linear(x, weightName, biasName) {
    const { shape, data } = this.parameters.get(weightName);
    const product = x.timesTransposed(new Matrix(shape[0], shape[1], data));
    const bias = this.parameters.get(biasName)?.data;
    return bias ? product.map((value, _, column) => value + bias[column]) : product;
  }
}

export const NORM_EPSILON = 1e-5;

export const ACTIVATIONS = {
  relu: (x) => Math.max(0, x),
  gelu: (x) => (x * (1 + errorFunction(x / Math.SQRT2))) / 2,
  silu: (x) => x / (1 + Math.exp(-x)),
};

/** Compute a softmax: `powers` are exp(x − the largest x), `shares` are powers / sum; if all x are −∞, shares are 0. */
export const softmaxOf = (numbers) => {
  const most = numbers.reduce((largest, x) => Math.max(largest, x), -Infinity);
  const powers = numbers.map((x) => (most === -Infinity ? 0 : Math.exp(x - most)));
  const sum = sumOf(powers);
  return { most, powers, sum, shares: powers.map((power) => (sum === 0 ? 0 : power / sum)) };
};

export const softmaxOfRows = (x) => {
  const made = new Matrix(x.rows, x.columns);
  for (let row = 0; row < x.rows; row++) made.row(row).set(softmaxOf(x.row(row)).shares);
  return made;
};

/** Return the mean of each row, as one column. */
const meanOfRows = (x) => new Matrix(x.rows, 1).map((_, row) => sumOf(x.row(row)) / x.columns);

/** Return PE(i, 2j) = sin(i / 10000^(2j/D)) or PE(i, 2j+1) = cos(…) for position i, from 0 (section 3.5). */
export const sinusoid = (position, column, width) => {
  const angle = position / 10000 ** ((column - (column % 2)) / width);
  return column % 2 ? Math.cos(angle) : Math.sin(angle);
};

/** Return erf(x) = 2/√π · e^(−x²) · (x + 2x³/3 + 4x⁵/15 + …). All terms have one sign, so no digits cancel. */
const errorFunction = (x) => {
  if (Math.abs(x) > 6) return Math.sign(x);
  let [term, sum] = [x, x];
  for (let n = 1; Math.abs(term) > 1e-17 * Math.abs(sum); n++) {
    term *= (2 * x * x) / (2 * n + 1);
    sum += term;
  }
  return (2 / Math.sqrt(Math.PI)) * Math.exp(-x * x) * sum;
};
