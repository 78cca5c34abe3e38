// Show the results for the reader's own matrices: the verdict in a sentence, the plates, and the claims cell by cell. A
// verdict has a sign, a word and a colour.

import { element, redraw, rowHead, tableOf, words } from "../base/elements.js";
import { numbered } from "../base/numbers.js";
import { drawStages } from "../stages/stages.js";
import { countOf, firstWrong, labelOf, shownNumber } from "./judge.js";
import { runOfWorked } from "./worked.js";

const SIGNS = { right: "✓", follows: "↳", wrong: "✗", "not derivable": "?" }; // own_form.html explains them

export const verdictClass = (verdict) => `is-${verdict.replace(" ", "-")}`;

export const verdictSign = (verdict) => element("span.verdict-sign", { "aria-hidden": "true" }, SIGNS[verdict] ?? "!");

/** Return {verdict, text}: nothing is claimed, all is right, or the first wrong stage and the probable mistake. */
export const verdictSentence = (report) => {
  const all = report.cells.length;
  if (!all) return { verdict: "right", text: "Computed. Nothing is claimed." };
  if (countOf(report, "wrong")) return { verdict: "wrong", text: firstWrong(report) };
  if (countOf(report, "right") === all)
    return { verdict: "right", text: all === 1 ? "The one number is right." : `All ${all} numbers are right.` };
  const isUnknown = countOf(report, "not derivable") === all;
  const unknown = "None of the claims can be derived: what they come from is left out.";
  return { verdict: "not derivable", text: isUnknown ? unknown : "Nothing is wrong that can be derived." };
};

/** Show everything about a worked example. If it equals a known example, that is `example`. */
export const drawOwnResults = async (example, worked, report, results) => {
  const run = runOfWorked(worked, example?.name ?? "", report.shown);
  const place = element("div.own-plates");
  const wrong = report.cells.find(({ verdict }) => verdict === "wrong")?.name;
  const claims = report.claims.map((claim) => claimArticle(example, report, claim));
  // Before the stages, because the size of their matrices depends on the room in their place.
  redraw(results, place, claims);
  const first = "scores" in worked.stages ? null : Object.keys(worked.stages)[0];
  await drawOwnStages({ run, report, place }, { head: 0, tensor: wrong ?? first, row: null, column: null });
};

/** Draw the stages of a head; each button shows the verdicts on its stage. */
const drawOwnStages = async (shown, chosen) => {
  const { run, report, place } = shown;
  const select = (changes) => drawOwnStages(shown, { ...chosen, ...changes });
  const markOf = (name) => verdictCounts(report, name);
  await drawStages({ run, beside: null, block: "", time: { mode: "training" }, ...chosen, select, markOf }, place);
};

/** Show how many cells of a stage have each verdict: "✓ 4 right  ↳ 2 follow". */
const verdictCounts = (report, name) =>
  Object.keys(SIGNS).map((verdict) => {
    const count = countOf(report, verdict, name);
    const told = [`${SIGNS[verdict]} ${count}`, element("span", ` ${verdict === "follows" ? "follow" : verdict}`)];
    return count > 0 && element("span.verdict-count", { class: verdictClass(verdict) }, told);
  });

/** Show the claims about a stage, with its name and line in the notes. It is folded if everything is right. */
const claimArticle = (example, report, { name, numbers, cells }) => {
  const { called = {}, at = {} } = example ?? {};
  const ofStage = report.cells.filter((cell) => cell.name === name);
  const heads = numbers.map((matrix, head) => {
    const ofHead = cells.filter((cell) => cell.head === head);
    const heading = numbers.length > 1 && element("h6", `head ${head}`);
    return [heading, claimTable(report, name, matrix, ofHead), reasonList(report, name, ofHead)];
  });
  const open = ofStage.some(({ verdict }) => verdict !== "right");
  return element("details.claimed-stage", { "data-stage": name, open }, [
    element("summary", [
      element("code", name),
      called[name] && element("span.theirs", ` ${called[name]}`),
      at[name] && element("span.at", ` line ${at[name]}`),
      verdictCounts(report, name),
    ]),
    heads,
  ]);
};

/** Make a table of the claimed numbers; wrong ones also show the computed number. */
const claimTable = (report, name, { rows, columns }, cells) => {
  const labels = (side, count) => numbered(count).map((place) => words(labelOf(report, name, side, place)));
  const table = tableOf("verdicts", {
    heading: [null, ...labels("column", columns)],
    rows: labels("row", rows).map((label, row) => [
      rowHead(label),
      cells.slice(row * columns, (row + 1) * columns).map(claimCell),
    ]),
  });
  return element("div.verdict-box", { tabindex: 0, role: "region", "aria-label": `claims about ${name}` }, table);
};

const claimCell = ({ verdict, written, why, step, start }) => {
  if (!verdict) return element("td", "…");
  const [before, first] = [step, start].map(shownNumber);
  const computed = before === first ? [`computed ${first}`] : [`line before: ${before}`, `start: ${first}`];
  return element("td", { class: verdictClass(verdict), title: why || null }, [
    element("b", written),
    element("span", verdictSign(verdict), " ", verdict),
    ["wrong", "follows"].includes(verdict) && computed.map((text) => element("small", text)),
  ]);
};

/** Make a list of the known reasons, each with its rows. */
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
