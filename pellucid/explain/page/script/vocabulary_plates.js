// The projection to the vocabulary: of thousands of words a plate shows the best of each row.

const BEST_WORDS = 20;

/** output · W_E^T → logits → softmax → probabilities. */
const vocabularyLines = async (view) => {
  const x = await tensorPlate(view, "decoder.output");
  const size = vocabularySize(view.run);
  const product = await productBehind(view.run, "decoder.logits");
  const tied = product.weightName.includes("embedding");
  const w = weightPlate(product, size, tied ? "W<sub>E</sub><sup>T</sup>" : "W<sup>T</sup>", tied ? "The embedding matrix, turned" : "Weights of the vocabulary", "w");
  const shapes = productOfShapes(x.panel, { rows: x.panel.columns, columns: size });
  const lines = [{ title: "What leaves the decoder, times a column for each word", items: [x, TIMES, w] }];
  if (view.run.names.includes("decoder.logits")) {
    lines.push({ title: "Logits: the best words of each row", items: [EQUALS, { ...(await wordsPlate(view, "decoder.logits")), product: shapes }] });
  }
  lines.push({ title: "Probabilities: what follows each row", items: [sign("softmax →", "softmax of each row gives"), await wordsPlate(view, "decoder.probabilities")] });
  return lines;
};

const vocabularySize = (run) => run.model.vocabulary.target.length;

/** The best words of each row, the best first, as a plate; a cell is a word and its number. */
const wordsPlate = async (view, name) => {
  const { run } = view;
  const rows = view.time?.mode === "step" ? run.target.slice(0, view.time.t) : run.target;
  const known = run.names.includes(name);
  const found = known ? bestOfTensor(run, await run.get(name), rows.length) : await bestOfRun(run, rows.length);
  const caption = captionOfTensor(name);
  const columns = found[0].length;
  const panel = { rows: rows.length, columns, at: (row, column) => found[row][column].value };
  const kind = kindOf(name);
  return {
    key: name, name, caption, kind, role: caption.role, asks: false, panel, rows, columns: numbered(columns).map((rank) => String(Number(rank) + 1)),
    rowState: rows.map((_, row) => (view.time?.mode !== "step" ? null : row === rows.length - 1 ? "new" : view.time.cached ? "earlier" : "made again")),
    scale: scaleOf(kind, { data: numbersOf(panel) }), shape: `${rows.length} × ${vocabularySize(run)} = target × vocabulary, the best ${columns} words shown`,
    code: codeOfTensor(name), pick: (row, column) => found[row][column], rowWord: "after", columnWord: "word", rowSums: false,
    back: (row, column) => [row, found[row][column].id], forth: (row, id) => [row, Math.max(0, found[row].findIndex((each) => each.id === id))],
    tensor: { axes: "BLV", shape: [1, rows.length, vocabularySize(run)], data: numbersOf(panel) }, noMaking: !known,
  };
};

const bestOfTensor = (run, tensor, count) => {
  const panel = panelOf(tensor);
  return Array.from({ length: count }, (_, row) => {
    const numbers = rowOfPanel(panel, row);
    const ids = numbers.map((_, id) => id).sort((one, other) => numbers[other] - numbers[one] || one - other);
    return ids.slice(0, BEST_WORDS).map((id) => ({ id, label: run.model.vocabulary.target[id], value: numbers[id] }));
  });
};

const bestOfRun = async (run, count) => {
  const rows = await Promise.all(Array.from({ length: count }, (_, row) => run.best(row, BEST_WORDS)));
  return rows.map((best) => best.map(({ token, probability }) => ({ id: run.model.vocabulary.target.indexOf(token), label: token, value: probability })));
};
