// How the cells of an attention are made, from its queries, keys and values to its concatenated heads.

/** A score: a query times a key, dimension by dimension. */
const scoreCell = async ({ run, name, head, row, column, labels }) => {
  const query = await rowOfTensor(run, sibling(name, "queries"), head, row);
  const key = await rowOfTensor(run, sibling(name, "keys"), head, column);
  const terms = productTerms(numbered(query.numbers.length), query.numbers, key.numbers);
  return {
    equation: "Q · K<sup>T</sup>",
    terms,
    strips: productStrips(
      { ...query, symbol: "Q", role: "q", label: labels.rows[row] },
      { ...key, symbol: "K<sup>T</sup>", role: "k", label: labels.columns[column] },
      "w",
    ),
    headings: ["dimension", `Q of ${labels.rows[row]}`, `K of ${labels.columns[column]}`, "Q · K"],
    total: sumOfTerms(terms),
    note: `The query of ${labels.rows[row]} times the key of ${labels.columns[column]}: the more alike, the higher.`,
  };
};

const scaledCell = async ({ run, name, path, head, row, column, panel }) => {
  const score = panelOf(await run.get(sibling(name, "scores")), head).at(row, column);
  const { divisor, words: said } = await divisorOfRun(run, name, path);
  const given = plainNumber(divisor);
  return {
    equation: `Q · K<sup>T</sup> ÷ ${said}`,
    total: score / divisor,
    filled: `${inSum(score)} ÷ ${given} = ${fourDecimals(score / divisor)}`,
    steps: [
      { label: "score", value: score },
      { label: `÷ ${said}`, value: divisor },
      { label: "scaled score", value: score / divisor },
    ],
    note:
      divisor === 1
        ? "The scale is off: the score goes on as it is."
        : `Divided by ${said}${said === given ? "" : ` = ${given}`}, so that longer queries and keys do not make the softmax sharper. The same for all ${panel.rows * panel.columns} cells.`,
  };
};

/** What divides the scores, and how one writes it. */
const divisorOfRun = async (run, name, path) => {
  if (run.given) return { divisor: run.given.divisor ?? 1, words: plainNumber(run.given.divisor ?? 1) };
  if (run.switches?.scale === false && isMeant(run.switches, path)) return { divisor: 1, words: "1" };
  const width = (await run.get(sibling(name, "queries"))).shape.at(-1);
  return { divisor: Math.sqrt(width), words: `√${width}` };
};

const maskCell = ({ path, panel, row, column, labels }) => {
  const value = panel.at(row, column);
  const [asks, asked] = [labels.rows[row], labels.columns[column]];
  const own = path.startsWith("decoder") && path.endsWith("self_attention");
  let note = `${asks} may look at ${asked}: 0 changes nothing.`;
  if (value !== 0) {
    const later = column > row && (own || path === "");
    note = later
      ? `${asked} comes after ${asks}, which must not see what it is asked to predict: −∞ leaves its weight exactly 0.`
      : `${asks} may not look at ${asked}: −∞ leaves its weight exactly 0.`;
  } else if (own && column > row) note = `The mask is lifted: ${asks} sees ${asked}, which comes after it.`;
  return { equation: "0 or −∞", total: value, note };
};

const maskedCell = async ({ run, name, head, row, column }) => {
  const scaled = panelOf(await run.get(sibling(name, "scaled_scores")), head).at(row, column);
  const mask = panelOf(await run.get(sibling(name, "mask")), head).at(row, column);
  const note = mask === 0 ? "The mask adds 0." : "The mask adds −∞: whatever the score was, it is gone.";
  const total = mask === -Infinity ? mask : scaled + mask;
  return {
    equation: "scaled score + mask",
    filled: `${inSum(scaled)} + ${mask === 0 ? "0" : `(${fourDecimals(mask)})`} = ${fourDecimals(total)}`,
    steps: [
      { label: "scaled score", value: scaled },
      { label: "mask", value: mask },
    ],
    total,
    note,
  };
};

const weightCell = async ({ run, name, path, head, row, column, labels, panel }) => {
  if (isSilent(run, path, head) && panel.at(row, column) === 0) return silentCell("weights");
  const scores = await rowOfTensor(run, sibling(name, "masked_scores"), head, row);
  return {
    ...softmaxMaking(scores.numbers, column, {
      labels: labels.columns,
      headings: ["attended to", "x, masked score"],
      said: "x, the masked score",
      over: "Σ of the row",
    }),
    strips: softmaxStrips({ ...scores, symbol: "S", label: labels.rows[row], labels: labels.columns }, column),
    note: `${labels.rows[row]} shares a whole 1 among what it looks at.`,
  };
};

const isSilent = (run, path, head) => run.switches?.silent?.[path]?.includes(head) ?? false;

const silentCell = (what) => {
  return { equation: "switched off", total: 0, note: `This head is silenced: its ${what} are set to 0.` };
};

/** A context: the values' column, weighted by the row of weights. */
const contextCell = async ({ run, name, path, head, row, column, labels, panel }) => {
  if (isSilent(run, path, head) && panel.at(row, column) === 0) return silentCell("contexts");
  const share = await rowOfTensor(run, sibling(name, "weights"), head, row);
  const valuesName = sibling(name, "values");
  const tensor = await run.get(valuesName);
  const values = panelOf(tensor, head);
  const asked = run.labels(sibling(name, "weights"), "M");
  const given = columnOfPanel(values, column);
  const terms = productTerms(asked, share.numbers, given);
  return {
    equation: "A · V",
    headings: ["attended to", "weight", "V", "weight · V"],
    terms,
    strips: productStrips(
      { ...share, symbol: "A", role: "w", label: labels.rows[row], labels: asked },
      { symbol: "V", role: "v", label: `column ${column}`, numbers: given, scale: await scaleOfTensor(run, valuesName, tensor), of: valuesName },
      "v",
    ),
    total: sumOfTerms(terms),
    weighted: {
      rows: asked,
      shares: share.numbers,
      panel: { rows: values.rows, columns: values.columns, at: (r, c) => share.numbers[r] * values.at(r, c) },
    },
    note: `${labels.rows[row]} takes of each value as much as its weight says, and adds it up.`,
  };
};

/** The concatenated heads: a column belongs to one head. */
const concatenatedCell = async ({ run, name, row, column }) => {
  const context = await run.get(sibling(name, "context"));
  const width = context.shape.at(-1);
  const head = Math.floor(column / width);
  const value = panelOf(context, head).at(row, column % width);
  return {
    equation: "the heads side by side",
    total: value,
    steps: [{ label: `context of head ${head}, dimension ${column % width}`, value }],
    note: `Column ${column} belongs to head ${head}: each head has ${width} columns. Nothing is computed here.`,
  };
};
