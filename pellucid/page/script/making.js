// How one cell was made: every tensor of the trace, multiplied out, added up, normalised.
//
// A making is {title, equation, headings, terms, steps, total, recorded, note}: `terms` are what is added up,
// {label, numbers, value}, under `headings`; `steps` are what is done one after the other, {label, value}; `strips` are
// the rows and columns that it was made from, as strips.js draws them.
// All is computed again in double precision from the numbers that the pass recorded.

/** What a making starts from: the tensor, the head's panel, the place in it, the words along its axes. */
const cellOfTensor = async (run, name, head, row, column) => {
  const tensor = await run.get(name);
  const labels = labelsOfCell(run, name, tensor, row);
  return { run, name, ...splitName(name), tensor, panel: panelOf(tensor, head), head, row, column, labels };
};

/** How the cell at this row and column of a tensor (of one head, where it has several) was made. */
const makingOf = async (run, name, head = 0, row = 0, column = 0) => {
  const cell = await cellOfTensor(run, name, head, row, column);
  const { panel, last } = cell;
  const made = isGiven(run, name) ? givenCell(cell) : keptOrNot(run, panel.at(row, column), await MAKINGS[last](cell));
  const recorded = panel.at(row, column);
  const making = {
    name,
    head,
    row,
    column,
    recorded,
    said: run.given || run.origin(name) === "computed" ? "computed" : "recorded", // what is derived has the same bits
    title: titleOfCell(cell),
    headings: [],
    terms: [],
    steps: [],
    strips: [],
    note: "",
    total: recorded,
    ...made,
  };
  return {
    ...making,
    difference: apart(making.total, recorded),
    written: making.filled ?? writtenOut(making),
  };
};

const NOT_KEPT = "Not kept for this switch; the recording without it has it.";

/** What is made of numbers that the page does not have is not shown as if it had them. */
const keptOrNot = (run, recorded, made) => {
  const isUnknown = Number.isNaN(recorded) || made.terms?.some(({ value }) => Number.isNaN(value));
  if (!isUnknown && !Number.isNaN(made.total)) return made;
  const { equation } = made;
  if (run.stepwise) return { equation, total: recorded, missing: true, note: "With a cache this is never computed: the key came later." };
  return { equation, total: recorded, missing: true, note: `What it is made of: ${NOT_KEPT.toLowerCase()}` };
};

const isGiven = (run, name) => {
  return run.given !== undefined && name in run.given.matrices;
};

const givenCell = ({ panel, row, column }) => {
  return { equation: "given", total: panel.at(row, column), note: "This matrix is what the example starts from." };
};

/** The labels of a tensor's two axes: {rows, columns}. */
const labelsOfTensor = (run, name, tensor) => {
  const [first, second] = tensor.axes.replace(/[BH]/g, "");
  return { rows: run.labels(name, first), columns: second ? run.labels(name, second) : [""] };
};

/** The labels for one row's cell: of a big vocabulary each row has its own best words. */
const labelsOfCell = (run, name, tensor, row) => {
  const labels = labelsOfTensor(run, name, tensor);
  return tensor.kept ? { ...labels, columns: tensor.kept.tokens[row] } : labels;
};

const titleOfCell = ({ tensor, labels, row, column, panel }) => {
  const asks = tensor.axes.endsWith("LM");
  const columnWord = asks || panel.columns === 1 || tensor.axes.endsWith("V") ? "" : "dimension";
  return cellPlaceInWords(
    { asks, panel, rows: labels.rows, columns: labels.columns, rowWord: "", columnWord },
    row,
    column,
  );
};

