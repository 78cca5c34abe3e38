// What comes of one's own matrices: the verdict in a sentence, the plates, and the claims cell by cell. A verdict is a
// sign, a word and a colour.

import { columnHead, element, rowHead, words } from "../base/elements.js";
import { capitalised } from "../base/text.js";
import { drawStages } from "../stages/stages.js";
import { VERDICTS, countOf, firstWrong, shownNumber, verdictSummary } from "./judge.js";
import { runOfWorked, stageAxes, stageNames } from "./worked.js";

export const VERDICT_SIGNS = { right: "✓", follows: "↳", wrong: "✗", "not derivable": "?" };

const VERDICT_WORDS = {
  right: "what is computed from the first inputs, to the digits as written",
  follows: "true of the claimed line before, so the error is earlier",
  wrong: "neither from the claimed line before, nor from the start",
  "not derivable": "its inputs are left out or missing",
};

const NOTES_SAY = ["the notes say", "from their previous line", "from the start"];
const CLAIMED = ["claimed", "from the line before", "from the start"];
export const verdictClass = (verdict) => `is-${verdict.replace(" ", "-")}`;

const verdictSign = (verdict) =>
  element("span", { class: "verdict-sign", "aria-hidden": "true" }, VERDICT_SIGNS[verdict]);

const isClaimed = (report, name) => report.cells.some((cell) => cell.name === name);

/** Put everything about a worked example into its place; `source` is the example that it is, as its file has it. */
export const drawOwnResults = async (source, worked, report, results) => {
  const run = runOfWorked(worked, source.name ?? "", report.shown);
  const place = element("div", { class: "own-plates" });
  const claimed = stageNames().filter((name) => isClaimed(report, name));
  const whole = element("div", {}, [
    report.cells.length ? [verdictBanner(report), verdictLegend(report)] : null,
    place,
    claimed.map((name) => claimArticle(source, report, run, name)),
    source.products?.length ? productList(source.products) : null,
  ]);
  const wrong = claimed.find((name) => countOf(report, "wrong", name));
  results.replaceChildren(whole); // first, because matrices are as large as their place has room
  const first = "scores" in worked.stages ? null : Object.keys(worked.stages)[0];
  await drawOwnStages({ run, report, place }, { head: 0, tensor: wrong ?? first, row: null, column: null });
};

/** The stages of a head; each button says what is claimed about its stage. */
const drawOwnStages = async (shown, chosen) => {
  const { run, report, place } = shown;
  const select = (changes) => drawOwnStages(shown, { ...chosen, ...changes });
  const markOf = (name) => (isClaimed(report, name) ? verdictCounts(report, name) : null);
  await drawStages({ run, beside: null, block: "", time: { mode: "training" }, ...chosen, select, markOf }, place);
};

/** {verdict, text}: nothing claimed, all right, or the first stage that goes wrong and what was done there. */
export const verdictSentence = (report) => {
  const all = report.cells.length;
  if (!all) return { verdict: "right", text: "Computed. Nothing is claimed." };
  if (countOf(report, "wrong")) return { verdict: "wrong", text: firstWrong(report) };
  const unknown = "None of the claims can be derived: what they come from is left out.";
  if (countOf(report, "not derivable") === all) return { verdict: "not derivable", text: unknown };
  if (countOf(report, "right") < all)
    return { verdict: "not derivable", text: "Nothing is wrong that can be derived." };
  return { verdict: "right", text: all === 1 ? "The one number is right." : `All ${all} numbers are right.` };
};

/** The whole verdict: a sign, a sentence, and the counts. */
const verdictBanner = (report) => {
  const { verdict, text } = verdictSentence(report);
  const counts = verdict === "right" ? null : element("small", {}, ` ${capitalised(verdictSummary(report))}.`);
  const properties = { class: `verdict-banner ${verdictClass(verdict)}`, "data-verdict": verdict };
  return element("p", properties, verdictSign(verdict), element("span", {}, text, counts));
};

/** What each sign means, for those that are there. */
const verdictLegend = (report) => {
  const entry = (verdict) =>
    element(
      "div",
      {},
      element("dt", { class: verdictClass(verdict) }, `${VERDICT_SIGNS[verdict]} ${verdict}`),
      element("dd", {}, VERDICT_WORDS[verdict]),
    );
  const there = VERDICTS.filter((verdict) => countOf(report, verdict));
  return element("dl", { class: "verdict-legend" }, there.map(entry));
};

/** "✓ 4 right  ✗ 2 wrong": the verdicts on one stage, small. */
const verdictCounts = (report, name) =>
  VERDICTS.filter((verdict) => countOf(report, verdict, name)).map((verdict) => {
    const word = verdict === "follows" ? "follow" : verdict;
    const text = `${VERDICT_SIGNS[verdict]} ${countOf(report, verdict, name)} ${word}`;
    return element("span", { class: `verdict-count ${verdictClass(verdict)}` }, text);
  });

