// Known slips: what a claimed line would be if one step had been done otherwise, as explain/worked/slips.py
// has them. Each is computed from the lines before as claimed, and counts only where it gives every claimed
// cell of the stage.

const ENOUGH = 4; // claimed cells that convince where a slip shows in a single one

/** "dividing by d_k gives this": the known slips that give a claim, if there are one or two; else "". */
const slipThatGives = (given, name, claim, lines, right) => {
  if (!SLIPS[name] || given.matrices[name]) return "";
  const found = SLIPS[name](given, lines).filter(([, numbers]) => givesClaim(numbers, claim, right));
  return found.length === 1 || found.length === 2 ? `${found.map(([told]) => told).join(" or ")} gives this` : "";
};

/**
 * Whether the numbers are those claimed, and two of them at least more than a unit of the last digit from what is
 * right: a single one may be a typing error, unless no other cell could show the slip.
 */
const givesClaim = (numbers, claim, right) => {
  if (!sameShape(numbers, claim.numbers)) return false;
  const known = claimedPlaces(claim);
  const largest = Math.max(...claim.halves.flat(2));
  const isWithin = (others, halves) => ([head, row, column]) => {
    const [number, other] = [numbers[head][row][column], others[head][row][column]];
    const isLeftOut = Number.isNaN(claim.numbers[head][row][column]);
    const half = isLeftOut ? largest : claim.halves[head][row][column];
    return number === other || Math.abs(number - other) <= halves * half + EXACT;
  };
  if (!known.every(isWithin(claim.numbers, 1))) return false;
  const isRight = isWithin(right, 2);
  const off = known.filter((place) => !isRight(place)).length;
  if (off !== 1) return off > 1;
  const everywhere = claimedPlaces({ numbers: eachHead(numbers, () => 0) });
  return known.length >= ENOUGH && everywhere.filter((place) => !isRight(place)).length === 1;
};

const eachHead = (matrices, made) => matrices.map((matrix) => mapCells(matrix, made));
const multiplyHeads = (left, right) => left.map((matrix, head) => multiply(matrix, right[head]));
const isClosed = (score) => score === -Infinity;

const slipsOfProjection = (name) => (given) => {
  const made = given.projections[name];
  if (!made?.weights) return [];
  const { source, weight, matrix, weights } = made;
  const perHead = isPerHead(weights) ? weights : [weights];
  const all = (one) => (isPerHead(weights) ? perHead.map(one) : splitHeads(one(weights), given.heads));
  const [rows, columns] = [perHead[0].length, columnsOf(perHead[0])];
  const found = [];
  if (rows === columns)
    found.push([`${source} times ${weight} transposed`, all((w) => multiply(matrix, transpose(w)))]);
  if (columns === matrix.length && columnsOf(matrix) % given.heads === 0)
    found.push([`${weight} times ${source}, the other way round,`, all((w) => multiply(w, matrix))]);
  if (columnsOf(matrix) === columns * (isPerHead(weights) ? given.heads : 1))
    found.push([`${source} itself, without ${weight},`, splitHeads(matrix, given.heads)]);
  for (const [other, instead] of Object.entries(given.projections)) {
    if (other === name || !instead.weights || !sameShape(instead.weights, weights)) continue;
    const product = isPerHead(weights)
      ? instead.weights.map((w) => multiply(matrix, w))
      : splitHeads(multiply(matrix, instead.weights), given.heads);
    found.push([`${instead.weight} instead of ${weight}`, product]);
  }
  if (given.heads > 1 && !isPerHead(weights)) found.push(...slipsOfSplitting(multiply(matrix, weights), given.heads));
  return found;
};

const slipsOfSplitting = (product, heads) => {
  const width = columnsOf(product) / heads;
  const inTurn = eachOf(heads, (head) => product.map((row) => eachOf(width, (column) => row[column * heads + head])));
  const numbers = product.flat();
  const untransposed = eachOf(heads, (head) =>
    product.map((_, row) => numbers.slice((head * product.length + row) * width).slice(0, width)),
  );
  return [
    ["giving the columns to the heads in turn, not in blocks,", inTurn],
    ["reshaping to heads × rows × d_k, without the transpose,", untransposed],
  ];
};

