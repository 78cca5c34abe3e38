// What a tensor is made from: the tensors and the parameters that the model multiplied, added or normalised.
// A worked example has no path before its names and says what it started from in `run.given`.

/** The tensor that a part of a layer reads: the stream, or with the norm first, its norm. */
const readBy = (run, part) => {
  const { normFirst, sublayers } = sublayersOf(run, layerOf(part));
  const place = sublayers.findIndex((sublayer) => sublayer.part === part);
  return normFirst ? `${sublayers[place].residual}.norm.output` : streamBefore(run, part);
};

/** The stream that runs past a part of a layer: what the residual connection adds. */
const streamBefore = (run, part) => {
  const { sublayers } = sublayersOf(run, layerOf(part));
  const place = sublayers.findIndex((sublayer) => sublayer.part === part || sublayer.residual === part);
  return place === 0 ? inputOf(run, layerOf(part)) : `${sublayers[place - 1].residual}.output`;
};

/** The tensor that a norm makes its mean and variance of. */
const normalisedBy = (run, norm) => {
  const owner = norm.replace(/\.norm$/, "");
  if (!layerOf(owner)) return streamOf(run, owner);
  return sublayersOf(run, layerOf(owner)).normFirst ? streamBefore(run, owner) : `${owner}.sum`;
};

/** What leaves the last layer of a stack. */
const streamOf = (run, stack) => {
  const layers = layersOf(run, stack);
  return layers.length ? `${sublayersOf(run, layers.at(-1)).sublayers.at(-1).residual}.output` : `${stack}.embedded`;
};

const PROJECTIONS = { queries: "query", keys: "key", values: "value" };

/**
 * How x · W + b makes a tensor: {x (its name), xTensor, weight, bias (tensors or null), weightName, columns: where
 * this head's columns of W begin}. In `weight` a row is one output, as nn.Linear keeps it. Null: no such product.
 */
const productBehind = async (run, name, head = 0) => {
  const { path, last } = splitName(name);
  if (path === "") return productGiven(run, name, head);
  if (isAttention(path) && PROJECTIONS[last]) {
    const width = (await run.get(name)).shape.at(-1);
    const x = last !== "queries" && path.endsWith("cross_attention") ? "encoder.output" : readBy(run, path);
    return linearProduct(run, x, `${path}.${PROJECTIONS[last]}`, head * width);
  }
  if (isAttention(path) && last === "output") return linearProduct(run, `${path}.concatenated`, `${path}.output`);
  if (path.endsWith("feed_forward") && last === "hidden") return linearProduct(run, readBy(run, path), `${path}.inner`);
  if (path.endsWith("feed_forward") && last === "output") return linearProduct(run, `${path}.activated`, `${path}.outer`);
  return last === "logits" ? projectionToWords(run) : null;
};

/** x · W + b with the weight and the bias of a linear layer, named by its path. */
const linearProduct = async (run, x, layer, columns = 0) => ({
  x,
  xTensor: await run.get(x),
  weight: run.parameter(`${layer}.weight`),
  bias: run.parameter(`${layer}.bias`),
  weightName: `${layer}.weight`,
  columns,
});

/** The linear layer before the softmax; where it is tied, its matrix is the embedding's. */
const projectionToWords = async (run) => {
  const layers = ["decoder.projection", "decoder.embedding", "embedding"];
  const layer = layers.find((each) => run.parameter(`${each}.weight`)) ?? "embedding";
  const product = await linearProduct(run, "decoder.output", layer);
  return { ...product, bias: run.parameter("decoder.projection.bias") };
};

/** The same for a worked example, whose W is written in × out, as on paper, and has no bias. */
const productGiven = async (run, name, head) => {
  const { projections, matrices, wOutput } = run.given;
  if (name === "output") {
    const xTensor = await run.get("concatenated");
    return { x: "concatenated", xTensor, weight: turned(wOutput), bias: null, weightName: "w_output", columns: 0 };
  }
  const made = name in matrices ? null : projections[name];
  if (!made?.weights) return null;
  const weights = isPerHead(made.weights) ? made.weights[head] : made.weights;
  const columns = isPerHead(made.weights) ? 0 : (head * columnsOf(made.weights)) / run.given.heads;
  const xTensor = makeTensor(
    "BLD",
    [1, made.matrix.length, columnsOf(made.matrix)],
    Float64Array.from(made.matrix.flat()),
  );
  return { x: made.source, xTensor, weight: turned(weights), bias: null, weightName: made.weight, columns };
};

/** Rows of numbers, in × out, as a tensor, out × in. */
const turned = (matrix) => {
  const columns = transpose(matrix);
  return makeTensor("DD", [columns.length, matrix.length], Float64Array.from(columns.flat()));
};

/** The part of W that a head uses, as it is written in X · W: a row for each dimension of X. */
const weightPanel = ({ weight, columns }, count) => {
  const inputs = weight.shape[1];
  return { rows: inputs, columns: count, at: (row, column) => weight.data[(columns + column) * inputs + row] };
};