/** The notes' name of a stage, and the line where they have it. */
const inTheNotes = ({ called = {}, at = {} }, name) => [
  called[name] ? element("span", { class: "theirs" }, ` ${called[name]}`) : null,
  at[name] ? element("span", { class: "at" }, ` line ${at[name]}`) : null,
];

/** Products of shapes as they were written, and whether they multiply. */
const productList = (products) => {
  const item = ({ written, lines = "", left, right }) => {
    const fits = left[1] === right[0];
    const both = `(${left.join("×")})·(${right.join("×")})`;
    const misfit = `does not multiply: ${left[1]} columns, ${right[0]} rows`;
    const text = ` ${both} ${fits ? `= (${left[0]}×${right[1]})` : misfit}`;
    const at = lines ? element("span", { class: "at" }, ` line ${lines}`) : null;
    const verdict = fits ? "right" : "wrong";
    const properties = { class: verdictClass(verdict) };
    return element("li", properties, verdictSign(verdict), " ", element("code", {}, written), text, at);
  };
  const heading = element("h3", {}, "Products as written");
  return element("section", { class: "own-products" }, heading, element("ul", {}, products.map(item)));
};

/** What is claimed about a stage, beside what is computed; folded where all is right. */
const claimArticle = (source, report, run, name) => {
  const isRight = VERDICTS.every((verdict) => verdict === "right" || !countOf(report, verdict, name));
  const cells = report.cells.filter((cell) => cell.name === name);
  const heads = [...new Set(cells.map((cell) => cell.head))];
  const labels = [...stageAxes()[name].replace(/[BH]/g, "")].map(
    (axis) => ({ L: run.target, M: run.source })[axis] ?? [],
  );
  const titles = source.note ? NOTES_SAY : CLAIMED;
  return element(
    "details",
    { class: "claimed-stage", "data-stage": name, open: !isRight },
    element("summary", {}, element("code", {}, name), inTheNotes(source, name), verdictCounts(report, name)),
    element("p", { class: "stage-shape" }, report.shapes[name] ?? ""),
    heads.map((head) => {
      const here = cells.filter((cell) => cell.head === head);
      const heading = (report.starts[name]?.length ?? 1) > 1 ? element("h6", {}, `head ${head}`) : null;
      return [heading, verdictTable(report, name, head, here, labels, titles), reasonList(here, labels[0])];
    }),
  );
};

const verdictTable = (report, name, head, cells, [rowLabels, columnLabels = []], titles) => {
  const [step, start] = [report.steps[name]?.[head], report.starts[name]?.[head]];
  const count = (axis, known) => Math.max(...cells.map((cell) => cell[axis] + 1), known ?? 0);
  const columns = [...Array(count("column", start?.columns)).keys()];
  const at = (matrix, row, column) => (row < matrix?.rows && column < matrix.columns ? matrix.at(row, column) : NaN);
  const body = (_, row) => {
    const claimed = columns.map((column) => cells.find((cell) => cell.row === row && cell.column === column));
    const line = (kind, title, made) => element("tr", { class: kind }, rowHead(title), claimed.map(made));
    const number = (matrix) => (_, column) => element("td", {}, shownNumber(at(matrix, row, column)));
    const written = (cell) => element("td", { class: cell && verdictClass(cell.verdict) }, cell?.written ?? "…");
    const asks = element("th", { scope: "rowgroup", colspan: columns.length + 1 }, words(rowLabels[row] ?? row));
    return element(
      "tbody",
      {},
      element("tr", { class: "asks" }, asks),
      line("claimed", titles[0], written),
      line("step", titles[1], number(step)),
      line("start", titles[2], number(start)),
      line("verdict", "verdict", verdictOfCell),
    );
  };
  const heads = columns.map((column) => columnHead(words(columnLabels[column] ?? column)));
  const table = element(
    "table",
    { class: "verdicts", "data-stage": name, "data-head": head },
    element("thead", {}, element("tr", {}, element("td"), heads)),
    Array.from({ length: count("row", start?.rows) }, body),
  );
  const box = { class: "verdict-box", tabindex: 0, role: "region", "aria-label": `claims about ${name}` };
  return element("div", box, table);
};

const verdictOfCell = (cell) => {
  if (!cell) return element("td", {});
  const properties = { class: verdictClass(cell.verdict), title: cell.why || null };
  return element("td", properties, verdictSign(cell.verdict), " ", cell.verdict);
};

/** The reasons that are known, each with the rows that it is about. */
const reasonList = (cells, labels) => {
  const reasons = [...new Set(cells.map(({ why }) => why))].filter(Boolean);
  const items = reasons.map((why) => {
    const about = cells.filter((cell) => cell.why === why);
    const rows = [...new Set(about.map(({ row }) => labels[row] ?? String(row)))];
    const places = rows.map((row, place) => [place ? ", " : "", words(row)]);
    const [{ verdict }] = about;
    return element("li", { class: verdictClass(verdict) }, verdictSign(verdict), " ", places, ": ", why);
  });
  return items.length ? element("ul", { class: "rules" }, items) : null;
};