const eachOf = (count, made) => Array.from({ length: count }, (_, index) => made(index));

const slipsOfScores = (given, { queries, keys }) => {
  const scores = multiplyHeads(queries, keys.map(transpose));
  const found = [];
  if (sameShape(queries, keys)) found.push(["K Qᵀ, the transpose of Q Kᵀ,", scores.map(transpose)]);
  if (columnsOf(queries[0]) === keys[0].length) found.push(["Q K, without the transpose,", multiplyHeads(queries, keys)]);
  found.push(...dividedOtherwise({ ...given, divisor: null }, queries, scores, (by) => `dividing by ${by} already here`));
  if (given.heads > 1) {
    const sum = mapCells(scores[0], (_, l, m) => sumOf(scores.map((matrix) => matrix[l][m])));
    found.push(["all heads together, not each its own columns,", scores.map(() => sum)]);
  }
  return found;
};

const slipsOfScaledScores = (given, { queries, scores }) => {
  const found = [];
  if (given.divisor !== null && given.divisor !== 1) {
    found.push(["not dividing", scores]);
    found.push([`multiplying by ${sixDigits(given.divisor)}`, eachHead(scores, (score) => score * given.divisor)]);
  }
  return [...found, ...dividedOtherwise(given, queries, scores, (by) => `dividing by ${by}`)];
};

/** By d_k and its root, and by the model's width and its root, but not by what is right. */
const dividedOtherwise = (given, queries, scores, told) => {
  const by = (divisor) => eachHead(scores, (score) => score / divisor);
  if (!queries) {
    const square = given.divisor === null ? 1 : given.divisor ** 2;
    return given.divisor === null ? [] : [[told(`${sixDigits(square)}, without the root`), by(square)]];
  }
  const [width, heads] = [columnsOf(queries[0]), queries.length];
  const named = { "√d_k": Math.sqrt(width), d_k: width, "√d_model": Math.sqrt(width * heads), d_model: width * heads };
  return Object.entries(named)
    .filter(([, divisor]) => divisor !== 1 && !(Math.abs(divisor - given.divisor) <= EXACT * divisor))
    .map(([text, divisor]) => [told(text), by(divisor)]);
};

const slipsOfMaskedScores = (given, { scores, scaled_scores: scaled, mask }) => {
  const isSquare = mask[0].length === columnsOf(mask[0]);
  const hiding = (matrices, isHidden) =>
    matrices.map((matrix, head) => mapCells(matrix, (score, l, m) => (isHidden(head, l, m) ? -Infinity : score)));
  const isMasked = (head, l, m) => isClosed(mask[head][l][m]);
  if (!mask.flat(2).some(isClosed)) {
    const later = hiding(scaled, (_, l, m) => m > l);
    return isSquare ? [["a causal mask where none is asked for", later]] : [];
  }
  const found = [["leaving the mask out", scaled]];
  if (isSquare) found.push(["the mask transposed", hiding(scaled, (head, l, m) => isMasked(head, m, l))]);
  if (given.causal) {
    found.push(["masking a token from itself too", hiding(scaled, (_, l, m) => m >= l)]);
    found.push(["a mask that leaves the next token open", hiding(scaled, (_, l, m) => m > l + 1)]);
  }
  const inverse = hiding(scaled, (head, l, m) => !isMasked(head, l, m));
  found.push(["masking what may be looked at, and not the rest,", inverse]);
  const zeros = scaled.map((matrix, head) => mapCells(matrix, (score, l, m) => (isMasked(head, l, m) ? 0 : score)));
  found.push(["0 instead of −∞ for what is masked", zeros]);
  if (scores) found.push(["masking scores that are not scaled", hiding(scores, isMasked)]);
  return found;
};

