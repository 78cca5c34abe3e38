// How the cells of the rest of a layer are made: sums, norms, the activation.

/** A residual connection: the stream plus what the sublayer adds. */
const sumCell = async ({ run, path, row, column, panel }) => {
  const sublayer = sublayerAddedBy(path);
  const stream = panelOf(await run.get(streamBefore(run, path))).at(row, column);
  const added = panelOf(await run.get(`${sublayer}.output`)).at(row, column);
  if (isRemoved(run, stream, added, panel.at(row, column))) {
    return {
      equation: "sublayer alone",
      total: added,
      steps: [{ label: `${sublayer}.output`, value: added }],
      note: "The residual connection is switched off: what the stream held is lost.",
    };
  }
  const terms = [
    { label: `x: ${streamBefore(run, path)}`, numbers: [], value: stream },
    { label: `sublayer: ${sublayer}.output`, numbers: [], value: added },
  ];
  return {
    equation: "x + sublayer(x)",
    headings: ["of", "number"],
    terms,
    total: stream + added,
    note: "The stream goes on, and the sublayer adds to it.",
  };
};

/** Whether this sum was made with the residual connection switched off. */
const isRemoved = (run, stream, added, recorded) =>
  run.switches?.residual === false && Math.abs(added - recorded) < Math.abs(stream + added - recorded);

const normed = async ({ run, path, row }) => {
  const name = normalisedBy(run, path);
  return { name, numbers: rowOfPanel(panelOf(await run.get(name)), row) };
};

const meanCell = async (cell) => {
  const { name, numbers } = await normed(cell);
  const terms = numbers.map((value, place) => ({ label: String(place), numbers: [], value }));
  const sum = sumOfTerms(terms);
  return {
    equation: "μ = Σ x ÷ D",
    headings: ["dimension", "x"],
    terms,
    sum,
    steps: [
      { label: "Σ x", value: sum },
      { label: "÷ D", value: numbers.length },
    ],
    total: sum / numbers.length,
    filled: `${inSum(sum)} ÷ ${numbers.length} = ${fourDecimals(sum / numbers.length)}`,
    note: `The mean of the ${numbers.length} numbers of this position in ${name}.`,
  };
};

const varianceCell = async (cell) => {
  const { name, numbers } = await normed(cell);
  const mean = numbers.reduce((sum, x) => sum + x, 0) / numbers.length;
  const terms = numbers.map((x, place) => ({ label: String(place), numbers: [x, x - mean], value: (x - mean) ** 2 }));
  const sum = sumOfTerms(terms);
  return {
    equation: "σ² = Σ (x − μ)² ÷ D",
    headings: ["dimension", "x", "x − μ", "(x − μ)²"],
    terms,
    sum,
    steps: [
      { label: "μ", value: mean },
      { label: "Σ (x − μ)²", value: sum },
      { label: "÷ D", value: numbers.length },
    ],
    total: sum / numbers.length,
    filled: `${inSum(sum)} ÷ ${numbers.length} = ${fourDecimals(sum / numbers.length)}`,
    note: `How far the ${numbers.length} numbers of this position in ${name} lie from their mean.`,
  };
};

const standardizedCell = async (cell) => {
  const { run, path, row, column } = cell;
  const { name, numbers } = await normed(cell);
  const mean = panelOf(await run.get(`${path}.mean`)).at(row, 0);
  const variance = panelOf(await run.get(`${path}.variance`)).at(row, 0);
  const root = Math.sqrt(variance + NORM_EPSILON);
  const total = (numbers[column] - mean) / root;
  return {
    equation: "(x − μ) ÷ √(σ² + 0.00001)",
    total,
    steps: [
      { label: `x, from ${name}`, value: numbers[column] },
      { label: "mean μ", value: mean },
      { label: "x − μ", value: numbers[column] - mean },
      { label: "variance σ²", value: variance },
      { label: "√(σ² + 0.00001)", value: root },
    ],
    filled: `(${inSum(numbers[column])} − ${inSum(mean)}) ÷ ${fourDecimals(root)} = ${fourDecimals(total)}`,
    note: "After this the position’s numbers have mean 0 and variance 1.",
  };
};

const normOutputCell = async ({ run, path, row, column, panel }) => {
  const standardized = panelOf(await run.get(`${path}.standardized`)).at(row, column);
  const weight = run.parameter(`${path}.weight`)?.data[column];
  const bias = run.parameter(`${path}.bias`)?.data[column];
  if (weight === undefined) {
    return {
      equation: "standardized · weight + bias",
      total: panel.at(row, column),
      missing: true,
      steps: [{ label: "standardized", value: standardized }],
      note: `The model has more parameters than a page can carry, so ${path}.weight is not here: this is the number that the pass recorded.`,
    };
  }
  const total = standardized * weight + bias;
  return {
    equation: "standardized · weight + bias",
    total,
    filled: `${inSum(standardized)}·${inSum(weight)} + ${inSum(bias)} = ${fourDecimals(total)}`,
    steps: [
      { label: "standardized", value: standardized },
      { label: `weight of dimension ${column}`, value: weight },
      { label: `bias of dimension ${column}`, value: bias },
    ],
    note: "Each dimension has a weight and a bias of its own, which training found.",
  };
};

const ACTIVATION_WORDS = { relu: "max(0, x)", gelu: "x · Φ(x)", silu: "x ÷ (1 + exp(−x))" };

const activatedCell = async ({ run, name, row, column }) => {
  const x = panelOf(await run.get(sibling(name, "hidden"))).at(row, column);
  const activation = run.config.activation;
  const total = ACTIVATIONS[activation](x);
  const note = activation === "relu" && x < 0 ? "What is below zero becomes zero." : "";
  return {
    equation: ACTIVATION_WORDS[activation],
    filled: `${ACTIVATION_WORDS[activation].replace(/\bx\b/g, inSum(x))} = ${fourDecimals(total)}`,
    total,
    steps: [
      { label: "hidden x", value: x },
      { label: ACTIVATION_WORDS[activation], value: total },
    ],
    note,
  };
};
