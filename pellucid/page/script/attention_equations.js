// The equation of an attention, line by line: X · W for queries, keys and values, then Q Kᵀ, ÷ √d_k, + mask,
// softmax, · V, the heads side by side, W^O. A worked example has the lines for the stages that it reaches.

const attentionLines = async (view) => {
  const has = (last) => view.run.names.includes(inBlock(view, last));
  const lines = [];
  for (const [last, title] of [
    ["queries", "Queries: what each position asks for"],
    ["keys", "Keys: what each position offers to be found by"],
    ["values", "Values: what each position gives"],
  ]) {
    if (has(last)) lines.push(await productLine(view, title, inBlock(view, last)));
  }
  if (has("scores")) lines.push(await scoreLine(view, has("queries")));
  if (has("scaled_scores") || has("masked_scores")) lines.push(await maskLine(view, has));
  if (has("weights")) lines.push(await weightLine(view, has("context")));
  if (has("concatenated")) lines.push(await headsLine(view));
  if (has("output"))
    lines.push(await productLine(view, "Output: the heads mixed, back in the stream’s width", inBlock(view, "output")));
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
  return {
    title,
    items: [queries, TIMES, keys, EQUALS, { ...result, product: productOfShapes(queries.panel, keys.panel) }],
  };
};

/** ÷ √d_k, then + mask. */
const maskLine = async (view, has) => {
  const items = [];
  if (has("scaled_scores")) {
    const name = inBlock(view, "scaled_scores");
    const { words: said } = has("scores") ? await divisorOfRun(view.run, name, view.block) : { words: "" };
    const scaled = await tensorPlate(view, name);
    const size = sizeInWords(scaled.panel);
    if (said) items.push(sign(`÷ ${said} =`, `divided by ${said} equals`));
    items.push({ ...scaled, product: said ? `${size} ÷ ${said} = ${size}` : "" });
  }
  if (has("mask")) items.push(PLUS, await tensorPlate(view, inBlock(view, "mask")));
  if (has("masked_scores")) {
    const masked = await tensorPlate(view, inBlock(view, "masked_scores"));
    items.push(...(items.length ? [EQUALS] : []), {
      ...masked,
      product: items.length ? sumOfShapes(masked.panel) : "",
    });
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
  return {
    title: "Softmax, and what each position takes of the values",
    items,
    softmax: masked ? inBlock(view, "masked_scores") : null,
  };
};

/** All heads' contexts side by side, which is the concatenated matrix. */
const headsLine = async (view) => {
  const name = inBlock(view, "context");
  const heads = (await view.run.get(name)).shape.at(-3);
  const items = [];
  for (let head = 0; head < heads; head++) {
    const plate = await tensorPlate(view, name, {
      head,
      brief: true,
      small: true,
      key: `${name}|head ${head}`,
      chosenHead: head === view.head,
    });
    items.push(...(head ? [sign("|", "beside")] : []), {
      ...plate,
      caption: { ...plate.caption, title: `Head ${head}` },
      shape: `${plate.panel.rows} × ${plate.panel.columns}`,
    });
  }
  const concatenated = await tensorPlate(view, inBlock(view, "concatenated"));
  const { rows, columns } = concatenated.panel;
  items.push(EQUALS, {
    ...concatenated,
    product: `${heads} heads of (${rows}×${columns / heads}) = (${rows}×${columns})`,
  });
  return { title: "Heads side by side", items };
};
