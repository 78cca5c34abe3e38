// How far rounding may have moved a number: half a unit of each printed one, carried from line to line. A line
// is what a reader has at a stage: {numbers, halves, decimals, isWritten}, a matrix for each head; halves say how
// far rounding may have moved each number, decimals what it shows (null: exact), isWritten which numbers stand
// there, claimed or given.

const SOURCES = {
  scores: ["queries", "keys"],
  scaled_scores: ["scores"],
  masked_scores: ["scaled_scores", "mask"],
  weights: ["masked_scores"],
  context: ["weights", "values"],
  concatenated: ["context"],
  output: ["concatenated"],
};

/** The lines that somebody has who takes each claimed number as it is written. */
const readersLines = (given, used, claims) => {
  const lines = {};
  for (const [name, numbers] of Object.entries(used)) {
    let [halves, decimals] = [movedBy(given, name, numbers, lines), decimalsBefore(name, lines)];
    let isWritten = numbers.map((matrix) => mapCells(matrix, () => name in given.matrices));
    const claim = claims[name];
    if (claim && sameShape(claim.numbers, numbers)) {
      const half = (before, head, r, c) =>
        Number.isNaN(claim.numbers[head][r][c]) ? before : claim.halves[head][r][c];
      halves = halves.map((matrix, head) => mapCells(matrix, (before, r, c) => half(before, head, r, c)));
      decimals = decimalsOf(claim.halves);
      isWritten = isWritten.map((matrix, head) =>
        mapCells(matrix, (is, r, c) => is || !Number.isNaN(claim.numbers[head][r][c])),
      );
    }
    lines[name] = { numbers, halves, decimals, isWritten };
  }
  return lines;
};

/** How far what is computed at a stage may be off, for the lines before it were rounded. */
const movedBy = (given, name, numbers, lines) => {
  const sources = (SOURCES[name] ?? []).map((source) => lines[source]);
  if (name in given.matrices || !sources.length || !sources.every(Boolean)) {
    return numbers.map((matrix) => mapCells(matrix, () => 0));
  }
  const [first, second] = sources;
  const { halves } = first;
  if (name === "scores") {
    const keys = { numbers: second.numbers.map(transpose), halves: second.halves.map(transpose) };
    return halves.map((_, head) => movedProduct(headOf(first, head), headOf(keys, head)));
  }
  if (name === "scaled_scores") return eachHead(halves, (half) => half / (given.divisor ?? 1));
  if (name === "weights") {
    return first.numbers.map((scores, head) => scores.map((row, r) => movedSoftmax(row, halves[head][r])));
  }
  if (name === "context") {
    return halves.map((_, head) => {
      const [weights, values] = [headOf(first, head), headOf(second, head)];
      const shares = movedShares(weights, values);
      return mapCells(movedProduct(weights, values), (moved, r, c) => Math.min(moved, shares[r][c]));
    });
  }
  if (name === "concatenated") return [halves[0].map((_, row) => halves.flatMap((head) => head[row]))];
  if (name === "output" && given.wOutput) return [multiply(halves[0], mapCells(given.wOutput, Math.abs))];
  return halves;
};

const headOf = ({ numbers, halves }, head) => ({ numbers: numbers[head], halves: halves[head] });

/** The fewest decimals that the lines show from which a stage is computed. */
const decimalsBefore = (name, lines) => {
  const shown = (SOURCES[name] ?? []).map((source) => lines[source]?.decimals ?? null);
  const known = shown.filter((decimals) => decimals !== null);
  return known.length ? Math.min(...known) : null;
};

const decimalsOf = (halves) => {
  const largest = Math.max(...halves.flat(2));
  return largest > 0 ? Math.max(0, Math.round(-Math.log10(2 * largest))) : null;
};

/** Of a product whose factors were both rounded: each off times the other, and both offs together. */
const movedProduct = (left, right) => {
  const reach = mapCells(right.numbers, (value, r, c) => Math.abs(value) + right.halves[r][c]);
  const ofLeft = multiply(left.halves, reach);
  const ofRight = multiply(mapCells(left.numbers, Math.abs), right.halves);
  return mapCells(ofLeft, (moved, r, c) => moved + ofRight[r][c]);
};

/**
 * The same for shares that sum to 1: what one of them gains the others lose, so that only how far values lie
 * from their middle counts.
 */
const movedShares = (weights, values) => {
  const middles = transpose(values.numbers).map((column) => (Math.max(...column) + Math.min(...column)) / 2);
  const reach = mapCells(values.numbers, (value, r, c) => Math.abs(value - middles[c]) + values.halves[r][c]);
  const apart = multiply(weights.halves, reach);
  const ofValues = multiply(mapCells(weights.numbers, Math.abs), values.halves);
  return mapCells(apart, (moved, r, c) => {
    const missing = Math.abs(1 - sumOf(weights.numbers[r]));
    return moved + missing * Math.abs(middles[c]) + ofValues[r][c];
  });
};

const movedSoftmax = (scores, halves) => {
  const { lowest: middle } = softmaxBounds(scores, scores.map(() => 0));
  const { lowest, highest } = softmaxBounds(scores, halves);
  return middle.map((weight, column) => Math.max(highest[column] - weight, weight - lowest[column]));
};

/** The least and the largest weights that scores can have which were rounded to these. */
const softmaxBounds = (scores, halves) => {
  const bound = (sign) =>
    scores.map((score, i) => {
      if (score === -Infinity) return 0;
      const apart = (other) => (Number.isNaN(other - score) ? -Infinity : other - score);
      const off = (j) => (i === j ? 0 : sign * (halves[i] + halves[j]));
      return 1 / sumOf(scores.map((other, j) => Math.exp(apart(other) + off(j))));
    });
  return { lowest: bound(1), highest: bound(-1) };
};
