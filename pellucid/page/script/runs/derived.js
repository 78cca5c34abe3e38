// Tensors that the file need not hold: made again of others in float32, with the same bits as when they were recorded;
// pellucid/page/derived.py tried each. Storing in a Float32Array rounds to float32, as every step must.

import { makeTensor, sizeOfShape } from "../base/numbers.js";
import { NORM_EPSILON } from "../model/model.js";

/** A tensor of these axes and shape, made of other tensors and parameters; `how` is a name in derived.HOW. */
export const derive = ({ axes, shape, how }, sources, config, ids) => {
  const numbers = sources.map(({ data }) => data);
  return makeTensor(axes, shape, DERIVATIONS[how]({ config, ids, shape, width: shape.at(-1) }, ...numbers));
};

const DERIVATIONS = {
  first: (_, x) => x,
  last: (_, ...numbers) => numbers.at(-1),
  zeros: (_, x) => new Float32Array(x.length),
  causal: ({ shape, width }, x) =>
    x.map((_, place) => (place % width <= Math.floor(place / width) % shape.at(-2) ? 0 : -Infinity)),
  scale: ({ config: { width, heads } }, x) => x.map((value) => value * Math.fround(1 / Math.sqrt(width / heads))),
  plus: (_, x, y) => x.map((value, place) => value + y[place % y.length]), // positions are the same for every sentence
  relu: (_, x) => x.map((value) => Math.max(value, 0)),
  concatenate: ({ config: { heads }, shape: [, length], width }, x) => {
    const headWidth = width / heads;
    return x.map((_, place) => {
      const [position, column] = [Math.floor(place / width), place % width];
      return x[(Math.floor(column / headWidth) * length + position) * headWidth + (column % headWidth)];
    });
  },
  standardize: ({ width }, x, mean, variance) =>
    x.map((value, place) => {
      const position = Math.floor(place / width);
      const deviation = Math.fround(Math.sqrt(Math.fround(variance[position] + Math.fround(NORM_EPSILON))));
      return Math.fround(value - mean[position]) / deviation;
    }),
  affine: ({ width }, x, weight, bias) =>
    x.map((value, place) => Math.fround(value * weight[place % width]) + bias[place % width]),
  lookup: ({ config, ids, shape, width }, table) => {
    const scale = Math.fround(config.scale_embeddings === false ? 1 : Math.sqrt(config.width));
    const rows = new Float32Array(sizeOfShape(shape));
    return rows.map((_, place) => table[ids[Math.floor(place / width)] * width + (place % width)] * scale);
  },
};
