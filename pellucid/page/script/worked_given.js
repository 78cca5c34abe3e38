// What a worked example starts from: it may come in at any stage, and says what does not fit. The errors are
// those of pellucid.attention, word for word.

const STAGE_AXES = {
  queries: "BHLK",
  keys: "BHMK",
  values: "BHMU",
  scores: "BHLM",
  scaled_scores: "BHLM",
  mask: "BHLM",
  masked_scores: "BHLM",
  weights: "BHLM",
  context: "BHLU",
  concatenated: "BLD",
  output: "BLD",
};
const STAGE_NAMES = Object.keys(STAGE_AXES);
const ENTRIES = ["scores", "scaled_scores", "masked_scores", "weights"]; // where one may come in after the queries
const GIVEN_MATRICES = [
  "inputs",
  "memory",
  "w_query",
  "w_key",
  "w_value",
  "w_output",
  "queries",
  "keys",
  "values",
  ...ENTRIES,
];
const WEIGHT_OF = { queries: "w_query", keys: "w_key", values: "w_value" };

/**
 * From {inputs, memory, w_query, … weights, heads, scale, mask, tokens, memory_tokens} to what the stages are
 * made from: {heads, queries (L), keys (M), divisor, causal, matrices, projections, wOutput, tokens}.
 */
const givenOf = (asked) => {
  const arrays = {};
  for (const name of GIVEN_MATRICES) if (asked[name] != null) arrays[name] = matrixOf(name, asked[name]);
  const mask = asked.mask ?? null;
  const scale = asked.scale === undefined ? "sqrt_dk" : asked.scale;
  const entry = entryOf(arrays, scale, mask);
  const heads = headsOf(arrays, asked.heads ?? null);
  const given = {
    entry,
    heads,
    matrices: {},
    projections: {},
    divisor: null,
    causal: mask === "causal",
    wOutput: null,
  };
  for (const name of entry === null ? Object.keys(WEIGHT_OF) : ["values"]) takeMatrix(name, arrays, given);
  if (entry !== null) given.matrices[entry] = forEachHead(arrays[entry], heads);
  refuseUnused(arrays, given);
  joinShapes(given);
  given.hasValues = "values" in given.matrices || "values" in given.projections;
  if (arrays.w_output) given.wOutput = outputWeights(arrays.w_output, given);
  given.divisor = divisorOf(scale, given, arrays);
  if (mask !== null && typeof mask !== "string") given.matrices.mask = maskMatrices(mask, given);
  given.tokens = tokensAlong(asked.tokens ?? null, asked.memory_tokens ?? null, given, "memory" in arrays);
  return given;
};

/** The stage after the queries that is given, or null. */
const entryOf = (arrays, scale, mask) => {
  const late = ENTRIES.filter((name) => name in arrays);
  if (late.length > 1) {
    const both = late.join(" and ");
    throw new UsageError(`${both} are both given: the first makes the second. Give one of them.`, late[1]);
  }
  const entry = late[0] ?? null;
  const idle = entry === null ? [] : ["queries", "keys", "w_query", "w_key"].filter((name) => name in arrays);
  if (mask !== null && (entry === "masked_scores" || entry === "weights")) idle.push("mask");
  const isDivided = entry === null || entry === "scores";
  if (scale !== null && scale !== "sqrt_dk" && !isDivided) idle.push("scale");
  if (idle.length) {
    throw new UsageError(
      `${entry} is given, so ${idle[0]} has no effect. Leave one of the two out.`,
      idle[0],
    );
  }
  if (typeof mask === "string" && mask !== "causal") {
    const ways = 'Give None, "causal", or an array of 0 and -inf or of bools';
    throw new UsageError(`mask = "${mask}" is not known. ${ways}.`, "mask");
  }
  return entry;
};

/** The number that `heads` and all that has a matrix for each head agree on. */
const headsOf = (arrays, heads) => {
  if (heads !== null && !(Number.isInteger(heads) && heads >= 1)) {
    throw new UsageError(`heads = ${shownValue(heads)} must be a whole number, 1 or more.`, "heads");
  }
  const counts = heads === null ? [] : [["heads", heads]];
  for (const [name, array] of Object.entries(arrays)) if (isPerHead(array)) counts.push([name, array.length]);
  if (new Set(counts.map(([, count]) => count)).size > 1) {
    const said = counts.map((pair) => pair.join(" ")).join(", ");
    throw new UsageError(`the numbers of heads differ: ${said}. Give every head its matrix.`, "heads");
  }
  return counts[0]?.[1] ?? 1;
};

