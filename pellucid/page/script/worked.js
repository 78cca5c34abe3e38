// The stages of an attention, in order, from anything that pellucid.attention takes, entered at any of
// them. All in float64, as worked examples are in Python too. A number that is not there ("…" on a slide)
// is NaN, and so is whatever depends on it. `see(name, matrices)` is shown each stage, a matrix for each
// head, and returns what is used from there on.

const runStages = (given, see) => {
  const shown = (name, made) => {
    if (!hasStage(given, name)) return null;
    let matrices = given.matrices[name] ?? made();
    if (name === "masked_scores" && masks) {
      // What is masked is −∞ even where its score is not known: NaN − ∞ would be NaN.
      matrices = matrices.map((scores, head) =>
        mapCells(scores, (score, l, m) => (masks[head][l][m] === -Infinity ? -Infinity : score)),
      );
    }
    return see(name, matrices);
  };
  let masks = null;
  const heads = [...Array(given.heads).keys()];
  const queries = shown("queries", () => projected(given, "queries"));
  const keys = shown("keys", () => projected(given, "keys"));
  const values = shown("values", () => projected(given, "values"));

  // Attention(Q, K, V) = softmax(Q K^T / √d_k) V
  const scores = shown("scores", () => heads.map((head) => multiply(queries[head], transpose(keys[head]))));
  const scale = given.divisor === null ? 1 : 1 / given.divisor;
  const scaledScores = shown("scaled_scores", () =>
    scores.map((matrix) => mapCells(matrix, (score) => score * scale)),
  );
  const mask = shown("mask", () => heads.map(() => maskOf(given)));
  masks = mask;
  const maskedScores = shown("masked_scores", () =>
    scaledScores.map((matrix, head) => mapCells(matrix, (score, l, m) => score + mask[head][l][m])),
  );
  const weights = shown("weights", () => maskedScores.map((matrix) => matrix.map(softmaxOverKeys)));
  if (!given.hasValues) return;
  const context = shown("context", () => heads.map((head) => multiply(weights[head], values[head])));
  const concatenated = shown("concatenated", () => [
    context[0].map((_, row) => context.flatMap((head) => head[row])),
  ]);
  if (given.wOutput) shown("output", () => [multiply(concatenated[0], given.wOutput)]);
};

/** Whether a stage has numbers: it comes not before the entry, nor after the end. */
const hasStage = (given, name) => {
  if (name === "queries" || name === "keys") return given.entry === null;
  if (name === "values") return given.hasValues;
  const place = STAGE_NAMES.indexOf(name);
  if (place > STAGE_NAMES.indexOf("weights"))
    return given.hasValues && (name !== "output" || given.wOutput !== null);
  return given.entry === null || place >= STAGE_NAMES.indexOf(given.entry);
};

/** Queries, keys or values: X · W, or X itself, a slice of its columns for each head. */
const projected = (given, name) => {
  const projection = given.projections[name];
  const { matrix, weights } = projection;
  if (weights === null) return splitHeads(matrix, given.heads);
  return isPerHead(weights)
    ? weights.map((w) => multiply(matrix, w))
    : splitHeads(multiply(matrix, weights), given.heads);
};

/** 0 where a query may look, −∞ where not. */
const maskOf = (given) =>
  mapCells(emptyMatrix(given.queries, given.keys), (_, l, m) => (given.causal && m > l ? -Infinity : 0));

/** softmax of a row; one without any allowed key gets weights of zero (softmax alone gives 0/0). */
const softmaxOverKeys = (row) => {
  if (row.every((score) => score === -Infinity)) return row.map(() => 0);
  const largest = Math.max(...row);
  const powers = row.map((score) => Math.exp(score - largest));
  const sum = powers.reduce((total, power) => total + power, 0);
  return powers.map((power) => power / sum);
};

/**
 * Every stage by its name, a matrix for each head, in the order of computation; and how its shape comes
 * about.
 */
const workedExample = (asked) => {
  const given = givenOf(asked);
  const stages = {};
  runStages(given, (name, matrices) => (stages[name] = matrices));
  refuseOverflow(given, stages);
  return { given, asked, stages, shapes: shapesOf(given, stages) };
};

/** Throws where a stage leaves float64: what follows from it would look like numbers not known. */
const refuseOverflow = (given, stages) => {
  const start = [...Object.values(given.matrices), given.wOutput ?? []];
  for (const { matrix, weights } of Object.values(given.projections)) start.push(matrix, weights ?? []);
  const isKnown = !start.flat(Infinity).some(Number.isNaN);
  for (const [name, matrices] of Object.entries(stages)) {
    if (name in given.matrices) continue;
    const before = name === "scaled_scores" ? stages.scores.flat(2) : null;
    const isBeyond = (value, place) => {
      if (Number.isNaN(value)) return isKnown;
      if (value === -Infinity && (name === "mask" || name === "masked_scores")) return false; // what masks
      return !Number.isFinite(value) && (before === null || Number.isFinite(before[place]));
    };
    if (!matrices.flat(2).some(isBeyond)) continue;
    const what = `${name}: from these numbers it overflows float64 (1.8e308)`;
    throw new UsageError(`${what}. Give smaller ones.`, GIVEN_MATRICES.find((each) => each in given.matrices));
  }
};

/** "(2×4)·(4×3) = (2×3)" for each stage; of each head, where there are several. */
const shapesOf = (given, stages) => {
  const told = {};
  for (const name of Object.keys(stages)) {
    const result = sizeText(stages[name][0]);
    told[name] = shapeWay(given, stages, name, result) ?? `(${result})`;
  }
  return told;
};

const shapeWay = (given, stages, name, result) => {
  const size = (stage) => sizeText(stages[stage][0]);
  const product = (left, right) => `(${left})·(${right}) = (${result})`;
  if (given.projections[name]) return projectedShape(given.projections[name], given.heads, result);
  if (name === given.entry) return null;
  if (name === "scores") return product(size("queries"), sizeText(transpose(stages.keys[0])));
  if (name === "scaled_scores") return `(${result}) ÷ ${sixDigits(given.divisor ?? 1)} = (${result})`;
  if (name === "masked_scores") return `(${result}) + (${result}) = (${result})`;
  if (name === "weights") return `softmax of each row of (${result}) = (${result})`;
  if (name === "context") return product(size("weights"), size("values"));
  if (name === "concatenated" && given.heads > 1)
    return `${given.heads} heads of (${size("context")}) side by side = (${result})`;
  if (name === "output") return product(size("concatenated"), sizeText(given.wOutput));
  return null;
};

const projectedShape = ({ matrix, weights }, heads, result) => {
  const whole =
    weights === null
      ? sizeText(matrix)
      : `${matrix.length}×${columnsOf(isPerHead(weights) ? weights[0] : weights)}`;
  const told = weights === null ? `(${whole})` : `(${sizeText(matrix)})·(${sizeText(weights)}) = (${whole})`;
  return whole === result ? told : `${told}, ${heads} heads of (${result})`;
};
