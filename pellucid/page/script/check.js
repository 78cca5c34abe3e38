// Claims about a worked example, judged cell by cell: from the claimed line before, and from the start.

const VERDICTS = ["right", "follows", "wrong", "not derivable"];
const MORE_DIGITS = "computed with more digits than the line before shows";
const FROM_THE_START = "right from the start, though not from the line before";

/**
 * {cells, shapes, steps, starts, shown, tokens}: every claimed cell with its verdict (right; follows: the error is
 * earlier; wrong; not derivable), and every stage from the claimed line before (steps) and from the first
 * inputs (starts; shown: with the claimed numbers where nothing else is known). A claim holds within half a
 * unit of its last digit as written; −∞ equals only −∞.
 */
const checkClaims = (worked, claims, decimals = null) => {
  const { given, shapes } = worked;
  const widths = {};
  for (const name of ["queries", "keys", "values"])
    if (worked.stages[name]) widths[name] = given.heads * columnsOf(worked.stages[name][0]);
  const read = readClaims(claims, given.heads, decimals, widths);
  const { computed: steps, used } = passWith(given, read, true);
  const { computed: starts, used: shown } = passWith(given, read, false);
  const lines = readersLines(given, used, read);
  const cells = [];
  for (const [name, claim] of Object.entries(read)) {
    if (starts[name] && !sameShape(starts[name], claim.numbers)) {
      const rule = `shapes multiply: ${shapes[name]}, not (${sizeText(claim.numbers)})`;
      for (const place of claimedPlaces(claim))
        cells.push(judgedCell(name, claim, place, [null, null], "wrong", rule, null));
      continue;
    }
    const rules = brokenRules(name, { ...lines, [name]: claim });
    const done = steps[name] ? slipThatGives(given, name, claim, used, steps[name]) : "";
    const [off, decimalsShown] = [movedBy(given, name, claim.numbers, lines), decimalsBefore(name, lines)];
    for (const place of claimedPlaces(claim)) {
      const [step, start] = [knownAt(steps[name], place), knownAt(starts[name], place)];
      const rule = [...(done ? [done] : []), ...(rules[place.join()] ?? [])].join("; ");
      const verdict = verdictOf(claim, place, step, start);
      let remark = null;
      const isNear = holdsAt(claim, place, step, knownAt(off, place) ?? 0);
      if (verdict === "right" && !holdsAt(claim, place, step)) remark = isNear ? MORE_DIGITS : FROM_THE_START;
      else if (verdict === "wrong" && !rule && isNear) remark = mayBeRounding(decimalsShown);
      cells.push(judgedCell(name, claim, place, [step, start], verdict, rule, remark));
    }
  }
  return { cells, shapes, steps, starts, shown, tokens: given.tokens };
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

/** Head, row and column of every cell that is not left out, row by row where all heads are in one matrix. */
const claimedPlaces = (claim) => {
  const places = claim.numbers.flatMap((matrix, head) =>
    matrix.flatMap((row, r) => [...row.keys()].filter((c) => !Number.isNaN(row[c])).map((c) => [head, r, c])),
  );
  return claim.isWhole ? places.sort((one, other) => one[1] - other[1]) : places;
};

const knownAt = (matrices, [head, row, column]) => {
  const value = matrices?.[head][row][column] ?? NaN;
  return Number.isNaN(value) ? null : value;
};

const verdictOf = (claim, place, step, start) => {
  if (holdsAt(claim, place, start)) return "right";
  if (start === null && step === null) return "not derivable";
  return holdsAt(claim, place, step) ? "follows" : "wrong";
};

const holdsAt = (claim, [head, row, column], computed, moved = 0) => {
  if (computed === null) return false;
  const claimed = claim.numbers[head][row][column];
  if (!Number.isFinite(claimed) || !Number.isFinite(computed)) return claimed === computed;
  return Math.abs(claimed - computed) <= claim.halves[head][row][column] + moved + EXACT;
};

const judgedCell = (name, claim, [head, row, column], [step, start], verdict, rule, remark) => {
  const broken = rule && (verdict === "wrong" || verdict === "not derivable") ? rule : null;
  const [claimed, written] = [claim.numbers[head][row][column], claim.written[head][row][column]];
  const wholeColumn = claim.isWhole ? head * columnsOf(claim.numbers[head]) + column : null;
  return { name, head, row, column, claimed, written, step, start, verdict, rule: broken, remark, wholeColumn };
};

/** What is said of a wrong number that the digits of the line before leave open. */
const mayBeRounding = (decimals) =>
  `may be rounding, as the line before shows ${decimals || "no"} decimal${decimals === 1 ? "" : "s"}`;

/**
 * The first stage that goes wrong, a cell of it with its numbers, and why; "" where none does. What may be
 * rounding alone counts only where nothing else is wrong.
 */
const firstWrong = (report) => {
  const wrong = report.cells.filter((cell) => cell.verdict === "wrong");
  if (!wrong.length) return "";
  const sure = wrong.filter((cell) => !cell.remark);
  const certain = sure.length ? sure : wrong;
  const { name } = certain[0];
  const cell = certain.find((each) => each.name === name && each.rule) ?? certain[0];
  const here = wrong.filter((each) => each.name === name).length;
  const stage = `The first stage that goes wrong is ${name}, where ${here === 1 ? "one cell is" : `${here} cells are`}`;
  const why = cell.rule ?? cell.remark;
  if (cell.step === null && cell.start === null) return `${stage} wrong: ${why}.`;
  const computed = shownNumber(cell.step ?? cell.start);
  const told = `${placeOfCell(report, cell)} claims ${cell.written}, and ${computed} is computed`;
  return `${stage} wrong. ${capitalised(told)}${why ? `: ${why}` : ""}.`;
};

/** head 1, row 2 (dich), column 0 (ich): the head where there are several, the tokens where they are known. */
const placeOfCell = ({ starts, tokens }, cell) => {
  const axes = STAGE_AXES[cell.name];
  const head = starts[cell.name].length > 1 && cell.wholeColumn === null ? [`head ${cell.head}`] : [];
  const places = [
    ["row", cell.row, axes.at(-2)],
    ["column", cell.wholeColumn ?? cell.column, axes.at(-1)],
  ].map(([kind, number, axis]) => {
    const word = tokens[axis]?.[number];
    return word ? `${kind} ${number} (${word})` : `${kind} ${number}`;
  });
  return [...head, ...places].join(", ");
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