/** A cell of x · W + b; where the page has no weights, its shapes, and why. */
const projectedCell = async ({ run, name, head, row, column, tensor, panel, labels }) => {
  const product = await productBehind(run, name, head);
  const general = captionOfTensor(name).equation;
  const equation = run.given ? general.replace(/ \+ b<sup>.<\/sup>/, "") : general; // on paper, no bias
  if (!product) return headSlice(run, name, head, row, column, panel);
  const x = panelOf(product.xTensor);
  const told = `Row ${labels.rows[row]} of ${product.x}, times column ${product.columns + column} of the matrix ${product.weightName}`;
  if (!product.weight)
    return productWithoutWeights(panel, row, column, equation, product, tensor.kept?.size ?? panel.columns);
  const w = weightPanel(product, panel.columns);
  const [reads, weights] = [rowOfPanel(x, row), columnOfPanel(w, column)];
  const terms = productTerms(numbered(x.columns), reads, weights);
  const strips = productStrips(
    { symbol: "X", role: "x", label: labels.rows[row], numbers: reads, scale: scaleOf("numbers", product.xTensor), of: product.x },
    { symbol: "W", role: captionOfTensor(name).role, label: `column ${column}`, numbers: weights, scale: scaleOf("numbers", product.weight), of: `${product.weightName}|${product.columns}` },
    captionOfTensor(name).role,
  );
  if (product.bias) {
    const bias = product.bias.data[product.columns + column];
    terms.push({ label: "bias", numbers: [null, bias], value: bias });
  }
  return {
    equation,
    terms,
    strips,
    headings: ["dimension", "x", "W", "x · W"],
    total: sumOfTerms(terms),
    note: `${told}${product.bias ? ", plus its bias" : ""}.`,
  };
};

const productWithoutWeights = (panel, row, column, equation, { xTensor, x, weightName }, columns) => {
  const inputs = xTensor.shape.at(-1);
  const shapes = `(${xTensor.shape.at(-2)}×${inputs})·(${inputs}×${columns}) = (${panel.rows}×${columns})`;
  const why = `The model has more parameters than a page can carry, so ${weightName} is not here`;
  return {
    equation,
    total: panel.at(row, column),
    missing: true,
    note: `${shapes}. ${why}: this is the number that the pass recorded, the sum of ${inputs} products with ${x}.`,
  };
};

/** Without a W (a worked example may leave it out) a head takes its slice of the columns. */
const headSlice = (run, name, head, row, column, panel) => {
  const made = run.given.projections[name];
  const from = (head * columnsOf(made.matrix)) / run.given.heads + column;
  const value = made.matrix[row][from];
  return {
    equation: `${name} = ${made.source}`,
    total: value,
    steps: [{ label: `${made.source}, column ${from}`, value }],
    note: `No W is given: ${name} are the ${made.source} themselves${panel.columns < columnsOf(made.matrix) ? ", a slice for each head" : ""}.`,
  };
};

/** The output of an attention, a feed-forward, a residual connection, a norm or a stack. */
const outputCell = async (cell) => {
  const { run, path, row, column } = cell;
  if (path === "" || isAttention(path) || path.endsWith("feed_forward")) return projectedCell(cell);
  if (path.endsWith("norm")) return normOutputCell(cell);
  const normed = `${path}.norm.output`;
  const last = run.names.includes(normed) ? normed : streamOf(run, path);
  const from = isResidual(path) && isNormFirst(run, path) ? `${path}.sum` : last;
  const value = panelOf(await run.get(from)).at(row, column);
  return {
    equation: "passed on",
    total: value,
    steps: [{ label: from, value }],
    note: `The same number as in ${from}: it is passed on as it is.`,
  };
};

const isNormFirst = (run, residual) => layerOf(residual) !== "" && sublayersOf(run, layerOf(residual)).normFirst;

/** What two rows of numbers give, multiplied one by one. */
const productTerms = (labels, left, right) =>
  left.map((number, place) => ({
    label: labels[place],
    numbers: [number, right[place]],
    value: number * right[place],
  }));

const sumOfTerms = (terms) => {
  return terms.reduce((sum, term) => sum + term.value, 0);
};

/** "0.2000·0.1000 + 0.4000·0.2000 + … = 0.6000": the sum as one writes it; the middle of a long one left out. */
const writtenOut = ({ terms, total, headings }) => {
  if (!terms.length || !headings.length) return "";
  const written = terms.map(({ numbers, value }) => {
    const factors = numbers.filter((number) => number !== null);
    return (factors.length === 2 && headings.at(-1).includes("·") ? factors : [value]).map(inSum).join("·");
  });
  const shown = written.length > 6 ? [...written.slice(0, 4), "…", written.at(-1)] : written;
  return `${shown.join(" + ")} = ${fourDecimals(total)}`;
};

const inSum = (number) => {
  return number < 0 ? `(${fourDecimals(number)})` : fourDecimals(number);
};
