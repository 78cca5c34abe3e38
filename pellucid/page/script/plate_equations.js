// The equation of each part, as lines of plates with signs between them: {title, items}. An item is a sign,
// {sign, words}, or a plate. What a plate is made of, its symbols and names come from the table of tensors.

/** The lines for the block of a view. */
const equationLines = async (view) => {
  const { block } = view;
  if (block === "" || isAttention(block)) return attentionLines(view);
  if (block.endsWith("feed_forward")) return feedForwardLines(view);
  if (isResidual(block)) return residualLines(view);
  if (block === "encoder.output") return [...(await lastNormLines(view, "encoder")), await memoryLine(view)];
  if (block === "decoder.word") return [...(await lastNormLines(view, "decoder")), ...(await vocabularyLines(view))];
  return embeddingLines(view);
};

const sign = (text, said) => ({ sign: text, words: said });
const TIMES = sign("·", "times"),
  PLUS = sign("+", "plus"),
  EQUALS = sign("=", "equals");

/** x · W + b = result. */
const productLine = async (view, title, name) => {
  const result = await tensorPlate(view, name);
  const product = await productBehind(view.run, name, result.head);
  if (!product) return { title, items: [result] };
  const x = await inputPlate(view, product);
  const [words] = result.caption.weights;
  const count = result.panel.columns;
  const w = weightPlate(product, count, words.symbol, words.title, result.role);
  const biasName = product.weightName.replace(/weight$/, "bias");
  const bias = product.bias
    ? [PLUS, rowPlate(product.bias, biasName, product.columns, count, words.bias, "Bias", result.role)]
    : [];
  const shapes = productOfShapes(x.panel, { rows: x.panel.columns, columns: count });
  return { title, items: [x, TIMES, w, ...bias, EQUALS, { ...result, product: shapes }] };
};

/** a + b = sum. */
const sumLine = async (view, title, name) => {
  const plates = madeOf(view.run, name).of.map((each) => tensorPlate(view, each, { brief: true, asInput: true }));
  const [one, other] = await Promise.all(plates);
  const sum = await tensorPlate(view, name);
  return { title, items: [one, PLUS, other, EQUALS, { ...sum, product: sumOfShapes(sum.panel) }] };
};

/** What a part reads, as the X of its product; in a worked example a matrix that was given. */
const inputPlate = (view, { x, xTensor }) => {
  const { names, labels } = view.run;
  if (names.includes(x)) return tensorPlate(view, x, { brief: true, asInput: true });
  const panel = panelOf(xTensor);
  const isAsking = x === "inputs" && names.includes("queries");
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
    rows: isAsking ? labels("queries", "L") : labels(names.includes("keys") ? "keys" : "values", "M"),
    columns: numbered(panel.columns),
  });
};

const feedForwardLines = async (view) => {
  const hidden = await productLine(view, "Wider: each position by itself, in more dimensions", inBlock(view, "hidden"));
  const back = await productLine(view, "The activation, and back to the stream’s width", inBlock(view, "output"));
  const activation = ACTIVATION_WORDS[view.run.config.activation];
  const activated = await tensorPlate(view, inBlock(view, "activated"));
  back.items.splice(0, 1, sign(`${activation} →`, `${activation} gives`), activated);
  return [hidden, back];
};

/** Add & Norm, or with the norm first: Norm, the sublayer, Add. */
const residualLines = async (view) => {
  const { run, block } = view;
  const add = await sumLine(view, "Add: the stream and what the sublayer found", `${block}.sum`);
  const isFirst = run.config.norm === "first";
  const norm = await normLines(view, `${block}.norm`, isFirst);
  const on = {
    title: "What goes on: the stream as the next part reads it",
    items: [await tensorPlate(view, `${block}.output`)],
  };
  return isFirst ? [...norm, add, on] : [add, ...norm, on];
};

/** Mean and variance of each row, the row standardised, then a weight and a bias for each dimension. */
const normLines = async (view, norm, withInput) => {
  const { run } = view;
  const plate = (last, also) => tensorPlate(view, `${norm}.${last}`, also);
  const [input] = madeOf(run, `${norm}.mean`).of;
  const standardized = [
    ...(withInput ? [await tensorPlate(view, input, { brief: true, asInput: true })] : []),
    sign("μ, σ² →", "has in each row"),
    await plate("mean"),
    await plate("variance"),
    sign("(x − μ) ÷ √(σ² + ε) →", "standardised"),
    await plate("standardized"),
  ];
  const result = await plate("output");
  const [words] = result.caption.weights;
  const names = madeOf(run, `${norm}.output`).parameters;
  const [weight, bias] = names.map(run.parameter);
  const width = result.panel.columns;
  const size = sizeInWords(result.panel);
  const scaled = { ...result, product: `${size}·(1×${width}) + (1×${width}) = ${size}` };
  const again = await plate("standardized", { brief: true, key: `${norm}.standardized|again` });
  const trained = () => [
    again,
    TIMES,
    { ...rowPlate(weight, names[0], 0, width, words.symbol, words.title, "x"), word: "weight" },
    PLUS,
    rowPlate(bias, names[1], 0, width, words.bias, "Bias of each dimension", "x"),
    EQUALS,
    scaled,
  ];
  const untrained = [sign("· weight + bias →", "times weight plus bias gives"), scaled];
  return [
    { title: "Norm: each position’s mean and variance", items: standardized },
    { title: "Weight and bias, number by number", items: weight ? trained() : untrained },
  ];
};

const embeddingLines = async (view) => {
  const stack = view.block;
  const looked = await lookupLine(view, await tensorPlate(view, `${stack}.token_embeddings`));
  const sum = await sumLine(view, "What the words are, and where they stand", `${stack}.embedded`);
  const brief = looked ? [`${stack}.token_embeddings`] : [];
  for (const item of sum.items) if (item.name) item.brief = brief.includes(item.name);
  return [...(looked ? [looked] : []), sum];
};

/** Each token's row of the embedding matrix, times √D; null where the page has no weights. */
const lookupLine = async (view, tokens) => {
  const { run, block } = view;
  const ids = idsOfStack(run, block)?.slice(0, tokens.panel.rows);
  const [name] = madeOf(run, tokens.name).parameters;
  const weight = run.parameter(name);
  if (!weight || !ids) return null;
  const [count, width] = weight.shape;
  const scale = run.config.scale_embeddings === false ? "" : `√${width} `;
  const rows = parameterPlate({
    name,
    symbol: tokens.caption.weights[0].symbol,
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

/** The norm at the end of a stack, which a model has with the norm first. */
const lastNormLines = (view, stack) =>
  view.run.names.includes(`${stack}.norm.output`) ? normLines(view, `${stack}.norm`, true) : [];

const memoryLine = async (view) => ({
  title: "The memory: what every cross-attention makes its keys and values from",
  items: [await tensorPlate(view, "encoder.output")],
});
