// Judge the claims about a worked example cell by cell, as pellucid/worked does: each line is computed from the claimed
// line before it, and from the start. A claim is right within half a unit of its last written digit; −∞ is only −∞.

import { axesOfMatrix, fourDecimals } from "../base/numbers.js";
import { capitalised } from "../base/text.js";
import { EXACT, cellByCell, isNear, sameSizes, slipThatGives } from "./slips.js";
import { UsageError, eachHead, writtenNumber } from "./typed_matrix.js";
import { numbersTyped, runStages, stageAxes, stageNames } from "./worked.js";

const FROM_THE_START = "right from the start, though not from the line before";

/** Return every claimed cell with its verdict, and all stages as computed from the line before and from the start. */
export const checkClaims = (worked, claimed, decimals = null) => {
  const { given } = worked;
  const names = stageNames().filter((name) => claimed[name]);
  const claims = names.map((name) => readClaim(name, claimed[name], given.heads, decimals));
  const { computed: steps, used } = followClaims(given, claims, true);
  const { computed: starts, used: shown } = followClaims(given, claims, false);
  for (const claim of claims) judgeClaim(given, claim, used, steps[claim.name], starts[claim.name]);
  const cells = claims.flatMap((claim) => claim.cells.filter(({ verdict }) => verdict));
  return { claims, cells, steps, starts, shown, tokens: given.tokens };
};

/** Read a claim: {name, numbers: one matrix, or one for each head; cells: a list of all cells}. */
const readClaim = (name, matrix, heads, decimals) => {
  const wanted = stageAxes()[name].includes("H") ? heads : 1;
  const matrices = eachHead(matrix);
  if (matrices.length !== wanted) {
    const counts = `${name}: ${matrices.length} matrices claimed instead of ${wanted}`;
    throw new UsageError(`${counts}. Type one for each head, an empty line between them.`, `claims.${name}`);
  }
  const cells = matrices.flatMap((rows, head) =>
    rows.flatMap((texts, row) =>
      texts.map((text, column) => ({ name, head, row, column, ...writtenNumber(text, decimals) })),
    ),
  );
  return { name, numbers: numbersTyped(matrix), cells };
};

/** Give each cell of a claim its verdict, the computed numbers and, if it is known, the reason. */
const judgeClaim = (given, claim, used, step, start) => {
  const { numbers, cells } = claim;
  for (const cell of cells) if (Number.isNaN(cell.half)) settleDigits(cell, [step, start], numbers);
  const isMisfit = Boolean(start) && !sameSizes(start, numbers);
  const misfit = isMisfit ? `it is (${start[0].size}), not (${numbers[0].size})` : "";
  const slip = step && !isMisfit ? slipThatGives(given, claim, used, step) : "";
  for (const cell of cells.filter(({ number }) => !Number.isNaN(number))) {
    const at = (stage) => (isMisfit || !stage ? NaN : stage[cell.head].at(cell.row, cell.column));
    Object.assign(cell, { step: at(step), start: at(start) });
    cell.verdict = isMisfit ? "wrong" : verdictOf(cell);
    const isLate = cell.verdict === "right" && !holds(cell, cell.step);
    cell.why = cell.verdict === "wrong" ? misfit || slip : isLate ? FROM_THE_START : "";
  }
};

/** Accept a whole number if the computed number is whole; otherwise its number of digits must be known. */
const settleDigits = (cell, computed, numbers) => {
  const { name, head, row, column, written } = cell;
  const there = computed.filter((stage) => stage && sameSizes(stage, numbers));
  const isWhole = (value) => Math.abs(value - Math.round(value)) <= EXACT;
  if (!there.some((stage) => isWhole(stage[head].at(row, column)))) {
    const what = `${name}: the whole number ${written} does not say to how many digits it was rounded`;
    throw new UsageError(`${what}. Write ${written}.0, or give the digits of whole numbers.`, `claims.${name}`);
  }
  cell.half = 0;
};

/** Return all stages, as computed and as later stages use them: with claims for all (`always`) or unknown numbers. */
const followClaims = (given, claims, always) => {
  const [computed, used] = [{}, {}];
  runStages(given, (name, heads) => {
    computed[name] = used[name] = heads;
    const numbers = claims.find((claim) => claim.name === name)?.numbers;
    if (numbers && sameSizes(numbers, heads)) {
      const taken = (own, claimed) => (!Number.isNaN(claimed) && (always || Number.isNaN(own)) ? claimed : own);
      used[name] = cellByCell(taken)(heads, numbers);
    }
    return used[name];
  });
  return { computed, used };
};

const verdictOf = (cell) => {
  if (holds(cell, cell.start)) return "right";
  if (Number.isNaN(cell.start) && Number.isNaN(cell.step)) return "not derivable";
  return holds(cell, cell.step) ? "follows" : "wrong";
};

const holds = ({ number, half }, computed) => isNear(number, computed, half);

/** Count the cells, of one stage or of all, that have this verdict. */
export const countOf = ({ cells }, verdict, name = null) =>
  cells.filter((cell) => cell.verdict === verdict && (name === null || cell.name === name)).length;

const SIDES = ["row", "column"];

/** Return the name of a row or a column of a stage: its token if tokens are given, otherwise its number. */
export const labelOf = (report, name, side, place) => {
  const axis = axesOfMatrix(stageAxes()[name])[SIDES.indexOf(side)];
  return report.tokens[axis]?.[place] ?? String(place);
};

/** Describe the first wrong stage, with a cell, its numbers and the probable mistake; "" if nothing is wrong. */
export const firstWrong = (report) => {
  const cell = report.cells.find(({ verdict }) => verdict === "wrong");
  if (!cell) return "";
  const { name, written, why } = cell;
  const here = countOf(report, "wrong", name);
  const stage = `The first stage that goes wrong is ${name}, where ${here === 1 ? "one cell is" : `${here} cells are`} wrong`;
  const computed = Number.isNaN(cell.step) ? cell.start : cell.step;
  if (Number.isNaN(computed)) return `${stage}: ${why}.`;
  const places = axesOfMatrix(stageAxes()[name]).map((_, at) => {
    const [place, label] = [cell[SIDES[at]], labelOf(report, name, SIDES[at], cell[SIDES[at]])];
    return `${SIDES[at]} ${place}${label === String(place) ? "" : ` (${label})`}`;
  });
  if (report.starts[name].length > 1) places.unshift(`head ${cell.head}`);
  const claims = `claims ${written}, and ${shownNumber(computed)} is computed${why ? `: ${why}` : ""}`;
  return `${stage}. ${capitalised(places.join(", "))} ${claims}.`;
};

/** Write a number: 0.2120, −∞, or ? if it is unknown; very small and very large numbers have three digits. */
export const shownNumber = (value) => {
  const isPlain = value === 0 || !Number.isFinite(value) || (Math.abs(value) >= 5e-4 && Math.abs(value) < 1e6);
  return (isPlain ? fourDecimals(value) : String(Number(value.toPrecision(3)))).replaceAll("-", "−");
};
