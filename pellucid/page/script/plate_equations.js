// The equation of each part, as lines of plates with signs between them: {title, items}. An item is a sign,
// {sign, words}, or a plate. All names and orders are those of the model.

/** The lines for the block of a view. */
const equationLines = async (view) => {
  const { block } = view;
  if (block === "" || isAttention(block)) return attentionLines(view);
  if (block.endsWith("feed_forward")) return feedForwardLines(view);
  if (isResidual(block)) return residualLines(view);
  if (block === "encoder.output") return memoryLines(view);
  if (block === "decoder.word") return wordLines(view);
  return embeddingLines(view);
};

const sign = (text, said) => ({ sign: text, words: said });
const TIMES = sign("·", "times"),
  PLUS = sign("+", "plus"),
  EQUALS = sign("=", "equals");

const WEIGHT_WORDS = {
  queries: ["W<sup>Q</sup>", "Weights of the queries", "b<sup>Q</sup>"],
  keys: ["W<sup>K</sup>", "Weights of the keys", "b<sup>K</sup>"],
  values: ["W<sup>V</sup>", "Weights of the values", "b<sup>V</sup>"],
  hidden: ["W<sub>1</sub>", "Weights of the inner layer", "b<sub>1</sub>"],
  attention: ["W<sup>O</sup>", "Weights of the output", "b<sup>O</sup>"],
  outer: ["W<sub>2</sub>", "Weights of the outer layer", "b<sub>2</sub>"],
};

/** x · W + b = result. */
const productLine = async (view, title, name, words = WEIGHT_WORDS[splitName(name).last]) => {
  const result = await tensorPlate(view, name);
  const product = await productBehind(view.run, name, result.head);
  if (!product) return { title, items: [result] };
  const x = await inputPlate(view, product);
  const w = weightPlate(product, result.panel.columns, words[0], words[1], result.role);
  const bias = product.bias
    ? [
        PLUS,
        rowPlate(
          product.bias,
          product.weightName.replace(/weight$/, "bias"),
          product.columns,
          result.panel.columns,
          words[2],
          "Bias",
          result.role,
        ),
      ]
    : [];
  const shapes = productOfShapes(x.panel, { rows: x.panel.columns, columns: result.panel.columns });
  return { title, items: [x, TIMES, w, ...bias, EQUALS, { ...result, product: shapes }] };
};

/** What a part reads, as the X of its product; in a worked example a matrix that was given. */
const inputPlate = (view, { x, xTensor }) => {
  if (view.run.names.includes(x)) return tensorPlate(view, x, { brief: true, asInput: true });
  const panel = panelOf(xTensor);
  const { names } = view.run;
  const asking = x === "inputs" && names.includes("queries");
  const rows = asking
    ? view.run.labels("queries", "L")
    : view.run.labels(names.includes("keys") ? "keys" : "values", "M");
  return parameterPlate({
    name: x,
    symbol: x === "inputs" ? "X" : "Y",
    title: x === "inputs" ? "Inputs" : "Memory",
    role: "x",
    tensor: xTensor,
    word: "input",
    shape: `${panel.rows} × ${panel.columns}`,
    brief: true,
    panel,
    rows,
    columns: numbered(panel.columns),
  });
};

const feedForwardLines = async (view) => {
  const hidden = await productLine(
    view,
    "Wider: each position by itself, in more dimensions",
    inBlock(view, "hidden"),
  );
  const back = await productLine(
    view,
    "The activation, and back to the stream’s width",
    inBlock(view, "output"),
    WEIGHT_WORDS.outer,
  );
  const activation = ACTIVATION_WORDS[view.run.config.activation];
  back.items.splice(
    0,
    1,
    sign(`${activation} →`, `${activation} gives`),
    await tensorPlate(view, inBlock(view, "activated")),
  );
  return [hidden, back];
};

/** Add & Norm, or with the norm first: Norm, the sublayer, Add. */
const residualLines = async (view) => {
  const { run, block } = view;
  const add = await sumLine(view);
  const first = isNormFirst(run, block);
  const norm = await normLines(view, `${block}.norm`, first ? streamBefore(run, block) : null);
  const on = {
    title: "What goes on: the stream as the next part reads it",
    items: [await tensorPlate(view, `${block}.output`)],
  };
  return first ? [...norm, add, on] : [add, ...norm, on];
};

