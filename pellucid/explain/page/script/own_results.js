// What comes of one's own matrices: the verdict in a sentence, the plates, the stages with their shapes and the line
// of our code, and the claims cell by cell.

/** Everything about a worked example into a place. `said` says whose claims they are. */
const drawOwnResults = async (example, worked, report, place, isOfNotes) => {
  const run = runOfWorked(worked, example.name);
  const lines = isOfNotes ? NOTES_SAY : CLAIMED;
  const plates = element("div", { class: "own-plates" });
  place.replaceChildren(
    ...(report.cells.length ? [verdictBanner(report)] : []),
    plates,
    stageList(example, worked, report),
    ...(example.products.length ? [productList(example.products)] : []),
    ...(report.cells.length ? [claimsSection(example, report, run, lines)] : []));
  await drawPlatesOf(run, plates);
};

/** The plates, with a chooser for the head where there are several. */
const drawPlatesOf = async (run, place, head = 0) => {
  const inside = element("div", {});
  const heads = run.given.heads;
  const choose = (chosen) => drawPlatesOf(run, place, chosen);
  const buttons = Array.from({ length: heads }, (_, each) =>
    element("button", { type: "button", "aria-pressed": String(each === head), "data-key": `own-head-${each}`, click: () => choose(each) }, `head ${each}`));
  redraw(place, heads > 1 ? element("div", { class: "own-heads", role: "group", "aria-label": "head" }, buttons) : null, inside);
  const view = {
    run, beside: null, block: "", tensor: null, head, row: null, column: null, time: { mode: "training" },
    select: (changes) => {
      if ((changes.head ?? head) !== head) choose(changes.head);
    },
  };
  await drawPlates(view, inside);
};

/** Every stage in its order: its name, the notes' name of it, how its shape comes about, its code, its verdicts. */
const stageList = (example, worked, report) =>
  element("section", { class: "own-stages" }, element("h3", {}, "Stage by stage"),
    element("ol", {}, Object.keys(worked.stages).map((name) => {
      const theirs = example.called[name] ? element("span", { class: "theirs" }, ` ${example.called[name]}`) : null;
      const at = example.at[name] ? element("span", { class: "at" }, ` line ${example.at[name]}`) : null;
      const code = codeOfTensor(name);
      const isClaimed = report.cells.some((cell) => cell.name === name);
      return element("li", { "data-stage": name },
        element("div", { class: "stage-name" }, element("code", {}, name), theirs, at),
        element("div", { class: "stage-shape" }, worked.shapes[name]),
        code ? element("div", { class: "stage-code" }, element("code", {}, code.text), element("small", {}, ` ${code.file}, line ${code.line}`)) : null,
        isClaimed ? element("div", { class: "stage-verdicts" }, verdictCounts(report, name)) : null);
    })));

/** Products of shapes as they were written, and whether they multiply. */
const productList = (products) =>
  element("section", { class: "own-products" }, element("h3", {}, "Products as written"),
    element("ul", {}, products.map((product) => {
      const fits = product.left[1] === product.right[0];
      const verdict = fits ? "right" : "wrong";
      return element("li", { class: verdictClass(verdict) }, element("span", { class: "verdict-sign", "aria-hidden": "true" }, VERDICT_SIGNS[verdict]), " ",
        element("code", {}, product.written), ` ${productText(product)}`, product.lines ? element("span", { class: "at" }, ` line ${product.lines}`) : null);
    })));

const claimsSection = (example, report, run, lines) => {
  const names = STAGE_NAMES.filter((name) => report.cells.some((cell) => cell.name === name));
  return element("section", { class: "own-claims" }, element("h3", {}, "Claim by claim"), verdictLegend(report),
    names.map((name) => element("article", { class: "claimed-stage", "data-stage": name },
      element("h4", {}, element("code", {}, name), example.called[name] ? ` ${example.called[name]}` : "",
        element("small", {}, ` ${report.shapes[name] ?? ""}${example.at[name] ? `, line ${example.at[name]}` : ""}`)),
      verdictTables(report, name, labelsOfClaim(run, name), lines))));
};

/** The words along the rows and columns of a stage. */
const labelsOfClaim = (run, name) => {
  const axes = STAGE_AXES[name].replace(/[BH]/g, "");
  const along = (axis) => ({ L: run.target, M: run.source }[axis] ?? []);
  return { rows: along(axes[0]), columns: along(axes[1]) };
};
