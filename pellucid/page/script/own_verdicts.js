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
  const start = report.starts[name]?.[head] ?? [];
  const rows = Math.max(...cells.map((cell) => cell.row + 1), start.length);
  const columns = Math.max(...cells.map((cell) => cell.column + 1), start.length ? columnsOf(start) : 0);
  const isWhole = cells.some((cell) => cell.wholeColumn !== null);
  const first = isWhole ? head * columns : 0; // a matrix that was claimed whole counts on from head to head
  const columnNames = Array.from({ length: columns }, (_, column) => labels.columns[column] ?? String(first + column));
  const table = element(
    "table",
    { class: "verdicts", "data-stage": name, "data-head": head },
    element("thead", {}, element("tr", {}, element("td"), columnNames.map((label) => columnHead(words(label))))),
    Array.from({ length: rows }, (_, row) => {
      const claimed = columnNames.map((_, column) => cells.find((cell) => cell.row === row && cell.column === column));
      const computed = (matrices) => columnNames.map((_, column) => matrices[name]?.[head]?.[row]?.[column] ?? null);
      const asks = element("th", { scope: "rowgroup", colspan: columns + 1 }, words(labels.rows[row] ?? String(row)));
      return element(
        "tbody",
        {},
        element("tr", { class: "asks" }, asks),
        verdictLines(claimed, computed(report.steps), computed(report.starts), lines),
      );
    }),
  );
  return element(
    "div",
    { class: "verdict-box", tabindex: 0, role: "region", "aria-label": `claims about ${name}` },
    table,
  );
};

/** What is claimed of one row, what is computed from the line before and from the start, and the verdicts. */
const verdictLines = (claimed, steps, starts, titles) => {
  const line = (kind, title, made) => element("tr", { class: kind }, rowHead(title), claimed.map(made));
  const number = (value) => element("td", {}, shownNumber(value));
  const written = (cell) =>
    element("td", { class: cell ? verdictClass(cell.verdict) : null }, cell ? cell.written : "…");
  return [
    line("claimed", titles[0], written),
    line("step", titles[1], (cell, column) => number(cell ? cell.step : steps[column])),
    line("start", titles[2], (cell, column) => number(cell ? cell.start : starts[column])),
    line("verdict", "verdict", verdictOfCell),
  ];
};

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
