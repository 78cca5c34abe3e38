// Claims about a worked example, judged cell by cell, as pellucid/worked does it: from the claimed line before, and
// from the start. A claim holds within half a unit of its last digit as written; −∞ equals only −∞.

import { axesOfMatrix, fourDecimals } from "../base/numbers.js";
import { capitalised } from "../base/text.js";
import { EXACT, cellByCell, sameSizes, slipThatGives } from "./slips.js";
import { UsageError, eachHead, writtenNumber } from "./typed_matrix.js";
import { matrixOf, runStages, stageAxes, stageNames } from "./worked.js";

export const VERDICTS = ["right", "follows", "wrong", "not derivable"];
const FROM_THE_START = "right from the start, though not from the line before";

/** Every claimed cell with its verdict, and every stage from the claimed line before and from the start. */
export const checkClaims = (worked, claims, decimals = null) => {
  const { given } = worked;
  const read = {};
  for (const name of stageNames()) if (claims[name]) read[name] = readClaim(name, claims[name], given.heads, decimals);
  const { computed: steps, used } = followClaims(given, read, true);
  const { computed: starts, used: shown } = followClaims(given, read, false);
  const cells = [];
  for (const [name, claim] of Object.entries(read)) {
    settleDigits(name, claim, [steps[name], starts[name]]);
    const isMisfit = Boolean(starts[name]) && !sameSizes(starts[name], claim.numbers);
    const slip = steps[name] && !isMisfit ? slipThatGives(given, name, claim, used, steps[name]) : "";
    const misfit = isMisfit ? `it is (${starts[name][0].size}), not (${claim.numbers[0].size})` : "";
    claim.numbers.forEach((matrix, head) =>
      matrix.map((claimed, row, column) => {
        if (Number.isNaN(claimed)) return;
        const at = (stages) => (isMisfit || !stages[name] ? NaN : stages[name][head].at(row, column));
        const half = claim.halves[head].at(row, column);
        const judged = verdictOf(claimed, half, at(steps), at(starts));
        const verdict = isMisfit ? "wrong" : judged;
        const isLate = verdict === "right" && !holds(claimed, half, at(steps));
        const why = verdict === "wrong" ? misfit || slip : isLate ? FROM_THE_START : "";
        const written = claim.written[head][row][column];
        cells.push({ name, head, row, column, claimed, written, step: at(steps), start: at(starts), verdict, why });
      }),
    );
  }
  return { cells, steps, starts, shown, tokens: given.tokens };
};

/** A matrix, or one for each head where the stage has heads. */
const readClaim = (name, matrix, heads, decimals) => {
  const place = `claims.${name}`;
  const wanted = stageAxes()[name].includes("H") ? heads : 1;
  const matrices = eachHead(matrix);
  if (matrices.length !== wanted) {
    const counts = `${name}: ${matrices.length} matrices claimed instead of ${wanted}`;
    throw new UsageError(`${counts}. Type one for each head, an empty line between them.`, place);
  }
  const cells = matrices.map((rows) => rows.map((row) => row.map((cell) => writtenNumber(cell, decimals, name))));
  const picked = (part) => cells.map((rows) => rows.map((row) => row.map((cell) => cell[part])));
  return { written: picked("written"), numbers: picked("number").map(matrixOf), halves: picked("half").map(matrixOf) };
};

/** A whole number is accepted where the computed number is whole; else it must say to how many digits it was rounded. */
const settleDigits = (name, claim, computed) => {
  const isWhole = (value) => Math.abs(value - Math.round(value)) <= EXACT;
  claim.halves = claim.halves.map((halves, head) =>
    halves.map((half, row, column) => {
      if (!Number.isNaN(half)) return half;
      const there = computed.filter((stage) => stage && sameSizes(stage, claim.numbers));
      if (there.some((stage) => isWhole(stage[head].at(row, column)))) return 0.5;
      const text = claim.written[head][row][column];
      const what = `${name}: the whole number ${text} does not say to how many digits it was rounded`;
      throw new UsageError(`${what}. Write ${text}.0, or give the digits of whole numbers.`, `claims.${name}`);
    }),
  );
};

