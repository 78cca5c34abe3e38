// What comes of one's own matrices: the verdict in a sentence, the plates, and the claims cell by cell. A verdict is a
// sign, a word and a colour.

import { columnHead, element, redraw, rowHead, tableOf, words } from "../base/elements.js";
import { capitalised } from "../base/text.js";
import { drawStages } from "../stages/stages.js";
import { VERDICTS, verdictsCounted, countOf, firstWrong, labelOf, shownNumber, verdictSummary } from "./judge.js";
import { runOfWorked, stageNames } from "./worked.js";

export const VERDICT_SIGNS = { right: "✓", follows: "↳", wrong: "✗", "not derivable": "?" };

const VERDICT_WORDS = {
  right: "what is computed from the first inputs, to the digits as written",
  follows: "true of the claimed line before, so the error is earlier",
  wrong: "neither from the claimed line before, nor from the start",
  "not derivable": "its inputs are left out or missing",
};

export const verdictClass = (verdict) => `is-${verdict.replace(" ", "-")}`;

const verdictSign = (verdict) => element("span.verdict-sign", { "aria-hidden": "true" }, VERDICT_SIGNS[verdict]);

const isClaimed = (report, name) => report.cells.some((cell) => cell.name === name);

/** Put everything about a worked example into its place; `source` is the example that it is, as its file has it. */
export const drawOwnResults = async (source, worked, report, results) => {
  const run = runOfWorked(worked, source.name ?? "", report.shown);
  const place = element("div.own-plates");
  const claimed = stageNames().filter((name) => isClaimed(report, name));
  const wrong = claimed.find((name) => countOf(report, "wrong", name));
  // First, because matrices are as large as their place has room.
  redraw(
    results,
    report.cells.length > 0 && [verdictBanner(report), verdictLegend(report)],
    place,
    claimed.map((name) => claimArticle(source, report, name)),
    source.products?.length > 0 && productList(source.products),
  );
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
  const counts = verdict !== "right" && element("small", ` ${capitalised(verdictSummary(report))}.`);
  const properties = { class: verdictClass(verdict), "data-verdict": verdict };
  return element("p.verdict-banner", properties, verdictSign(verdict), element("span", text, counts));
};

const verdictsIn = (report, name = null) => VERDICTS.filter((verdict) => countOf(report, verdict, name));

/** What each sign means, for those that are there. */
const verdictLegend = (report) =>
  element("dl.verdict-legend", [
    verdictsIn(report).map((verdict) =>
      element("div", [
        element("dt", { class: verdictClass(verdict) }, `${VERDICT_SIGNS[verdict]} ${verdict}`),
        element("dd", VERDICT_WORDS[verdict]),
      ]),
    ),
  ]);

/** "✓ 4 right  ✗ 2 wrong": the verdicts on one stage, small. */
const verdictCounts = (report, name) =>
  verdictsIn(report, name).map((verdict) => {
    const text = `${VERDICT_SIGNS[verdict]} ${verdictsCounted(report, verdict, name)}`;
    return element("span.verdict-count", { class: verdictClass(verdict) }, text);
  });

/** Products of shapes as they were written, and whether they multiply. */
const productList = (products) => {
  const item = ({ written, lines, left, right }) => {
    const fits = left[1] === right[0];
    const verdict = fits ? "right" : "wrong";
    const misfit = `does not multiply: ${left[1]} columns, ${right[0]} rows`;
    const text = ` (${left.join("×")})·(${right.join("×")}) ${fits ? `= (${left[0]}×${right[1]})` : misfit}`;
    const at = lines && element("span.at", ` line ${lines}`);
    return element(
      "li",
      { class: verdictClass(verdict) },
      verdictSign(verdict),
      " ",
      element("code", written),
      text,
      at,
    );
  };
  return element("section.own-products", element("h3", "Products as written"), element("ul", products.map(item)));
};

/** What is claimed about a stage, with the notes' name of it and the line where they have it; folded where all is
 *  right. */
const claimArticle = ({ called = {}, at = {} }, report, name) => {
  const ofStage = report.cells.filter((cell) => cell.name === name);
  const heads = [...new Set(ofStage.map(({ head }) => head))];
  const isRight = ofStage.every(({ verdict }) => verdict === "right");
  return element("details.claimed-stage", { "data-stage": name, open: !isRight }, [
    element("summary", [
      element("code", name),
      called[name] && element("span.theirs", ` ${called[name]}`),
      at[name] && element("span.at", ` line ${at[name]}`),
      verdictCounts(report, name),
    ]),
    heads.map((head) => {
      const cells = ofStage.filter((cell) => cell.head === head);
      const heading = (report.starts[name]?.length ?? 1) > 1 && element("h6", `head ${head}`);
      return [heading, claimTable(report, name, cells), reasonList(report, name, cells)];
    }),
  ]);
};

/** The claimed numbers, and in each that is not right what is computed instead. */
const claimTable = (report, name, cells) => {
  const label = (side, place) => words(labelOf(report, name, side, place));
  const counted = (side) => [...Array(Math.max(...cells.map((cell) => cell[side])) + 1).keys()];
  const columns = counted("column");
  const cellAt = (row, column) => cells.find((cell) => cell.row === row && cell.column === column);
  const table = tableOf("verdicts", {
    heading: [element("td"), columns.map((column) => columnHead(label("column", column)))],
    rows: counted("row").map((row) => [
      rowHead(label("row", row)),
      columns.map((column) => claimCell(cellAt(row, column))),
    ]),
  });
  return element("div.verdict-box", { tabindex: 0, role: "region", "aria-label": `claims about ${name}` }, table);
};

const claimCell = (cell) => {
  if (!cell) return element("td", "…");
  const { verdict, written, why, step, start } = cell;
  const [before, first] = [step, start].map(shownNumber);
  const computed = before === first ? [`computed ${first}`] : [`line before: ${before}`, `start: ${first}`];
  return element("td", { class: verdictClass(verdict), title: why || null }, [
    element("b", written),
    element("span", verdictSign(verdict), " ", verdict),
    ["wrong", "follows"].includes(verdict) && computed.map((text) => element("small", text)),
  ]);
};

/** The reasons that are known, each with the rows that it is about. */
const reasonList = (report, name, cells) => {
  const reasons = [...new Set(cells.map(({ why }) => why))].filter(Boolean);
  const items = reasons.map((why) => {
    const about = cells.filter((cell) => cell.why === why);
    const rows = [...new Set(about.map(({ row }) => labelOf(report, name, "row", row)))];
    const places = rows.map((row, place) => [place ? ", " : "", words(row)]);
    const [{ verdict }] = about;
    return element("li", { class: verdictClass(verdict) }, verdictSign(verdict), " ", places, ": ", why);
  });
  return items.length > 0 && element("ul.rules", items);
};
