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
const TIMES = sign("·", "times"), PLUS = sign("+", "plus"), EQUALS = sign("=", "equals");

const WEIGHT_WORDS = {
  queries: ["W<sup>Q</sup>", "Weights of the queries", "b<sup>Q</sup>"], keys: ["W<sup>K</sup>", "Weights of the keys", "b<sup>K</sup>"],
  values: ["W<sup>V</sup>", "Weights of the values", "b<sup>V</sup>"], hidden: ["W<sub>1</sub>", "Weights of the inner layer", "b<sub>1</sub>"],
  attention: ["W<sup>O</sup>", "Weights of the output", "b<sup>O</sup>"], outer: ["W<sub>2</sub>", "Weights of the outer layer", "b<sub>2</sub>"],
};

/** x · W + b = result. */
const productLine = async (view, title, name, words = WEIGHT_WORDS[splitName(name).last]) => {
  const result = await tensorPlate(view, name);
  const product = await productBehind(view.run, name, result.head);
  if (!product) return { title, items: [result] };
  const x = await inputPlate(view, product);
  const w = weightPlate(product, result.panel.columns, words[0], words[1], result.role);
  const bias = product.bias
    ? [PLUS, rowPlate(product.bias, product.weightName.replace(/weight$/, "bias"), product.columns, result.panel.columns, words[2], "Bias", result.role)] : [];
  const shapes = productOfShapes(x.panel, { rows: x.panel.columns, columns: result.panel.columns });
  return { title, items: [x, TIMES, w, ...bias, EQUALS, { ...result, product: shapes }] };
};

/** What a part reads, as the X of its product; in a worked example a matrix that was given. */
const inputPlate = (view, { x, xTensor }) => {
  if (view.run.names.includes(x)) return tensorPlate(view, x, { brief: true, asInput: true });
  const panel = panelOf(xTensor);
  const { names } = view.run;
  const asking = x === "inputs" && names.includes("queries");
  const rows = asking ? view.run.labels("queries", "L") : view.run.labels(names.includes("keys") ? "keys" : "values", "M");
  const caption = { symbol: x === "inputs" ? "X" : "Y", title: x === "inputs" ? "Inputs" : "Memory", role: "x", notes: "" };
  return { key: x, name: x, caption, role: "x", kind: "numbers", word: "input", shape: `${panel.rows} × ${panel.columns}`, isParameter: true, brief: true, panel, rows, columns: numbered(panel.columns), scale: scaleOf("numbers", xTensor) };
};

const attentionLines = async (view) => {
  const has = (last) => view.run.names.includes(inBlock(view, last));
  const lines = [];
  for (const [last, title] of [["queries", "Queries: what each position asks for"], ["keys", "Keys: what each position offers to be found by"], ["values", "Values: what each position gives"]]) {
    if (has(last)) lines.push(await productLine(view, title, inBlock(view, last)));
  }
  if (has("scores")) lines.push(await scoreLine(view, has("queries")));
  if (has("scaled_scores") || has("masked_scores")) lines.push(await maskLine(view, has));
  if (has("weights")) lines.push(await weightLine(view, has("context")));
  if (has("concatenated")) lines.push(await headsLine(view));
  if (has("output")) lines.push(await productLine(view, "Output: the heads mixed, back in the stream’s width", inBlock(view, "output"), WEIGHT_WORDS.attention));
  return lines;
};

const inBlock = (view, last) => (view.block ? `${view.block}.${last}` : last);

const scoreLine = async (view, hasQueries) => {
  const result = await tensorPlate(view, inBlock(view, "scores"));
  const title = "Scores: each query with each key";
  if (!hasQueries) return { title, items: [result] };
  const queries = await tensorPlate(view, inBlock(view, "queries"), { brief: true });
  const keys = await tensorPlate(view, inBlock(view, "keys"), { brief: true, transposed: true });
  keys.caption = { ...keys.caption, symbol: "K<sup>T</sup>", title: "Keys, turned" };
  return { title, items: [queries, TIMES, keys, EQUALS, { ...result, product: productOfShapes(queries.panel, keys.panel) }] };
};

/** ÷ √d_k, then + mask. */
const maskLine = async (view, has) => {
  const items = [];
  if (has("scaled_scores")) {
    const name = inBlock(view, "scaled_scores");
    const { words: said } = has("scores") ? await divisorOfRun(view.run, name, view.block) : { words: "" };
    const scaled = await tensorPlate(view, name);
    const size = `(${scaled.panel.rows}×${scaled.panel.columns})`;
    if (said) items.push(sign(`÷ ${said} =`, `divided by ${said} equals`));
    items.push({ ...scaled, product: said ? `${size} ÷ ${said} = ${size}` : "" });
  }
  if (has("mask")) items.push(PLUS, await tensorPlate(view, inBlock(view, "mask")));
  if (has("masked_scores")) {
    const masked = await tensorPlate(view, inBlock(view, "masked_scores"));
    const size = `(${masked.panel.rows}×${masked.panel.columns})`;
    items.push(...(items.length ? [EQUALS] : []), { ...masked, product: items.length ? `${size} + ${size} = ${size}` : "" });
  }
  return { title: "Scale and mask", items };
};