const slipsOfWeights = (given, { scores, scaled_scores: scaled, masked_scores: masked }) => {
  const softmax = (matrices) => matrices.map((matrix) => matrix.map(softmaxOverKeys));
  const powers = eachHead(masked, Math.exp);
  const open = eachHead(masked, (score) => (isClosed(score) ? 0 : score));
  const hiding = (matrices, hidden) =>
    matrices.map((matrix, head) => mapCells(matrix, (cell, l, m) => (isClosed(masked[head][l][m]) ? hidden : cell)));
  const found = [
    ["softmax over the queries, down each column,", softmax(masked.map(transpose)).map(transpose)],
    ["exp without dividing by the sum", powers],
    [
      "dividing the scores by their sum, without exp,",
      open.map((matrix) => matrix.map((row) => row.map((score) => score / sumOf(row)))),
    ],
    [
      "one softmax over the whole matrix",
      powers.map((matrix) => mapCells(matrix, (power) => power / sumOf(matrix.flat()))),
    ],
    ["0 instead of −∞ for what is masked", softmax(open)],
  ];
  if (scaled) {
    found.push(["softmax without the mask", softmax(scaled)]);
    found.push(["masking after the softmax", hiding(softmax(scaled), 0)]);
  }
  if (scores) found.push(["softmax of scores that are not scaled", softmax(hiding(scores, -Infinity))]);
  return found;
};

const slipsOfContext = (given, { keys, masked_scores: masked, weights, values }) => {
  const found = [];
  const [rows, width] = [values[0].length, columnsOf(values[0])];
  if (weights[0].length === rows) found.push(["the weights transposed, times V,", multiplyHeads(weights.map(transpose), values)]);
  if (rows === width && rows === weights[0].length)
    found.push(["V times the weights, the other way round,", multiplyHeads(values, weights)]);
  if (keys && sameShape(keys, values)) found.push(["the weights times K instead of V", multiplyHeads(weights, keys)]);
  if (masked?.flat(2).every(Number.isFinite)) found.push(["scores times V, without softmax,", multiplyHeads(masked, values)]);
  const means = values.map((matrix) => transpose(matrix).map((column) => sumOf(column) / rows));
  found.push(["the plain mean of V, without the weights,", weights.map((matrix, head) => matrix.map(() => means[head]))]);
  if (given.heads > 1)
    found.push(["each head with the values of the next", multiplyHeads(weights, [...values.slice(1), values[0]])]);
  return found;
};

const slipsOfConcatenated = (given, { context }) => {
  if (given.heads === 1) return [];
  const sideBySide = (heads) => heads[0].map((_, row) => heads.flatMap((head) => head[row]));
  const [rows, width] = [context[0].length, columnsOf(context[0])];
  const inTurn = eachOf(rows, (row) => eachOf(width, (column) => context.map((head) => head[row][column])).flat());
  const numbers = context.flat(2);
  const flattened = eachOf(rows, (row) => numbers.slice(row * width * given.heads).slice(0, width * given.heads));
  const sum = mapCells(context[0], (_, row, column) => sumOf(context.map((head) => head[row][column])));
  return [
    ["the columns of the heads taken in turn", [inTurn]],
    ["the heads in the opposite order", [sideBySide([...context].reverse())]],
    ["flattening head by head, without the transpose,", [flattened]],
    ["the sum of the heads, not side by side,", [sum]],
    ["the mean of the heads, not side by side,", [mapCells(sum, (value) => value / given.heads)]],
  ];
};

const slipsOfOutput = ({ wOutput: w }, { concatenated }) => {
  if (!w) return [];
  const found = [["leaving W^O out", concatenated]];
  if (w.length === columnsOf(w)) found.push(["W^O transposed", [multiply(concatenated[0], transpose(w))]]);
  if (columnsOf(w) === concatenated[0].length) found.push(["W^O on the left", [multiply(w, concatenated[0])]]);
  return found;
};

const SLIPS = {
  queries: slipsOfProjection("queries"),
  keys: slipsOfProjection("keys"),
  values: slipsOfProjection("values"),
  scores: slipsOfScores,
  scaled_scores: slipsOfScaledScores,
  masked_scores: slipsOfMaskedScores,
  weights: slipsOfWeights,
  context: slipsOfContext,
  concatenated: slipsOfConcatenated,
  output: slipsOfOutput,
};