/** Queries, keys or values: as they are given, or from the inputs or the memory. */
const takeMatrix = (name, arrays, given) => {
  const weight = WEIGHT_OF[name];
  const source = name !== "queries" && "memory" in arrays ? "memory" : "inputs";
  if (name in arrays) {
    if (weight in arrays) {
      throw new UsageError(
        `${name} are given, so ${weight} has no effect. Leave one of the two out.`,
        weight,
      );
    }
    const matrix = arrays[name];
    given.matrices[name] = isPerHead(matrix) ? matrix : checkedSplit(name, matrix, given.heads, name);
  } else if (source in arrays) {
    const matrix = arrays[source];
    const w = arrays[weight] ?? null;
    if (w === null) checkedSplit(name, matrix, given.heads, source);
    else {
      checkProduct(name, source, matrix, weight, w);
      if (!isPerHead(w)) checkedSplit(`${name}: ${weight}`, w, given.heads, weight);
    }
    given.projections[name] = { source, matrix, weight, weights: w };
  } else if (name !== "values") {
    const where = name === "queries" ? "inputs" : "memory or inputs";
    throw new UsageError(`there are no ${name}. Give ${name}=, or ${where}= (and ${weight}=).`, name);
  }
};

const checkedSplit = (name, matrix, heads, place) => {
  const columns = columnsOf(matrix);
  if (columns % heads) {
    const what = `${name} (${sizeText(matrix)}): ${columns} columns`;
    throw new UsageError(`${what} are not a multiple of heads = ${heads}.`, place);
  }
  return splitHeads(matrix, heads);
};

/** Throws unless a · b exists. */
const checkProduct = (result, left, a, right, b) => {
  const [one, other] = [a, b].map((matrix) => (isPerHead(matrix) ? matrix[0] : matrix));
  const [columns, rows] = [columnsOf(one), other.length];
  if (columns === rows) return;
  const turned = columnsOf(other) === columns && right.startsWith("w_");
  const hint = turned ? ` Its transpose would: ${right} is written in × out.` : "";
  const place = GIVEN_MATRICES.includes(right) ? right : "keys";
  throw new UsageError(
    `${result}: ${left} · ${right} is (${sizeText(a)})·(${sizeText(b)}), which does not multiply: ` +
      `the left has ${columns} columns, the right ${rows} rows.${hint}`,
    place,
  );
};

const forEachHead = (matrix, heads) => (isPerHead(matrix) ? matrix : Array(heads).fill(matrix));

const refuseUnused = (arrays, given) => {
  const used = new Set([...Object.keys(given.matrices), "w_output"]);
  for (const projection of Object.values(given.projections))
    used.add(projection.source).add(projection.weight);
  const needs = { w_query: "inputs", w_key: "memory or inputs", w_value: "memory or inputs" };
  for (const name of Object.keys(arrays)) {
    if (used.has(name)) continue;
    const why = needs[name]
      ? `it multiplies ${needs[name]}, which are not given`
      : "everything is given without it";
    throw new UsageError(`${name} has no effect: ${why}. Leave it out, or enter at an earlier stage.`, name);
  }
};

/** L and M, after a look at whether the stages fit together. */
const joinShapes = (given) => {
  const ofOneHead = (name) => {
    if (name in given.matrices) return given.matrices[name][0];
    const { matrix, weights } = given.projections[name];
    if (weights !== null && isPerHead(weights)) return emptyMatrix(matrix.length, columnsOf(weights[0]));
    return emptyMatrix(matrix.length, Math.floor(columnsOf(weights ?? matrix) / given.heads));
  };
  if (given.entry === null) {
    const [asking, asked] = [ofOneHead("queries"), ofOneHead("keys")];
    checkProduct("scores", "queries", asking, "keys^T", transpose(asked));
    [given.queries, given.keys] = [asking.length, asked.length];
  } else {
    const [scores] = given.matrices[given.entry];
    [given.queries, given.keys] = [scores.length, columnsOf(scores)];
  }
  if ("values" in given.matrices || "values" in given.projections) {
    const values = ofOneHead("values");
    checkProduct("context", "weights", emptyMatrix(given.queries, given.keys), "values", values);
    given.valueColumns = columnsOf(values);
  }
};