/** softmax, then · V. */
const weightLine = async (view, hasValues) => {
  const masked = view.run.names.includes(inBlock(view, "masked_scores"));
  const weights = await tensorPlate(view, inBlock(view, "weights"));
  const items = masked ? [sign("softmax →", "softmax of each row gives"), weights] : [weights];
  if (hasValues) {
    const values = await tensorPlate(view, inBlock(view, "values"), { brief: true });
    const context = await tensorPlate(view, inBlock(view, "context"));
    items.push(TIMES, values, EQUALS, { ...context, product: productOfShapes(weights.panel, values.panel) });
  }
  return { title: "Softmax, and what each position takes of the values", items, softmax: masked ? inBlock(view, "masked_scores") : null };
};

/** All heads' contexts side by side, which is the concatenated matrix. */
const headsLine = async (view) => {
  const name = inBlock(view, "context");
  const heads = (await view.run.get(name)).shape.at(-3);
  const items = [];
  for (let head = 0; head < heads; head++) {
    const plate = await tensorPlate(view, name, { head, brief: true, small: true, key: `${name}|head ${head}`, chosenHead: head === view.head });
    items.push(...(head ? [sign("|", "beside")] : []), { ...plate, caption: { ...plate.caption, title: `Head ${head}` } });
  }
  const concatenated = await tensorPlate(view, inBlock(view, "concatenated"));
  const { rows, columns } = concatenated.panel;
  items.push(EQUALS, { ...concatenated, product: `${heads} heads of (${rows}×${columns / heads}) = (${rows}×${columns})` });
  return { title: "Heads side by side", items };
};

const feedForwardLines = async (view) => {
  const hidden = await productLine(view, "Wider: each position by itself, in more dimensions", inBlock(view, "hidden"));
  const back = await productLine(view, "The activation, and back to the stream’s width", inBlock(view, "output"), WEIGHT_WORDS.outer);
  const activation = ACTIVATION_WORDS[configOfRun(view.run).activation ?? "relu"];
  back.items.splice(0, 1, sign(`${activation} →`, `${activation} gives`), await tensorPlate(view, inBlock(view, "activated")));
  return [hidden, back];
};

/** Add & Norm, or with the norm first: Norm, the sublayer, Add. */
const residualLines = async (view) => {
  const { run, block } = view;
  const add = await sumLine(view);
  const first = isNormFirst(run, block);
  const norm = await normLines(view, `${block}.norm`, first ? streamBefore(run, block) : null);
  const on = { title: "What goes on: the stream as the next part reads it", items: [await tensorPlate(view, `${block}.output`)] };
  return first ? [...norm, add, on] : [add, ...norm, on];
};

const sumLine = async (view) => {
  const { run, block } = view;
  const stream = await tensorPlate(view, streamBefore(run, block), { brief: true, asInput: true });
  const added = await tensorPlate(view, `${sublayerOf(run, block)}.output`, { brief: true });
  const sum = await tensorPlate(view, `${block}.sum`);
  const size = `(${sum.panel.rows}×${sum.panel.columns})`;
  return { title: "Add: the stream and what the sublayer found", items: [stream, PLUS, added, EQUALS, { ...sum, product: `${size} + ${size} = ${size}` }] };
};

/** Mean and variance of each row, the row standardised, then a weight and a bias for each dimension. */
const normLines = async (view, norm, input) => {
  const plate = (last, also) => tensorPlate(view, `${norm}.${last}`, also);
  const x = input ? [await tensorPlate(view, input, { brief: true, asInput: true })] : [];
  const first = [...x, sign("μ, σ² →", "has in each row"), await plate("mean"), await plate("variance"), sign("(x − μ) ÷ √σ² →", "standardised"), await plate("standardized")];
  const [weight, bias] = [await view.run.parameter(`${norm}.weight`), await view.run.parameter(`${norm}.bias`)];
  const result = await plate("output");
  const width = result.panel.columns;
  const trained = weight ? [TIMES, { ...rowPlate(weight, `${norm}.weight`, 0, width, "γ", "Weight of each dimension", "x"), word: "weight" }, PLUS, rowPlate(bias, `${norm}.bias`, 0, width, "β", "Bias of each dimension", "x")] : [];
  const again = await plate("standardized", { brief: true, key: `${norm}.standardized|again` });
  const size = `(${result.panel.rows}×${width})`;
  const second = trained.length ? [again, ...trained, EQUALS, result] : [sign("· weight + bias →", "times weight plus bias gives"), result];
  return [{ title: "Norm: each position’s mean and variance", items: first }, { title: "Weight and bias, number by number", items: second.map((item) => (item === result ? { ...item, product: `${size}·(1×${width}) + (1×${width}) = ${size}` } : item)) }];
};

const embeddingLines = async (view) => {
  const stack = view.block;
  const [tokens, positions, sum] = await Promise.all(["token_embeddings", "positions", "embedded"].map((last) => tensorPlate(view, `${stack}.${last}`)));
  const size = `(${sum.panel.rows}×${sum.panel.columns})`;
  return [{ title: "What the words are, and where they stand", items: [tokens, PLUS, positions, EQUALS, { ...sum, product: `${size} + ${size} = ${size}` }] }];
};

const memoryLines = async (view) => {
  const normed = view.run.names.includes("encoder.norm.output");
  const lines = normed ? await normLines(view, "encoder.norm", streamOf(view.run, "encoder")) : [];
  return [...lines, { title: "The memory: what every cross-attention makes its keys and values from", items: [await tensorPlate(view, "encoder.output")] }];
};

const wordLines = async (view) => {
  const normed = view.run.names.includes("decoder.norm.output");
  const lines = normed ? await normLines(view, "decoder.norm", streamOf(view.run, "decoder")) : [];
  return [...lines, ...(await vocabularyLines(view))];
};
