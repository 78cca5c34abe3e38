// One plate: a matrix as a small picture with its shape; its names and the line of code that makes it stand under its
// line. Without its numbers it is an outline.

/** A plate as a figure: its symbol and name, the matrix, its shape. `actions`: {readout, open(spec, row, column), follow(spec, row, column)}. */
const plateFigure = (view, spec, actions) => {
  const figure = element("figure", {
    class: [
      "plate",
      `role-${spec.role}`,
      spec.brief ? "brief" : "",
      spec.small ? "small" : "",
      spec.pick ? "of-words" : "",
      spec.isParameter || spec.transposed ? "parameter" : "",
    ]
      .filter(Boolean)
      .join(" "),
    "data-plate": spec.key,
    "aria-current": spec.chosenHead ? "true" : null,
  });
  const grids = isKept(spec) ? gridsOfPlate(view, spec, actions) : [{ matrix: outlineOfMatrix(spec) }];
  figure.append(
    plateHeading(spec),
    ...grids.flatMap(({ title, matrix }) => [title, matrix].filter(Boolean)),
    plateCaption(view, spec),
  );
  figure.grids = grids.map(({ matrix }) => matrix).filter((matrix) => matrix.choose);
  figure.spec = spec;
  figure.addEventListener("click", ({ target }) => {
    const { row, column } = figure.grids[0]?.chosen() ?? {};
    if (target.closest(".matrix-box") === target) actions.open(spec, row, column); // a finger, which no cell takes
  });
  return figure;
};

/** The legend of what a plate shows, which says what is hatched in it. */
const legendOfMatrix = ({ scale, panel, forbidden }) => {
  const isMasked =
    forbidden && numbersOf({ ...panel, at: (row, column) => Number(forbidden(row, column)) }).includes(1);
  return legendOf(scale, isMasked ? "masked" : holdsMasked(panel));
};

const holdsMasked = (panel) => numbersOf(panel).includes(-Infinity);

/** The grid of a plate; beside another run, the two of them, each with its name. */
const gridsOfPlate = (view, spec, actions) => {
  const made = (panel, title, forbidden = spec.forbidden, rowState = spec.rowState) =>
    gridOfSpec(
      { ...spec, panel, forbidden, rowState },
      {
        size: "plate",
        readout: actions.readout,
        title,
        onMove: (row, column) => actions.follow(spec, row, column),
        onEnter: (row, column) => actions.open(spec, row, column),
      },
    );
  const title = `${withoutScripts(spec.caption.symbol)}: ${spec.caption.title}`;
  if (!spec.other) return [{ matrix: made(spec.panel, title) }];
  const [here, beside] = besideTitles(view);
  return [
    { title: element("p", { class: "which-run" }, here), matrix: made(spec.panel, `${title}, ${here}`) },
    {
      title: element("p", { class: "which-run" }, beside),
      matrix: made(spec.other, `${title}, ${beside}`, spec.otherForbidden, spec.otherRowState),
    },
  ];
};

/** What the two runs of a view are called; where only switches differ, with them and without. */
const besideTitles = ({ run, beside }) => {
  if (isSwitched(run.switches ?? UNSWITCHED) !== isSwitched(beside.switches ?? UNSWITCHED))
    return ["switched", "as the model is"];
  return [run.name ?? run.title, beside.name ?? beside.title];
};

/** A grid for what a plate shows. */
const gridOfSpec = (spec, also) => grid({ ...spec, asks: spec.asks && !spec.transposed, size: "open", ...also });

const plateHeading = ({ caption }) =>
  element("p", { class: "plate-title" }, [
    element("b", { class: "symbol" }, withScripts(caption.symbol)),
    " ",
    element("span", {}, caption.title),
  ]);

/** The words under a plate: how its shape comes about, and what differs from the run beside. */
const plateCaption = (view, spec) => {
  const lines = [];
  if (spec.other) lines.push(element("p", { class: "largest-difference" }, ...largestDifference(spec)));
  else if (view.beside && spec.tensor && !spec.pick && isKept(spec))
    lines.push(element("p", {}, "the other run has none of this shape"));
  if (spec.product) lines.push(element("p", { class: "product" }, spec.product));
  if (isKept(spec)) lines.push(element("p", { class: "shape" }, spec.shape));
  return element("figcaption", {}, lines);
};

/** Under a line, a line of small type for each plate that is new in it: its symbol, its legend, its name in the trace
 *  and in the notes, and the line of our code that computes it. */
const factsOfPlates = (specs) =>
  element("ul", { class: "line-facts" }, specs.filter(({ brief }) => !brief).map(factOfPlate));

const factOfPlate = (spec) => {
  const { key, name, role, caption, isParameter, code } = spec;
  return element("li", { class: `role-${role}${isParameter ? " of-parameter" : ""}`, "data-of": key }, [
    element("b", { class: "symbol" }, withScripts(caption.symbol)),
    isKept(spec) ? legendOfMatrix(spec) : null,
    element("span", { class: "in-trace" }, dottedName(name)),
    caption.notes
      ? element(
          "span",
          { class: "in-notes" },
          element("span", { class: "label" }, "in the notes "),
          withScripts(caption.notes),
        )
      : null,
    code && !isParameter ? codeLine(code) : null,
  ]);
};

/** A name that may break after its dots alone. */
const dottedName = (name) =>
  element("code", { class: "dotted" }, [
    name.split(/(?<=\.)/).flatMap((part, place) => (place ? [element("wbr"), part] : [part])),
  ]);

const codeLine = ({ file, line, text }) =>
  element("span", { class: "code-line" }, [
    element("code", {}, text),
    " ",
    element("small", {}, `${file.split("/").at(-1)}:${line}`),
  ]);

/** The largest difference between the two runs of a plate, and where it is. */
const largestDifference = ({ panel, other, rows, columns, pick }) => {
  let most = 0,
    place = null;
  for (let row = 0; row < panel.rows; row++) {
    for (let column = 0; column < panel.columns; column++) {
      const difference = apart(panel.at(row, column), other.at(row, column));
      if (difference > most) [most, place] = [difference, [row, column]];
    }
  }
  if (!place || pick) return [`largest difference ${fourDecimals(most)}`];
  return [
    `largest difference ${fourDecimals(most)}, at `,
    words(rows[place[0]]),
    columns[place[1]] ? " × " : "",
    words(columns[place[1]]),
  ];
};

/** Whether the page has the numbers of a plate: of big models weights are missing, and after a switch more. */
const isKept = (spec) => Boolean(spec.panel) && !spec.tensor?.unknown;

const OUTLINE = { longest: 120, shortest: 34 }; // pixels

/** Where the page has no numbers of a matrix, an outline of its shape keeps its place. */
const outlineOfMatrix = (spec) => {
  const { rows, columns } = spec.size ?? spec.panel;
  const pixels = (length) =>
    `${Math.max(OUTLINE.shortest, Math.round((OUTLINE.longest * length) / Math.max(rows, columns)))}px`;
  return element("p", { class: "missing-matrix", "--across": pixels(columns), "--down": pixels(rows) }, [
    `${rows} × ${columns}`,
  ]);
};

/** Explain the outlines among these plates; null where there are none. */
const sentenceOfOutlines = ({ run }, specs) => {
  const missing = specs.filter((spec) => !isKept(spec));
  if (!missing.length) return null;
  const isSwitch = missing.some(({ panel }) => panel);
  const told = isSwitch
    ? "Outlines were not kept for this switch; the recording without it has their numbers."
    : `${countInWords(run.model.parameter_count)} parameters: products with weight matrices show shapes and results.`;
  return element("p", { class: "note outlines" }, told);
};
