// The input of worked examples of the parts around an attention (embeddings with positions, feed-forward, Add & Norm),
// as in pellucid/worked/parts.py.

import { Matrix } from "../base/matrix.js";
import { checkSize, product } from "./attention.js";
import { UsageError } from "./typed_matrix.js";

/** Prepare a feed-forward network, with Add & Norm if a norm is given; or Add & Norm of a sublayer's output. */
export const givenLayer = (asked) => {
  const arrays = { ...asked.arrays };
  const [x] = arrays.inputs;
  const hasNorm = ["sublayer", "norm_weight", "norm_bias"].some((name) => name in arrays);
  const row = (name, columns, value) => {
    arrays[name] ??= [new Matrix(1, columns).map(() => value)];
    checkSize(name, arrays[name][0], 1, columns);
  };
  if (arrays.w_1) {
    const hidden = product("feed_forward.hidden", "inputs", x, "w_1", arrays.w_1[0]);
    const output = product("feed_forward.output", "activated", hidden, "w_2", arrays.w_2[0]);
    if (hasNorm) checkSize("w_2", arrays.w_2[0], hidden.columns, x.columns);
    row("b_1", hidden.columns, 0);
    row("b_2", output.columns, 0);
  } else checkSize("sublayer", arrays.sublayer[0], x.rows, x.columns);
  if (hasNorm) {
    row("norm_weight", x.columns, 1);
    row("norm_bias", x.columns, 0);
  }
  const layer = (model) => (y) => (arrays.w_1 ? model.feedForward("feed_forward", y) : arrays.sublayer[0]);
  const run = (model) => (hasNorm ? model.residual("residual", x, layer(model)) : layer(model)(x));
  return { arrays, heads: 1, rows: x.rows, columns: x.rows, ready: {}, config: { activation: "relu" }, run };
};

/** Prepare embeddings with positions. If a vocabulary size is given, the matrix has rows only for these ids. */
export const givenEmbedding = ({ arrays, vocabulary, scaled }) => {
  const ids = arrays.ids.flatMap(({ data }) => [...data]);
  const [rows] = arrays.w_embedding;
  const count = vocabulary ?? rows.rows;
  const wrong = ids.find((id) => !(Number.isInteger(id) && id >= 0 && id < count));
  if (wrong !== undefined) throw new UsageError(`ids: ${wrong} is no row of W_E: it has ${count}, from 0.`, "ids");
  if (vocabulary) checkSize("w_embedding", rows, ids.length, rows.columns);
  const table = new Matrix(count, rows.columns).map(() => NaN);
  for (let row = 0; row < rows.rows; row++) table.row(vocabulary ? ids[row] : row).set(rows.row(row));
  const config = { width: rows.columns, scale_embeddings: scaled };
  const run = (model) => model.embed("decoder", ids, 0);
  const known = { ...arrays, w_embedding: [table] };
  return { arrays: known, heads: 1, rows: ids.length, columns: ids.length, ids, ready: {}, config, run };
};
