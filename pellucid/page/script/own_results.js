// What comes of one's own matrices: the verdict in a sentence, the plates, the stages with their shapes
// and the line of our code, and the claims cell by cell.

/** Everything about a worked example, as an element; `isOfNotes` says whose claims they are. */
const ownResults = async (example, worked, report, isOfNotes) => {
  const run = runOfWorked(worked, example.name, report.shown);
  const plates = element("div", { class: "own-plates" });
  const claims = (name) => claimArticle(example, report, run, name, isOfNotes ? NOTES_SAY : CLAIMED);
  const left = STAGE_NAMES.filter((name) => isClaimed(report, name) && !run.names.includes(name));
  const whole = element(
    "div",
    {},
    report.cells.length ? [verdictBanner(report), verdictLegend(report)] : null,
    plates,
    left.map(claims),
    example.products.length ? productList(example.products) : null,
    stageList(example, worked, report),
  );
  await drawOwnPlates({ run, report, claims, place: plates });
  return whole;
};

const isClaimed = (report, name) => report.cells.some((cell) => cell.name === name);

/** The plates of a head; under each line of the equation what is claimed about its stages. */
const drawOwnPlates = async (shown, chosen = { head: 0, tensor: null, row: null, column: null }) => {
  const { run, report, claims, place } = shown;
  const select = (changes) => {
    if ((changes.head ?? chosen.head) !== chosen.head) drawOwnPlates(shown, { ...chosen, ...changes });
    chosen = { ...chosen, ...changes };
  };
  await drawPlates({ run, beside: null, block: "", time: { mode: "training" }, ...chosen, select }, place);
  for (const name of STAGE_NAMES) {
    const plate = place.querySelector(`[data-plate="${name}"]`);
    if (name in run.given.matrices) plate?.querySelector(".code-line")?.remove(); // nothing computes it
    if (!plate || !isClaimed(report, name)) continue;
    const line = plate.closest(".equation-line");
    if (!line.querySelector(".own-claims")) line.append(element("div", { class: "own-claims" }));
    line.querySelector(".own-claims").append(claims(name));
    plate.querySelector("figcaption").prepend(element("p", {}, verdictCounts(report, name)));
  }
};

/**
 * Every stage in its order: its name, the notes' name of it, how its shape comes about, its code, its
 * verdicts.
 */
const stageList = (example, worked, report) =>
  element(
    "details",
    { class: "own-stages" },
    element("summary", {}, "All stages in a list, with shapes and code"),
    element(
      "ol",
      {},
      Object.keys(worked.stages).map((name) => {
        const theirs = example.called[name]
          ? element("span", { class: "theirs" }, ` ${example.called[name]}`)
          : null;
        const at = example.at[name] ? element("span", { class: "at" }, ` line ${example.at[name]}`) : null;
        const code = codeOfTensor(name);
        return element(
          "li",
          { "data-stage": name },
          element("div", { class: "stage-name" }, element("code", {}, name), theirs, at),
          element("div", { class: "stage-shape" }, worked.shapes[name]),
          code
            ? element(
                "div",
                { class: "stage-code" },
                element("code", {}, code.text),
                element("small", {}, ` ${code.file}, line ${code.line}`),
              )
            : null,
          isClaimed(report, name)
            ? element("div", { class: "stage-verdicts" }, verdictCounts(report, name))
            : null,
        );
      }),
    ),
  );

/** Products of shapes as they were written, and whether they multiply. */
const productList = (products) =>
  element(
    "section",
    { class: "own-products" },
    element("h3", {}, "Products as written"),
    element(
      "ul",
      {},
      products.map((product) => {
        const fits = product.left[1] === product.right[0];
        const verdict = fits ? "right" : "wrong";
        return element(
          "li",
          { class: verdictClass(verdict) },
          element("span", { class: "verdict-sign", "aria-hidden": "true" }, VERDICT_SIGNS[verdict]),
          " ",
          element("code", {}, product.written),
          ` ${productText(product)}`,
          product.lines ? element("span", { class: "at" }, ` line ${product.lines}`) : null,
        );
      }),
    ),
  );

/** What is claimed about a stage, beside what is computed; folded where all is right. */
const claimArticle = (example, report, run, name, lines) => {
  const isRight = VERDICTS.every((verdict) => verdict === "right" || !countOf(report, verdict, name));
  return element(
    "details",
    { class: "claimed-stage", "data-stage": name, open: !isRight },
    element(
      "summary",
      {},
      element("code", {}, name),
      example.called[name] ? element("span", { class: "theirs" }, example.called[name]) : null,
      example.at[name] ? element("span", { class: "at" }, `line ${example.at[name]}`) : null,
      verdictCounts(report, name),
    ),
    element("p", { class: "stage-shape" }, report.shapes[name] ?? ""),
    verdictTables(report, name, labelsOfClaim(run, name), lines),
  );
};

/** The words along the rows and columns of a stage. */
const labelsOfClaim = (run, name) => {
  const axes = STAGE_AXES[name].replace(/[BH]/g, "");
  const along = (axis) => ({ L: run.target, M: run.source })[axis] ?? [];
  return { rows: along(axes[0]), columns: along(axes[1]) };
};