/** All stages as computed and as used from there on: claims are used always, or only where nothing is known. */
const followClaims = (given, claims, always) => {
  const [computed, used] = [{}, {}];
  runStages(given, (name, heads) => {
    computed[name] = used[name] = heads;
    const numbers = claims[name]?.numbers;
    if (numbers && sameSizes(numbers, heads)) {
      const taken = (own, claimed) => (!Number.isNaN(claimed) && (always || Number.isNaN(own)) ? claimed : own);
      used[name] = cellByCell(taken)(heads, numbers);
    }
    return used[name];
  });
  return { computed, used };
};

const verdictOf = (claimed, half, step, start) => {
  if (holds(claimed, half, start)) return "right";
  if (Number.isNaN(start) && Number.isNaN(step)) return "not derivable";
  return holds(claimed, half, step) ? "follows" : "wrong";
};

const holds = (claimed, half, computed) =>
  claimed === computed || (Number.isFinite(claimed) && Math.abs(claimed - computed) <= half + EXACT);

export const countOf = ({ cells }, verdict, name = null) =>
  cells.filter((cell) => cell.verdict === verdict && (name === null || cell.name === name)).length;

/** "2 follow": how many cells, of one stage or of all, have a verdict. */
export const verdictsCounted = (report, verdict, name = null) =>
  `${countOf(report, verdict, name)} ${verdict === "follows" ? "follow" : verdict}`;

const SIDES = ["row", "column"];

/** What a row or a column of a stage is called: its token where these are given, else its number. */
export const labelOf = (report, name, side, place) => {
  const axis = axesOfMatrix(stageAxes()[name])[SIDES.indexOf(side)];
  return report.tokens[axis]?.[place] ?? String(place);
};

/** The first stage that goes wrong, a cell of it with its numbers, and what was done instead; "" where none does. */
export const firstWrong = (report) => {
  const cell = report.cells.find(({ verdict }) => verdict === "wrong");
  if (!cell) return "";
  const here = countOf(report, "wrong", cell.name);
  const stage = `The first stage that goes wrong is ${cell.name}, where ${here === 1 ? "one cell is" : `${here} cells are`} wrong`;
  const computed = Number.isNaN(cell.step) ? cell.start : cell.step;
  if (Number.isNaN(computed)) return `${stage}: ${cell.why}.`;
  const place = (side) => {
    const label = labelOf(report, cell.name, side, cell[side]);
    return `${side} ${cell[side]}${label === String(cell[side]) ? "" : ` (${label})`}`;
  };
  const places = axesOfMatrix(stageAxes()[cell.name]).map((_, at) => place(SIDES[at]));
  if (report.starts[cell.name].length > 1) places.unshift(`head ${cell.head}`);
  const claims = `claims ${cell.written}, and ${shownNumber(computed)} is computed`;
  return `${stage}. ${capitalised(places.join(", "))} ${claims}${cell.why ? `: ${cell.why}` : ""}.`;
};

/** "12 cells: 7 right, 2 follow, 3 wrong". */
export const verdictSummary = (report) => {
  const counts = VERDICTS.filter((verdict) => countOf(report, verdict)).map((verdict) =>
    verdictsCounted(report, verdict),
  );
  return `${report.cells.length} cells${counts.length ? ": " : ""}${counts.join(", ")}`;
};

/** 0.2120, −∞, ? for what is not known; small and large numbers with three digits. */
export const shownNumber = (value) => {
  const isPlain = value === 0 || !Number.isFinite(value) || (Math.abs(value) >= 5e-4 && Math.abs(value) < 1e6);
  return (isPlain ? fourDecimals(value) : String(Number(value.toPrecision(3)))).replaceAll("-", "−");
};