const outputWeights = (wOutput, given) => {
  if (!given.hasValues) {
    const why = "there are no values, so it ends at the weights";
    throw new UsageError(`w_output has no effect: ${why}. Give values=.`, "w_output");
  }
  const stacked = isPerHead(wOutput) ? wOutput.flat() : wOutput;
  const concatenated = emptyMatrix(given.queries, given.heads * given.valueColumns);
  checkProduct("output", "concatenated", concatenated, "w_output", stacked);
  return stacked;
};

/** What divides the scores, or null. */
const divisorOf = (scale, given, arrays) => {
  if (scale === null) return null;
  if (typeof scale === "string") {
    if (scale !== "sqrt_dk" && scale !== "sqrt_dmodel") {
      const ways = 'Give "sqrt_dk", "sqrt_dmodel", None, or a number that divides';
      throw new UsageError(`scale = "${scale}" is not known. ${ways}.`, "scale");
    }
    if (scale === "sqrt_dk" && given.entry !== null) return null; // without queries nobody knows d_k
    let width = given.entry === null ? queryColumns(given) : 0;
    if (scale === "sqrt_dmodel") width = arrays.inputs ? columnsOf(arrays.inputs) : width * given.heads;
    if (!width) {
      const why = 'scale = "sqrt_dmodel": no inputs or queries say d_model';
      throw new UsageError(`${why}. Give its root, a number.`, "scale");
    }
    return Math.sqrt(width);
  }
  if (!(typeof scale === "number" && Number.isFinite(scale) && scale > 0)) {
    const what = `scale = ${shownValue(scale)} must be a number above 0`;
    throw new UsageError(`${what}: it divides the scores.`, "scale");
  }
  return scale;
};

const queryColumns = (given) => {
  if (given.matrices.queries) return columnsOf(given.matrices.queries[0]);
  const { matrix, weights } = given.projections.queries;
  return weights && isPerHead(weights) ? columnsOf(weights[0]) : columnsOf(weights ?? matrix) / given.heads;
};

/** What is added to the scores, 0 or below, a matrix for each head. */
const maskMatrices = (mask, given) => {
  const cells = Array.isArray(mask) ? mask.flat(2) : [mask];
  const isBools = cells.length > 0 && cells.every((cell) => typeof cell === "boolean");
  const added = (value) => (Array.isArray(value) ? value.map(added) : value ? 0 : -Infinity);
  const matrix = matrixOf("mask", isBools ? added(mask) : mask);
  const wrong = matrix.flat(2).find((value) => !(value <= 0));
  if (wrong !== undefined) {
    const what = `mask: ${sixDigits(wrong)} is not 0 or below: a mask is added to the scores, 0 where a query`;
    const isZeroOrOne = matrix.flat(2).every((value) => value === 0 || value === 1);
    const which = isZeroOrOne ? ": of 0 and 1, mask == 1 or mask == 0" : "";
    const ways = `may look, -inf where it may not. Or give bools, True where a query may look${which}`;
    throw new UsageError(`${what} ${ways}.`, "mask");
  }
  const shape = shapeOf(matrix);
  const fits = shape.at(-2) === given.queries && shape.at(-1) === given.keys;
  if (!fits || (shape.length === 3 && shape[0] !== given.heads)) {
    const heads = given.heads > 1 ? `, of each of ${given.heads} heads,` : "";
    throw new UsageError(
      `mask is ${shapeText(shape)} and the scores${heads} are ${given.queries}×${given.keys}: ` +
        "they are added, so they must be alike.",
      "mask",
    );
  }
  return forEachHead(matrix, given.heads);
};

/** The words along L and M, where they are given; in self-attention they are the same. */
const tokensAlong = (tokens, memoryTokens, given, hasMemory) => {
  const asked = memoryTokens === null && !hasMemory && given.queries === given.keys ? tokens : memoryTokens;
  const found = {};
  for (const [name, axis, list, length] of [
    ["tokens", "L", tokens, given.queries],
    ["memory_tokens", "M", asked, given.keys],
  ]) {
    if (list === null) continue;
    if (list.length !== length) {
      const counts = `${list.length} words for ${length} rows`;
      throw new UsageError(`${name}: ${counts}. Give one for each.`, name);
    }
    found[axis] = [...list];
  }
  return found;
};

/** A setting's value as Python's repr writes it, for an error that quotes it. */
const shownValue = (value) => {
  if (Array.isArray(value)) return `[${value.map(shownValue).join(", ")}]`;
  if (typeof value === "string") return `'${value}'`;
  if (typeof value === "boolean") return value ? "True" : "False";
  return value === null ? "None" : String(value);
};
