// The open matrix: large, with its numbers, its heads, its words; beside it how the chosen cell was made.

/** Open a plate under its line: an element with `.choose(row, column)`. `actions`: {move, close, head, readout}. */
const openedMatrix = (view, spec, actions) => {
  const whole = element("section", {
    class: `opened role-${spec.role}`,
    "aria-label": `${spec.caption.title}, open`,
    "data-open": spec.key,
  });
  if (!isKept(spec)) return openedWords(whole, spec, actions);
  const making = element("div", { class: "making-place" });
  const moved = (row, column) => {
    for (const each of matrices)
      if (each.chosen().row !== row || each.chosen().column !== column) each.choose(row, column);
    actions.move(spec, row, column);
    drawMaking(view, spec, making, row, column);
  };
  const matrices = openGrids(view, spec, actions, moved, making);
  const step = (down, right) => () => {
    const { row, column } = matrices[0].chosen();
    matrices[0].choose(row + down, column + right, false);
    const now = matrices[0].chosen();
    moved(now.row, now.column);
  };
  whole.append(
    openedHeading(spec, actions),
    headStrip(view, spec, actions.head) ?? "",
    element("div", { class: spec.panel.columns > 9 ? "opened-body wide" : "opened-body" }, [
      openedColumn(view, spec, matrices, step),
      making,
    ]),
  );
  whole.choose = (row, column, focus) => {
    matrices[0].choose(row, column, focus);
    for (const each of matrices.slice(1)) each.choose(row, column);
    drawMaking(view, spec, making, matrices[0].chosen().row, matrices[0].chosen().column);
  };
  whole.grid = matrices[0];
  return whole;
};

/** Where the page does not have the numbers: words instead of a matrix. */
const openedWords = (whole, spec, actions) => {
  const close = whole.appendChild(openedHeading(spec, actions)).querySelector(".close");
  whole.append(element("p", { class: "note" }, NOT_KEPT));
  whole.choose = (row, column, focus) => focus && close.focus();
  whole.grid = { choose: whole.choose, chosen: () => ({ row: 0, column: 0 }) };
  return whole;
};

/** The matrix, or both, with what moves in it, explains its colours and gives its digits. */
const openedColumn = (view, spec, matrices, step) => {
  const twin = twinOfMatrix(spec.name, spec);
  return element("div", { class: "opened-matrix" }, [
    namedMatrices(view, spec, matrices),
    stepper(step),
    legendOfMatrix(spec),
    element("div", { class: "twin-row" }, twin.copy, twin.fold),
  ]);
};

/** Beside another run, the two matrices each under its name. */
const namedMatrices = (view, spec, matrices) =>
  spec.other
    ? matrices.map((matrix, place) => [element("p", { class: "which-run" }, besideTitles(view)[place]), matrix])
    : matrices;

const openGrids = (view, spec, actions, moved, making) => {
  const common = {
    size: "open",
    onMove: moved,
    onEscape: actions.close,
    onEnter: () => making.querySelector(".making")?.focus(),
  };
  making.addEventListener("keydown", (event) => {
    if (event.key !== "Escape") return;
    event.stopPropagation();
    matrices[0].choose(matrices[0].chosen().row, matrices[0].chosen().column, true);
  });
  const titles = spec.other ? besideTitles(view) : [spec.caption.title];
  const matrices = [spec.panel, ...(spec.other ? [spec.other] : [])].map((panel, place) =>
    gridOfSpec(
      { ...spec, panel, ...(place === 0 ? {} : { forbidden: spec.otherForbidden, rowState: spec.otherRowState }) },
      { ...common, title: `${spec.caption.title}${spec.other ? `, ${titles[place]}` : ""}` },
    ),
  );
  return matrices;
};

const openedHeading = (spec, actions) => {
  const { caption, name, shape, product, code } = spec;
  const close = button("Close", actions.close, { type: "button", class: "close", "data-key": "close-matrix" });
  return element("header", {}, [
    element("div", { class: "opened-title" }, [
      element("b", { class: "symbol" }, withScripts(caption.symbol)),
      element("h4", {}, caption.title),
      close,
    ]),
    caption.reading ? element("p", { class: "reading" }, withScripts(caption.reading)) : null,
    element("p", { class: "opened-facts" }, [
      element("code", {}, name),
      caption.notes ? [" · in the notes ", withScripts(caption.notes)] : null,
      " · ",
      shape,
      product ? ` · ${product}` : null,
    ]),
    code ? codeLine(code) : null,
    spec.other ? element("p", { class: "largest-difference" }, ...largestDifference(spec)) : null,
  ]);
};

/** Four buttons that move the selection, for fingers. */
const stepper = (step) =>
  element(
    "div",
    { class: "stepper", role: "group", "aria-label": "move the selection" },
    [
      ["←", "left", 0, -1],
      ["↑", "up", -1, 0],
      ["↓", "down", 1, 0],
      ["→", "right", 0, 1],
    ].map(([arrow, said, down, right]) => button(arrow, step(down, right), { type: "button", "aria-label": said })),
  );

/** Draw how a cell was made; of several asked for while it was computed, the last. */
const drawMaking = (view, spec, place, row, column) => {
  place.asked = { row, column };
  if (place.drawing) return;
  place.drawing = true;
  requestAnimationFrame(async () => {
    place.drawing = false;
    const asked = place.asked;
    const made = await makingElement(view, spec, asked.row, asked.column);
    if (place.asked !== asked) return;
    const held = place.contains(document.activeElement);
    place.replaceChildren(...made);
    const plates = place.closest(".plates");
    if (plates) bringStrips(place, plates);
    if (held) place.querySelector(".making")?.focus({ preventScroll: true });
  });
};

const makingElement = async (view, spec, row, column) => {
  const [r, c] = spec.back ? spec.back(row, column) : [row, column];
  if (spec.isParameter)
    return [
      element("p", { class: "making-note" }, [
        view.run.given
          ? "This number is given: the example starts from it."
          : "Training found this number: nothing makes it in this pass.",
      ]),
    ];
  const runs = spec.other ? [view.run, view.beside] : [view.run];
  const makings = await Promise.all(runs.map((run) => makingOf(run, spec.name, spec.head ?? 0, r, c)));
  const shown = makings.map((making, place) => [
    spec.other ? element("p", { class: "which-run" }, besideTitles(view)[place]) : null,
    showMaking(making),
    weightedRows(spec, making),
  ]);
  return shown.flat().filter(Boolean);
};

/** For a context: the rows of V, each times its weight; together they are the row of the context. */
const weightedRows = (spec, { weighted }) => {
  if (!weighted) return null;
  const tensor = { data: numbersOf(weighted.panel) };
  const labels = weighted.rows.map((token, place) => `${token} × ${fourDecimals(weighted.shares[place])}`);
  return element("div", { class: "weighted-rows" }, [
    element("h5", {}, "The rows of V, each times its weight"),
    grid({
      panel: weighted.panel,
      rows: labels,
      columns: numbered(weighted.panel.columns),
      name: spec.name,
      kind: "numbers",
      role: "v",
      word: "weight · value",
      scale: scaleOf("numbers", tensor),
      size: "plate",
      title: "weighted rows of V",
    }),
  ]);
};