const sumLine = async (view) => {
  const { run, block } = view;
  const stream = await tensorPlate(view, streamBefore(run, block), { brief: true, asInput: true });
  const added = await tensorPlate(view, `${sublayerAddedBy(block)}.output`, { brief: true });
  const sum = await tensorPlate(view, `${block}.sum`);
  return {
    title: "Add: the stream and what the sublayer found",
    items: [stream, PLUS, added, EQUALS, { ...sum, product: sumOfShapes(sum.panel) }],
  };
};

/** Mean and variance of each row, the row standardised, then a weight and a bias for each dimension. */
const normLines = async (view, norm, input) => {
  const plate = (last, also) => tensorPlate(view, `${norm}.${last}`, also);
  const x = input ? [await tensorPlate(view, input, { brief: true, asInput: true })] : [];
  const first = [
    ...x,
    sign("μ, σ² →", "has in each row"),
    await plate("mean"),
    await plate("variance"),
    sign("(x − μ) ÷ √(σ² + ε) →", "standardised"),
    await plate("standardized"),
  ];
  const [weight, bias] = [view.run.parameter(`${norm}.weight`), view.run.parameter(`${norm}.bias`)];
  const result = await plate("output");
  const width = result.panel.columns;
  const trained = weight
    ? [
        TIMES,
        { ...rowPlate(weight, `${norm}.weight`, 0, width, "γ", "Weight of each dimension", "x"), word: "weight" },
        PLUS,
        rowPlate(bias, `${norm}.bias`, 0, width, "β", "Bias of each dimension", "x"),
      ]
    : [];
  const again = await plate("standardized", { brief: true, key: `${norm}.standardized|again` });
  const size = sizeInWords(result.panel);
  const second = trained.length
    ? [again, ...trained, EQUALS, result]
    : [sign("· weight + bias →", "times weight plus bias gives"), result];
  return [
    { title: "Norm: each position’s mean and variance", items: first },
    {
      title: "Weight and bias, number by number",
      items: second.map((item) =>
        item === result ? { ...item, product: `${size}·(1×${width}) + (1×${width}) = ${size}` } : item,
      ),
    },
  ];
};

const embeddingLines = async (view) => {
  const stack = view.block;
  const [tokens, positions, sum] = await Promise.all(
    ["token_embeddings", "positions", "embedded"].map((last) => tensorPlate(view, `${stack}.${last}`)),
  );
  const looked = await lookupLine(view, tokens);
  const first = looked ? { ...tokens, brief: true } : tokens;
  return [
    ...(looked ? [looked] : []),
    {
      title: "What the words are, and where they stand",
      items: [first, PLUS, positions, EQUALS, { ...sum, product: sumOfShapes(sum.panel) }],
    },
  ];
};

/** Each token's row of the embedding matrix, times √D; null where the page has no weights. */
const lookupLine = async (view, tokens) => {
  const { run, block } = view;
  const ids = (block === "encoder" ? run.sourceIds : run.targetIds)?.slice(0, tokens.panel.rows);
  const name = embeddingName(run, block);
  const weight = run.parameter(name);
  if (!weight || !ids) return null;
  const [count, width] = weight.shape;
  const scale = run.config.scale_embeddings === false ? "" : `√${width} `;
  const rows = parameterPlate({
    name,
    symbol: "W<sub>E</sub>",
    title: "The rows of these tokens",
    role: "x",
    notes: "W<sub>E</sub>",
    tensor: weight,
    panel: { rows: ids.length, columns: width, at: (row, column) => weight.data[ids[row] * width + column] },
    rows: ids.map((id, row) => `${tokens.rows[row]} (${id})`),
    columns: numbered(width),
    shape: `rows of ${count} × ${width} = vocabulary × width`,
    product: `one-hot (${ids.length}×${count})·(${count}×${width}) = (${ids.length}×${width})`,
  });
  const times = scale ? sign(`· ${scale}=`, `times ${scale}equals`) : EQUALS;
  return { title: "Looking up each token’s row in the embedding matrix", items: [rows, times, tokens] };
};

const memoryLines = async (view) => {
  const normed = view.run.names.includes("encoder.norm.output");
  const lines = normed ? await normLines(view, "encoder.norm", streamOf(view.run, "encoder")) : [];
  return [
    ...lines,
    {
      title: "The memory: what every cross-attention makes its keys and values from",
      items: [await tensorPlate(view, "encoder.output")],
    },
  ];
};

const wordLines = async (view) => {
  const normed = view.run.names.includes("decoder.norm.output");
  const lines = normed ? await normLines(view, "decoder.norm", streamOf(view.run, "decoder")) : [];
  return [...lines, ...(await vocabularyLines(view))];
};
