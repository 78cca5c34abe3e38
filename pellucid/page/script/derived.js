// Tensors that the file need not hold: made again of others in float32, with the same bits as when they were recorded;
// pellucid/page/derived.py tried each. Storing in a Float32Array rounds to float32, as every step must.

/** A tensor of these axes and shape, as `place` in the header says how: {how, of, parameters, by}. */
const derive = ({ axes, shape, how, by }, tensors, parameters, ids) => {
  const numbers = [...tensors, ...parameters].map(({ data }) => data);
  return makeTensor(axes, shape, DERIVATIONS[how]({ by, ids, shape, width: shape.at(-1) }, ...numbers));
};

const DERIVATIONS = {
  same: (_, x) => x,
  "first rows": ({ shape }, x) => x.subarray(0, sizeOfShape(shape)),
  zeros: (_, x) => new Float32Array(x.length),
  causal: ({ shape, width }, x) => x.map((_, place) => {
    const [query, key] = [Math.floor(place / width) % shape.at(-2), place % width];
    return key <= query ? 0 : -Infinity;
  }),
  times: ({ by }, x) => x.map((value) => value * Math.fround(by)),
  plus: (_, x, y) => x.map((value, place) => value + y[place % y.length]), // positions are the same for every sentence
  relu: (_, x) => x.map((value) => Math.max(value, 0)),
  beside: ({ by, shape: [, length], width }, x) => {
    const headWidth = width / by;
    return x.map((_, place) => {
      const [position, column] = [Math.floor(place / width), place % width];
      return x[(Math.floor(column / headWidth) * length + position) * headWidth + (column % headWidth)];
    });
  },
  standardize: ({ by, width }, x, mean, variance) => x.map((value, place) => {
    const position = Math.floor(place / width);
    const deviation = Math.fround(Math.sqrt(Math.fround(variance[position] + Math.fround(by))));
    return Math.fround(value - mean[position]) / deviation;
  }),
  affine: ({ width }, x, weight, bias) =>
    x.map((value, place) => Math.fround(value * weight[place % width]) + bias[place % width]),
  "rows of": ({ by, ids, shape, width }, table) => new Float32Array(sizeOfShape(shape)).map((_, place) => {
    const [row, column] = [ids[Math.floor(place / width)], place % width];
    return table[row * width + column] * Math.fround(by);
  }),
};
