// Claims about a worked example, judged cell by cell: from the claimed line before, and from the start.

const VERDICTS = ["right", "follows", "wrong", "not derivable"];
const MORE_DIGITS = "computed with more digits than the line before shows";

/**
 * {cells, shapes, steps, starts, shown}: every claimed cell with its verdict (right; follows: the error is
 * earlier; wrong; not derivable), and every stage from the claimed line before (steps) and from the first
 * inputs (starts; shown: with the claimed numbers where nothing else is known). A claim holds within half a
 * unit of its last digit as written; −∞ equals only −∞.
 */
const checkClaims = (worked, claims, decimals = null) => {
  const { given, shapes } = worked;
  const read = readClaims(claims, given.heads, decimals);
  const { computed: steps, used } = passWith(given, read, true);
  const { computed: starts, used: shown } = passWith(given, read, false);
  const lines = readersLines(given, used, read);
  const cells = [];
  for (const [name, claim] of Object.entries(read)) {
    if (starts[name] && !sameShape(starts[name], claim.numbers)) {
      const rule = `shapes multiply: ${shapes[name]}, not (${sizeText(claim.numbers)})`;
      for (const place of claimedPlaces(claim))
        cells.push(judgedCell(name, claim, place, null, null, rule, "wrong"));
      continue;
    }
    const rules = brokenRules(name, { ...lines, [name]: claim });
    const done = steps[name] ? slipThatGives(given, name, claim, used, steps[name]) : "";
    for (const place of claimedPlaces(claim)) {
      const [step, start] = [knownAt(steps[name], place), knownAt(starts[name], place)];
      const rule = [...(done ? [done] : []), ...(rules[place.join()] ?? [])].join("; ");
      cells.push(judgedCell(name, claim, place, step, start, rule, verdictOf(claim, place, step, start)));
    }
  }
  return { cells, shapes, steps, starts, shown };
};

/**
 * All stages as computed and as used from there on: the claimed numbers are used always, or only where
 * nothing else is known.
 */
const passWith = (given, claims, always) => {
  const [computed, used] = [{}, {}];
  runStages(given, (name, matrices) => {
    computed[name] = used[name] = matrices;
    const claim = claims[name];
    if (claim && sameShape(claim.numbers, matrices)) {
      const taken = (number, own) => (!Number.isNaN(number) && (always || Number.isNaN(own)) ? number : own);
      used[name] = matrices.map((matrix, head) =>
        mapCells(matrix, (own, r, c) => taken(claim.numbers[head][r][c], own)),
      );
    }
    return used[name];
  });
  return { computed, used };
};

/** What a reader of the claimed lines has at each stage, and how far rounding may have moved it. */
const readersLines = (given, used, claims) => {
  const lines = {};
  for (const [name, numbers] of Object.entries(used)) {
    let halves = numbers.map((matrix) => mapCells(matrix, () => 0));
    if (name === "scaled_scores" && lines.scores) {
      halves = lines.scores.halves.map((matrix) => mapCells(matrix, (half) => half / (given.divisor ?? 1)));
    }
    if (name === "masked_scores" && lines.scaled_scores) halves = lines.scaled_scores.halves;
    const claim = claims[name];
    if (claim && sameShape(claim.numbers, numbers)) {
      const moved = (before, head, r, c) =>
        Number.isNaN(claim.numbers[head][r][c]) ? before : claim.halves[head][r][c];
      halves = halves.map((matrix, head) => mapCells(matrix, (before, r, c) => moved(before, head, r, c)));
    }
    lines[name] = { numbers, halves };
  }
  return lines;
};

/** Head, row and column of every cell that is not left out. */
const claimedPlaces = (claim) =>
  claim.numbers.flatMap((matrix, head) =>
    matrix.flatMap((row, r) => [...row.keys()].filter((c) => !Number.isNaN(row[c])).map((c) => [head, r, c])),
  );

const knownAt = (matrices, [head, row, column]) => {
  const value = matrices?.[head][row][column] ?? NaN;
  return Number.isNaN(value) ? null : value;
};

const verdictOf = (claim, place, step, start) => {
  if (holdsAt(claim, place, start)) return "right";
  if (start === null && step === null) return "not derivable";
  return holdsAt(claim, place, step) ? "follows" : "wrong";
};

const holdsAt = (claim, [head, row, column], computed) => {
  if (computed === null) return false;
  const claimed = claim.numbers[head][row][column];
  if (!Number.isFinite(claimed) || !Number.isFinite(computed)) return claimed === computed;
  return Math.abs(claimed - computed) <= claim.halves[head][row][column] + EXACT;
};

const judgedCell = (name, claim, place, step, start, rule, verdict) => {
  const [head, row, column] = place;
  const remark = verdict === "right" && !holdsAt(claim, place, step) ? MORE_DIGITS : null;
  const broken = rule && (verdict === "wrong" || verdict === "not derivable") ? rule : null;
  const [claimed, written] = [claim.numbers[head][row][column], claim.written[head][row][column]];
  return { name, head, row, column, claimed, written, step, start, verdict, rule: broken, remark };
};

/** The first stage that goes wrong, and the rule that it breaks, in one sentence; "" where none does. */
const firstWrong = (report) => {
  const wrong = report.cells.find((cell) => cell.verdict === "wrong");
  if (!wrong) return "";
  const here = report.cells.filter((cell) => cell.name === wrong.name && cell.verdict === "wrong");
  const rules = [...new Set(here.map((cell) => cell.rule).filter(Boolean))];
  const count = here.length === 1 ? "one cell is" : `${here.length} cells are`;
  const computed = shownNumber(wrong.step ?? wrong.start);
  const several = report.cells.some((cell) => cell.name === wrong.name && cell.head);
  const head = several ? `head ${wrong.head}, ` : "";
  const cell = `${head}row ${wrong.row}, column ${wrong.column} claims ${wrong.written}, and ${computed} is computed`;
  return `The first stage that goes wrong is ${wrong.name}, where ${count} wrong: ${rules[0] ?? cell}.`;
};

/** "12 cells: 7 right, 2 follow, 3 wrong". */
const verdictSummary = (report) => {
  const told = VERDICTS.map((verdict) => [
    verdict,
    report.cells.filter((cell) => cell.verdict === verdict).length,
  ])
    .filter(([, count]) => count)
    .map(([verdict, count]) => `${count} ${verdict === "follows" ? "follow" : verdict}`);
  return `${report.cells.length} cells${told.length ? ": " : ""}${told.join(", ")}`;
};

/** 0.2120, −∞, and ? for what is not known; small and large numbers with three digits. As in the terminal. */
const shownNumber = (value) => {
  if (value === null || Number.isNaN(value)) return "?";
  if (!Number.isFinite(value)) return value > 0 ? "∞" : "−∞";
  const isPlain = value === 0 || (Math.abs(value) >= 5e-4 && Math.abs(value) < 1e6);
  return (isPlain ? fourDecimals(value) : threeDigits(value)).replaceAll("-", "−");
};

const threeDigits = (value) => {
  const [digits, power] = value.toExponential(2).split("e");
  const short = digits.replace(/\.?0+$/, "");
  const exponent = Number(power);
  if (exponent >= -4 && exponent < 3) return String(Number(value.toPrecision(3)));
  return `${short}e${exponent < 0 ? "-" : "+"}${String(Math.abs(exponent)).padStart(2, "0")}`;
};
