// How the cells before the first layer and after the last are made: embeddings, positions, words.

const BEST_WORDS = 20; // of a vocabulary are shown, in a plate and in a sum over all of it

const tokenEmbeddingCell = async ({ run, path, row, column, panel, labels, tensor }) => {
  const width = tensor.shape.at(-1);
  const scale = run.config.scale_embeddings === false ? 1 : Math.sqrt(width);
  const id = idOfToken(run, path, row);
  const weight = id === null ? null : run.parameter(embeddingName(run, path));
  const said = scale === 1 ? "W<sub>E</sub>[token]" : `W<sub>E</sub>[token] · √${width}`;
  if (!weight) {
    const total = panel.at(row, column);
    return {
      equation: said,
      total,
      missing: true,
      note: `The row of ${labels.rows[row]} in the embedding matrix, times √${width}. The matrix is not in this page: this is the number that the pass recorded.`,
    };
  }
  const value = weight.data[id * width + column];
  return {
    equation: said,
    total: value * scale,
    filled: `${inSum(value)}·${fourDecimals(scale)} = ${fourDecimals(value * scale)}`,
    steps: [
      { label: `W_E, row ${id} (${labels.rows[row]}), column ${column}`, value },
      { label: scale === 1 ? "not scaled" : `√${width}`, value: scale },
    ],
    note: "Looking up a row is the same as multiplying a row of zeros and one 1 with the matrix.",
  };
};

/** The embedding matrix of a stack: its own, or the one that all share. */
const embeddingName = (run, stack) =>
  run.parameter("embedding.weight") ? "embedding.weight" : `${stack}.embedding.weight`;

/** The id of the token at a position of a stack; null where the page does not know it. */
const idOfToken = (run, stack, row) => (stack === "encoder" ? run.sourceIds : run.targetIds)?.[row] ?? null;

const positionCell = ({ row, column, tensor }) => {
  const width = tensor.shape.at(-1);
  const pair = column - (column % 2);
  const power = 10000 ** (pair / width);
  const wave = column % 2 ? "cos" : "sin";
  const total = Math[wave](row / power);
  return {
    equation: `${wave}(i ÷ 10000<sup>2j/D</sup>)`,
    total,
    filled: `${wave}(${row} ÷ 10000^(${pair}/${width})) = ${wave}(${fourDecimals(row / power)}) = ${fourDecimals(total)}`,
    steps: [
      { label: "position i", value: row },
      { label: `10000^(${pair}/${width})`, value: power },
      { label: "i ÷ that", value: row / power },
      { label: wave, value: total },
    ],
    note: "Even columns hold a sine, odd ones a cosine; each pair turns more slowly than the one before it.",
  };
};

const embeddedCell = async ({ run, name, row, column }) => {
  const token = panelOf(await run.get(sibling(name, "token_embeddings"))).at(row, column);
  const position = panelOf(await run.get(sibling(name, "positions"))).at(row, column);
  const terms = [
    { label: "token embedding", numbers: [], value: token },
    { label: "position", numbers: [], value: position },
  ];
  return {
    equation: "token embedding + position",
    headings: ["of", "number"],
    terms,
    total: token + position,
    note: "What the word is, and where it stands.",
  };
};

const probabilityCell = async ({ run, name, row, column, labels, tensor }) => {
  if (tensor.kept) return keptProbabilityCell({ run, name, row, column, labels, tensor });
  const logits = rowOfPanel(panelOf(await run.get(sibling(name, "logits"))), row);
  return {
    ...softmaxMaking(logits, column, {
      labels: labels.columns,
      headings: ["word", "logit x"],
      said: `logit of ${labels.columns[column]}`,
      over: "Σ over the vocabulary",
      best: BEST_WORDS,
    }),
    note: `After ${labels.rows[row]}: all ${logits.length} words share a whole 1.`,
  };
};

/** Of a big vocabulary the page has the best words, and the logarithm of the sum over all. */
const keptProbabilityCell = async ({ run, name, row, column, labels, tensor }) => {
  const x = panelOf(await run.get(sibling(name, "logits"))).at(row, column);
  const all = tensor.kept.log_sum_exp[row];
  const total = Math.exp(x - all);
  return {
    equation: "exp(x − log Σ exp)",
    total,
    filled: `exp(${inSum(x)} − ${inSum(all)}) = ${fourDecimals(total)}`,
    steps: [
      { label: `logit of ${labels.columns[column]}`, value: x },
      { label: "log Σ exp, over the vocabulary", value: all },
      { label: "exp(x − log Σ exp)", value: total },
    ],
    note: `After ${labels.rows[row]}: all ${tensor.kept.size} words share a whole 1. The page has the best of them, and the sum over all.`,
  };
};
