// One plate: a matrix as a small picture, and under it its names, its shape, and the line of code that makes it.

/** A plate as a figure. `actions`: {readout, open(spec, row, column), follow(spec, row, column)}. */
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
  const grids = isKept(spec) ? gridsOfPlate(view, spec, actions) : [missingMatrix(spec)];
  figure.append(
    plateHeading(spec),
    ...grids.flatMap(({ title, matrix }) => [title, matrix].filter(Boolean)),
    plateCaption(view, spec),
  );
  if (isKept(spec) && !spec.brief) figure.lastChild.append(legendOfMatrix(spec, grids[0].matrix));
  figure.grids = grids.map(({ matrix }) => matrix).filter((matrix) => matrix.choose);
  figure.spec = spec;
  return figure;
};

/** The legend, in the depth of colour that the matrix has: paler where it shows numbers. */
const legendOfMatrix = ({ scale, panel, forbidden }, matrix) => {
  const isMasked = forbidden && numbersOf({ ...panel, at: (row, column) => Number(forbidden(row, column)) }).includes(1);
  const legend = legendOf(scale, isMasked ? "masked" : holdsMasked(panel));
  legend.classList.toggle("colour-only", matrix.querySelector(".colour-only, .painted") !== null);
  return legend;
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
    { title: element("p", { class: "which-run" }, beside), matrix: made(spec.other, `${title}, ${beside}`, spec.otherForbidden, spec.otherRowState) },
  ];
};

/** What the two runs of a view are called; where only switches differ, with them and without. */
const besideTitles = ({ run, beside }) => {
  if (isSwitched(run.switches ?? UNSWITCHED) !== isSwitched(beside.switches ?? UNSWITCHED)) return ["switched", "as the model is"];
  return [run.name ?? run.title, beside.name ?? beside.title];
};

/** A grid for what a plate shows. */
const gridOfSpec = (spec, also) =>
  grid({
    panel: spec.panel,
    rows: spec.rows,
    columns: spec.columns,
    name: spec.name,
    kind: spec.kind,
    role: spec.role,
    asks: spec.asks && !spec.transposed,
    rowState: spec.rowState,
    scale: spec.scale,
    word: spec.word,
    rowWord: spec.rowWord,
    columnWord: spec.columnWord,
    pick: spec.pick,
    rowSums: spec.rowSums,
    tokensAbove: spec.tokensAbove,
    small: spec.small,
    forbidden: spec.forbidden,
    ...also,
  });

const plateHeading = ({ caption }) =>
  element(
    "p",
    { class: "plate-title" },
    element("b", { class: "symbol" }, withScripts(caption.symbol)),
    " ",
    element("span", {}, caption.title),
  );

/** The words under a plate: its name in the notes, in the trace, its shape, and the line of our code. */
const plateCaption = (view, spec) => {
  const { name, caption, brief, small, isParameter, shape, product, code } = spec;
  const lines = [];
  if (spec.other) lines.push(element("p", { class: "largest-difference" }, ...largestDifference(spec)));
  else if (view.beside && spec.tensor && !spec.pick && isKept(spec))
    lines.push(element("p", {}, "the other run has none of this shape"));
  if (!brief && caption.notes)
    lines.push(
      element(
        "p",
        { class: "in-notes" },
        element("span", { class: "label" }, "in the notes "),
        withScripts(caption.notes),
      ),
    );
  if (!small) lines.push(element("p", { class: "in-trace" }, dottedName(name)));
  if (product) lines.push(element("p", { class: "product" }, product));
  lines.push(element("p", { class: "shape" }, shape));
  if (!brief && !isParameter && code) lines.push(codeLine(code));
  return element("figcaption", {}, lines);
};

/** A name that may break after its dots alone. */
const dottedName = (name) =>
  element(
    "code",
    { class: "dotted" },
    name.split(/(?<=\.)/).flatMap((part, place) => (place ? [element("wbr"), part] : [part])),
  );

const codeLine = ({ file, line, text }) =>
  element(
    "p",
    { class: "code-line" },
    element("code", {}, text),
    " ",
    element("small", {}, `${file.split("/").at(-1)}:${line}`),
  );

/** The largest difference between the two runs of a plate, and where it is. */
const largestDifference = ({ panel, other, rows, columns, pick }) => {
  let most = 0,
    place = null;
  for (let row = 0; row < panel.rows; row++) {
    for (let column = 0; column < panel.columns; column++) {
      const [here, there] = [panel.at(row, column), other.at(row, column)];
      const difference = here === there ? 0 : Math.abs(here - there);
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

/** Where the page has no numbers of a matrix, its place is kept. */
const missingMatrix = ({ shape, panel }) => ({
  matrix: element(
    "div",
    { class: "missing-matrix" },
    element("p", {}, shape),
    element("p", {}, panel ? NOT_KEPT : "Not in this page: the model has too many weights."),
  ),
});
