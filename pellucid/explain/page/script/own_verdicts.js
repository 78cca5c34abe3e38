// Verdicts on claims, for eyes and for ears: a sign, a word and a colour each.

const VERDICT_SIGNS = { right: "✓", follows: "↳", wrong: "✗", "not derivable": "?" };
const VERDICT_WORDS = {
  right: "what is computed from the first inputs, to the digits as written",
  follows: "true of the claimed line before, so the error is earlier",
  wrong: "neither from the claimed line before, nor from the start",
  "not derivable": "its inputs are left out or missing",
};
const NOTES_SAY = ["the notes say", "from their previous line", "from the start"];
const CLAIMED = ["claimed", "from the line before", "from the start"];

/** {verdict, text}: all right, or the first stage that goes wrong and the rule that it breaks. */
const verdictSentence = (report) => {
  const all = report.cells.length;
  if (countOf(report, "wrong")) return { verdict: "wrong", text: firstWrong(report) };
  if (countOf(report, "not derivable") === all)
    return {
      verdict: "not derivable",
      text: "None of the claims can be derived: what they come from is left out.",
    };
  if (countOf(report, "right") < all)
    return { verdict: "not derivable", text: "Nothing is wrong that can be derived." };
  return { verdict: "right", text: all === 1 ? "The one number is right." : `All ${all} numbers are right.` };
};

/** The whole verdict: a sign, a sentence, and the counts. */
const verdictBanner = (report) => {
  const { verdict, text } = verdictSentence(report);
  const sign = element("span", { class: "verdict-sign", "aria-hidden": "true" }, VERDICT_SIGNS[verdict]);
  return element(
    "p",
    { class: `verdict-banner ${verdictClass(verdict)}`, "data-verdict": verdict },
    sign,
    element(
      "span",
      {},
      text,
      verdict === "right" ? null : element("small", {}, ` ${capitalised(verdictSummary(report))}.`),
    ),
  );
};

const countOf = (report, verdict, name = null) =>
  report.cells.filter((cell) => cell.verdict === verdict && (name === null || cell.name === name)).length;

const verdictClass = (verdict) => `is-${verdict.replace(" ", "-")}`;

/** "✓ 4 right  ✗ 2 wrong": the verdicts on one stage, small. */
const verdictCounts = (report, name) =>
  VERDICTS.filter((verdict) => countOf(report, verdict, name)).map((verdict) =>
    element(
      "span",
      { class: `verdict-count ${verdictClass(verdict)}` },
      `${VERDICT_SIGNS[verdict]} ${countOf(report, verdict, name)} ${verdict === "follows" ? "follow" : verdict}`,
    ),
  );

/** What each sign means, for those that are there. */
const verdictLegend = (report) => {
  const there = VERDICTS.filter((verdict) => countOf(report, verdict));
  return element(
    "dl",
    { class: "verdict-legend" },
    there.map((verdict) =>
      element(
        "div",
        {},
        element("dt", { class: verdictClass(verdict) }, `${VERDICT_SIGNS[verdict]} ${verdict}`),
        element("dd", {}, VERDICT_WORDS[verdict]),
      ),
    ),
  );
};

/** A stage's claims with both computations and the verdict, a table for each head that has some. */
const verdictTables = (report, name, labels, lines) => {
  const cells = report.cells.filter((cell) => cell.name === name);
  const heads = [...new Set(cells.map((cell) => cell.head))];
  const several = (report.starts[name]?.length ?? 1) > 1;
  return heads.map((head) => {
    const here = cells.filter((cell) => cell.head === head);
    return [
      several ? element("h6", {}, `head ${head}`) : null,
      verdictTable(report, name, head, here, labels, lines),
      brokenList(here, labels),
    ];
  });
};

const verdictTable = (report, name, head, cells, labels, lines) => {
  const rows = Math.max(...cells.map((cell) => cell.row)) + 1;
  const start = report.starts[name]?.[head];
  const columns = Math.max(...cells.map((cell) => cell.column + 1), start ? columnsOf(start) : 0);
  const at = (row, column) => cells.find((cell) => cell.row === row && cell.column === column);
  const heading = Array.from({ length: columns }, (_, column) =>
    element("th", { scope: "col" }, words(labels.columns[column] ?? String(column))),
  );
  const bodies = Array.from({ length: Math.max(rows, start?.length ?? 0) }, (_, row) => {
    const line = (title, made, kind) =>
      element(
        "tr",
        { class: kind },
        element("th", { scope: "row" }, title),
        Array.from({ length: columns }, (_, column) => made(at(row, column), column)),
      );
    const number = (key) => (cell, column) =>
      element("td", {}, shownNumber(cell ? cell[key] : computedAt(report, name, head, row, column, key)));
    return element(
      "tbody",
      {},
      element(
        "tr",
        { class: "asks" },
        element("th", { scope: "rowgroup", colspan: columns + 1 }, words(labels.rows[row] ?? String(row))),
      ),
      line(
        lines[0],
        (cell) =>
          element("td", { class: cell ? verdictClass(cell.verdict) : null }, cell ? cell.written : "…"),
        "claimed",
      ),
      line(lines[1], number("step"), "step"),
      line(lines[2], number("start"), "start"),
      line("verdict", verdictOfCell, "verdict"),
    );
  });
  const table = element(
    "table",
    { class: "verdicts", "data-stage": name, "data-head": head },
    element("thead", {}, element("tr", {}, element("td", {}), heading)),
    bodies,
  );
  return element(
    "div",
    { class: "verdict-box", tabindex: 0, role: "region", "aria-label": `claims about ${name}` },
    table,
  );
};

const computedAt = (report, name, head, row, column, key) =>
  (key === "step" ? report.steps : report.starts)[name]?.[head]?.[row]?.[column] ?? null;

const verdictOfCell = (cell) => {
  if (!cell) return element("td", {});
  const sign = element("span", { class: "verdict-sign", "aria-hidden": "true" }, VERDICT_SIGNS[cell.verdict]);
  return element(
    "td",
    { class: verdictClass(cell.verdict), title: cell.rule ?? cell.remark ?? null },
    sign,
    " ",
    cell.verdict,
  );
};

/** The rules that are broken, and remarks, each with the places that it is about. */
const brokenList = (cells, labels) => {
  const places = new Map();
  for (const cell of cells) {
    for (const why of [...(cell.rule?.split("; ") ?? []), ...(cell.remark ? [cell.remark] : [])]) {
      const [verdict, rows] = places.get(why) ?? [cell.verdict, new Set()];
      places.set(why, [verdict, rows.add(labels.rows[cell.row] ?? String(cell.row))]);
    }
  }
  const items = [...places].map(([why, [verdict, rows]]) =>
    element(
      "li",
      { class: verdictClass(verdict) },
      element("span", { class: "verdict-sign", "aria-hidden": "true" }, VERDICT_SIGNS[verdict]),
      " ",
      [...rows].map((row, place) => [place ? ", " : "", words(row)]),
      ": ",
      why,
    ),
  );
  return items.length ? element("ul", { class: "rules" }, items) : null;
};
