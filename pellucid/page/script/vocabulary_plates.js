// The projection to the vocabulary: of thousands of words a plate shows the best of each row.

/** output · W_E^T → logits → softmax → probabilities. */
const vocabularyLines = async (view) => {
  const x = await tensorPlate(view, "decoder.output");
  const size = await vocabularySize(view.run);
  const product = await productBehind(view.run, "decoder.logits");
  const tied = product.weightName.includes("embedding");
  const title = tied ? "The embedding matrix, turned" : "Weights of the vocabulary";
  const w = weightPlate(product, size, tied ? "W<sub>E</sub><sup>T</sup>" : "W<sup>T</sup>", title, "w");
  const logits = await wordsPlate(view, "decoder.logits");
  const probabilities = await wordsPlate(view, "decoder.probabilities");
  const shapes = productOfShapes(x.panel, { rows: x.panel.columns, columns: size });
  const softmax = sign("softmax →", "softmax of each row gives");
  return [
    { title: "What leaves the decoder, times a column for each word", items: [x, TIMES, w] },
    { title: "Logits: the best words of each row", items: [EQUALS, { ...logits, product: shapes }] },
    { title: "Probabilities: what follows each row", items: [softmax, probabilities] },
  ];
};

/** How many words the vocabulary has. */
const vocabularySize = async (run) => {
  const { kept, shape } = await run.get("decoder.probabilities");
  return kept ? kept.size : shape.at(-1);
};

/** The best words of each row, the best first, as a plate; a cell is a word and its number. */
const wordsPlate = async (view, name) => {
  const tensor = await view.run.get(name);
  const rows = view.time?.mode === "step" ? view.run.target.slice(0, view.time.t) : view.run.target;
  const found = rows.map((_, row) => bestWords(view.run, name, tensor, row));
  const columns = found[0].map((_, rank) => (rank < BEST_WORDS ? String(rank + 1) : "expected"));
  const panel = { rows: rows.length, columns: columns.length, at: (row, column) => found[row][column].value };
  const kind = kindOfNumbers(name);
  const caption = captionOfTensor(name);
  return {
    key: name,
    name,
    tensor,
    caption,
    kind,
    role: caption.role,
    asks: false,
    panel,
    rows,
    columns,
    rowState: rows.map((_, row) => wordsState(view, row, rows.length)),
    scale: scaleOf(kind, { data: numbersOf(panel) }),
    shape: `${rows.length} × ${await vocabularySize(view.run)} = target × vocabulary, the best ${Math.min(columns.length, BEST_WORDS)} words shown`,
    code: codeOfTensor(name),
    pick: (row, column) => found[row][column],
    rowWord: "after",
    columnWord: "word",
    rowSums: false,
    back: (row, column) => [row, found[row][column].place],
    forth: (row, place) => [
      row,
      Math.max(
        0,
        found[row].findIndex((each) => each.place === place),
      ),
    ],
  };
};

const wordsState = ({ time }, row, rows) =>
  time?.mode !== "step" ? null : row === rows - 1 ? "new" : time.cached ? "earlier" : "made again";

/** [{place (its column in the tensor), label, value}]. A big vocabulary comes with its best words alone, chosen before. */
const bestWords = (run, name, tensor, row) => {
  const numbers = rowOfPanel(panelOf(tensor), row);
  if (tensor.kept) return tensor.kept.tokens[row].map((label, place) => ({ place, label, value: numbers[place] }));
  const labels = run.labels(name, "V");
  return bestPlaces(numbers, BEST_WORDS).map((place) => ({ place, label: labels[place], value: numbers[place] }));
};
