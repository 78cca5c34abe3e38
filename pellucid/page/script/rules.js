// Rules that true numbers keep, whatever was rounded: each says why a claim cannot be right. A rule counts
// as broken only beyond the slack that rounding leaves, half a unit of each printed number.

/** The rules that the claimed line `name` breaks, by cell: {"head,row,column": [rule, …]}. */
const brokenRules = (name, lines) => {
  const found = {};
  const add = (head, row, column, rule) => {
    // Side by side, the columns of the second head come after those of the first.
    const width = name === "concatenated" ? columnsOf(lines.values.numbers[0]) : 0;
    const cell = name === "concatenated" ? [0, row, head * width + column] : [head, row, column];
    const rules = (found[cell.join()] ??= []);
    if (!rules.includes(rule)) rules.push(rule);
  };
  if (name === "masked_scores" && lines.scaled_scores && lines.mask) rulesOfMaskedScores(lines, add);
  if (name === "weights") rulesOfWeights(lines, add);
  if ((name === "context" || name === "concatenated") && lines.values) {
    rulesOfContext(linesByHead(lines[name], lines.values.numbers.length), lines, add);
  }
  return found;
};

const minusSigned = (number) => sixDigits(number).replaceAll("-", "−");

const sumOf = (numbers) => numbers.reduce((sum, value) => sum + value, 0);

const rulesOfMaskedScores = ({ mask, scaled_scores: before, masked_scores: after }, add) => {
  after.numbers.forEach((matrix, head) =>
    mapCells(matrix, (claimed, row, column) => {
      const [added, score] = [mask.numbers[head][row][column], before.numbers[head][row][column]];
      const hidden = claimed === -Infinity;
      if (added === -Infinity && !hidden && !Number.isNaN(claimed)) add(head, row, column, "a masked score is −∞");
      const slack = after.halves[head][row][column] + before.halves[head][row][column] + EXACT;
      // A score that stands nowhere may have been computed wrongly instead.
      const isOff = before.isWritten[head][row][column] && Math.abs(claimed - score) > slack;
      const isChanged = hidden ? score !== -Infinity : isOff;
      if (added === 0 && isChanged) add(head, row, column, "a score that may be looked at stays as it is");
    }),
  );
};

const rulesOfWeights = (lines, add) => {
  const { weights, masked_scores: scores } = lines;
  weights.numbers.forEach((rows, head) => {
    rows.forEach((numbers, row) => {
      const sum = sumOf(numbers);
      if (Math.abs(sum - 1) > sumOf(weights.halves[head][row]) + EXACT) {
        const rule = `a row of weights sums to 1, this one to ${minusSigned(sum)}`;
        numbers.forEach((_, column) => add(head, row, column, rule));
      }
      if (scores) {
        againstScores(weights, scores, head, row, add);
        equalRows(weights, scores, head, row, add);
      }
    });
  });
};

const againstScores = (weights, scores, head, row, add) => {
  const [numbers, halves] = [weights.numbers[head][row], weights.halves[head][row]];
  const [asked, moved] = [scores.numbers[head][row], scores.halves[head][row]];
  asked.forEach((score, column) => {
    if (score === -Infinity && numbers[column] !== 0) add(head, row, column, "masked weights are exactly 0");
  });
  const isKnown = !asked.some(Number.isNaN);
  const { lowest } = softmaxBounds(asked, moved);
  const isClosed = numbers.map(
    (weight, column) =>
      isKnown && weight === 0 && asked[column] !== -Infinity && lowest[column] > halves[column] + EXACT,
  );
  isClosed.forEach((is, column) => {
    if (is) add(head, row, column, "an open cell has a weight above 0");
  });
  const broken = new Set();
  for (let i = 0; i < numbers.length; i++) {
    for (let j = 0; j < numbers.length; j++) {
      const larger = asked[i] - asked[j] > moved[i] + moved[j] + EXACT;
      const smaller = numbers[j] - numbers[i] > halves[i] + halves[j] + EXACT;
      if (larger && smaller && asked[j] !== -Infinity && !isClosed[i]) broken.add(i).add(j);
    }
  }
  for (const column of [...broken].sort((a, b) => a - b)) {
    add(head, row, column, "a larger score never has a smaller weight");
  }
};

/** Rows whose scores differ by one number throughout have the same weights. */
const equalRows = (weights, scores, head, row, add) => {
  const asked = scores.numbers[head];
  const seen = asked[row].map((score) => score !== -Infinity);
  asked.forEach((others, other) => {
    if (other === row || !seen.some(Boolean)) return;
    if (!others.every((score, column) => (score !== -Infinity) === seen[column])) return;
    const shift = asked[row]
      .map((score, column) => score - others[column])
      .filter((_, column) => seen[column]);
    if (!(Math.max(...shift) - Math.min(...shift) <= EXACT)) return; // not for NaN either
    const half = Math.max(...scores.halves[head][row], ...scores.halves[head][other]);
    const { lowest, highest } = softmaxBounds(asked[row], asked[row].map(() => half));
    weights.numbers[head][row].forEach((weight, column) => {
      const apart = Math.abs(weight - weights.numbers[head][other][column]);
      const halves = weights.halves[head][row][column] + weights.halves[head][other][column];
      if (apart > halves + highest[column] - lowest[column] + EXACT) {
        add(head, row, column, "equal score differences give equal rows");
      }
    });
  });
};

const rulesOfContext = (context, lines, add) => {
  const { values, masked_scores: scores } = lines;
  context.numbers.forEach((rows, head) => {
    const [numbersOf, halvesOf] = [values.numbers[head], values.halves[head]];
    rows.forEach((numbers, row) => {
      const seen = [...numbersOf.keys()].filter((m) => !scores || scores.numbers[head][row][m] !== -Infinity);
      if (!seen.length) return;
      const isFirstAlone = row === 0 && seen.join() === "0" && numbersOf.length > 1;
      numbers.forEach((claimed, column) => {
        const slack = context.halves[head][row][column] + EXACT;
        const least = Math.min(...seen.map((m) => numbersOf[m][column] - halvesOf[m][column]));
        const most = Math.max(...seen.map((m) => numbersOf[m][column] + halvesOf[m][column]));
        if (!(claimed < least - slack || claimed > most + slack)) return;
        if (isFirstAlone) add(head, row, column, "the first row of a causal context is the first value row");
        const between = seen.map((m) => numbersOf[m][column]);
        const span = `${minusSigned(Math.min(...between))} to ${minusSigned(Math.max(...between))}`;
        add(head, row, column, `a context lies within the range of its values, here ${span}`);
      });
    });
  });
};

/** A concatenation as the contexts that it is made of. */
const linesByHead = (line, heads) => {
  if (line.numbers.length === heads) return line;
  return { numbers: splitHeads(line.numbers[0], heads), halves: splitHeads(line.halves[0], heads) };
};
