// The plates of a block: its equation in pictures, line by line; one of them opened under its line.

const drawnPlates = new WeakMap(); // a place -> what is drawn in it

/** Fill a place with the plates of a view's block. Drawn again, it changes what differs and keeps the focus. */
const drawPlates = async (asked, place) => {
  const before = drawnPlates.get(place);
  const view = { ...asked, ...stillToTell(before, asked) };
  if (before && isSameDrawing(before.view, view)) {
    before.view = view;
    return showChoice(before);
  }
  const isNewest = ticketOf(place);
  const lines = await equationLines(view);
  if (!isNewest()) return undefined; // something newer is being drawn
  const held = heldFocus(place);
  const drawing = {
    view,
    place,
    opened: null,
    readout: element("output", { class: "readout shared", role: "status" }),
  };
  drawing.plates = new Map();
  drawing.lines = lines.map((line) => lineElement(drawing, line));
  place.classList.add("plates");
  place.replaceChildren(
    timeSentence(view) ?? "",
    sentenceOfOutlines(view, lines.flatMap(platesOfLine)) ?? "",
    chosenHeads(drawing, lines) ?? "",
    ...drawing.lines,
    drawing.readout,
  );
  clearTimeout(before?.telling);
  drawnPlates.set(place, drawing);
  if (before?.untold && view.tensor === before.untold.tensor) tellLater(drawing, before.untold);
  await showChoice(drawing);
  giveFocusBack(drawing, held);
  if (before && before.view.block === view.block && wholeOf(before.view.run) !== wholeOf(view.run))
    markChanged(drawing, before);
};

/** Mark the plates that a switch has changed. Differences in the last digits do not count: a new pass always has some. */
const markChanged = (drawing, before) => {
  for (const [key, { spec, firstElementChild: title }] of drawing.plates) {
    const was = before.plates.get(key)?.spec;
    if (!spec.tensor || !was?.tensor) continue;
    const slight = 1e-5 * Math.max(1, spec.scale.most);
    const isSame = (value, place) =>
      value === was.tensor.data[place] || Math.abs(value - was.tensor.data[place]) <= slight;
    if (spec.tensor.data.length === was.tensor.data.length && spec.tensor.data.every(isSame)) continue;
    title.append(element("small", { class: "plate-changed" }, "changed"));
  }
};

const isSameDrawing = (one, other) =>
  one.run === other.run &&
  one.beside === other.beside &&
  one.block === other.block &&
  one.head === other.head &&
  JSON.stringify(one.time) === JSON.stringify(other.time);

/** A line of the equation: signs and plates, and what can be unfolded under it. */
const lineElement = (drawing, { title, items, softmax }) => {
  const parts = items.map((item, place) => {
    if (item.sign) return items[place + 1] ? null : signElement(item);
    const before = items[place - 1]?.sign ? signElement(items[place - 1]) : null;
    return element("div", { class: "equation-part" }, before, placedPlate(drawing, item)); // a sign stays with what follows
  });
  const line = element("section", { class: "equation-line", "aria-label": title }, [
    element("h4", {}, title),
    element("div", { class: "equation" }, parts),
    factsOfPlates(platesOfLine({ items })),
  ]);
  if (softmax) line.append(softmaxFold(drawing, softmax));
  return line;
};

const platesOfLine = ({ items }) => items.filter((item) => !item.sign);

const signElement = ({ sign, words: said }) =>
  element("span", { class: sign.length === 1 ? "sign short" : "sign" }, [
    element("span", { "aria-hidden": "true" }, sign),
    element("span", { class: "unseen" }, said),
  ]);

/** A plate with a key of its own: the same matrix may stand in several lines. */
const placedPlate = (drawing, spec) => {
  let key = spec.key;
  for (let copy = 2; drawing.plates.has(key); copy++) key = `${spec.key}|${copy}`;
  const figure = plateFigure(drawing.view, { ...spec, key }, plateActions(drawing));
  drawing.plates.set(key, figure);
  return figure;
};

const plateActions = (drawing) => ({
  readout: drawing.readout,
  open: (spec, row, column) => openPlate(drawing, spec, row, column),
  follow: (spec, row) => followRow(drawing, spec, row),
});

/** The same row in every plate that has it: a position is read straight across the equation. */
const followRow = (drawing, spec, row) => {
  drawing.row = row;
  drawing.place.classList.add("row-chosen");
  for (const figure of drawing.plates.values()) {
    if (figure.spec === spec || figure.spec.rows?.join("|") !== spec.rows.join("|")) continue;
    for (const matrix of figure.grids) matrix.choose(row, matrix.chosen().column);
  }
  drawing.softmax?.();
};

/** Open a plate, move the focus into it, and report it to the page's state. */
const openPlate = (drawing, spec, row, column) => {
  const [r, c] = spec.back ? spec.back(row, column) : [row, column];
  const changes = { tensor: spec.name, row: r, column: c };
  if (spec.head !== undefined && spec.head !== drawing.view.head && spec.tensor?.axes.includes("H")) {
    tellNow(drawing, { ...changes, head: spec.head });
    return;
  }
  drawing.view = { ...drawing.view, ...changes };
  drawing.wanted = spec.key;
  showChoice(drawing, true);
  if (!spec.isParameter) tellNow(drawing, changes); // an address leads to tensors of the pass alone
};

const closePlate = (drawing) => {
  const figure = drawing.plates.get(drawing.opened?.dataset.open);
  const { row, column } = drawing.opened?.grid.chosen() ?? { row: 0, column: 0 };
  const changes = { tensor: null, row: null, column: null };
  drawing.view = { ...drawing.view, ...changes };
  showChoice(drawing);
  figure?.grids[0]?.choose(row, column, true);
  tellNow(drawing, changes);
};

/** Show which matrix and which cell the view has chosen. */
const showChoice = async (drawing, focus = false) => {
  const { view } = drawing;
  const figure = figureOfTensor(drawing, view.tensor);
  const row = view.row ?? (view.time?.mode === "step" ? view.time.t - 1 : 0);
  if (drawing.opened && drawing.opened.dataset.open !== figure?.dataset.plate) {
    drawing.opened.remove();
    drawing.opened = null;
  }
  for (const each of drawing.plates.values()) each.classList.toggle("is-open", each === figure);
  if (!figure) return;
  const cell = [figure.spec.forth ? Math.min(row, figure.spec.panel.rows - 1) : row, view.column ?? 0];
  const [r, c] = (figure.spec.forth ?? figure.spec.back)?.(...cell) ?? cell;
  if (!drawing.opened) {
    drawing.opened = openedMatrix(view, figure.spec, openedActions(drawing));
    figure.closest(".equation-line").after(drawing.opened);
  }
  drawing.opened.choose(r, c, focus);
  for (const matrix of figure.grids) matrix.choose(r, c);
  followRow(drawing, figure.spec, r);
};

const figureOfTensor = (drawing, tensor) => {
  if (!tensor) return null;
  const wanted = drawing.plates.get(drawing.wanted);
  if (wanted?.spec.name === tensor) return wanted;
  const all = [...drawing.plates.values()].filter((figure) => figure.spec.name === tensor && figure.spec.panel);
  return all.find((figure) => !figure.spec.brief) ?? all[0] ?? null;
};

const openedActions = (drawing) => ({
  close: () => closePlate(drawing),
  head: (head) =>
    tellNow(drawing, { tensor: drawing.view.tensor, row: drawing.view.row, column: drawing.view.column, head }),
  move: (spec, row, column) => {
    const [r, c] = spec.back ? spec.back(row, column) : [row, column];
    drawing.view = { ...drawing.view, row: r, column: c };
    const figure = drawing.plates.get(spec.key);
    for (const matrix of figure.grids) matrix.choose(row, column);
    followRow(drawing, spec, row);
    if (!spec.isParameter) tellLater(drawing, { tensor: spec.name, row: r, column: c });
  },
});

const RESTING = 120; // milliseconds without a move, after which the page's state and address follow

/** Tell the shell where a walk through a matrix came to rest, not of every step of it. */
const tellLater = (drawing, changes) => {
  clearTimeout(drawing.telling);
  drawing.untold = changes;
  drawing.telling = setTimeout(() => tellNow(drawing, changes), RESTING);
};

/** A walk that the shell has not heard of yet is not undone by what it draws in the meantime. */
const stillToTell = (drawing, asked) => {
  if (!drawing?.untold || drawing.untold.tensor !== asked.tensor) return {};
  const { row, column } = drawing.untold;
  return { row, column };
};

/** Tell the shell at once; what was still to be told is over. */
const tellNow = (drawing, changes) => {
  clearTimeout(drawing.telling);
  drawing.untold = null;
  return drawing.view.select(changes);
};

/** The softmax of the chosen row, unfolded on request. */
const softmaxFold = (drawing, name) => {
  const fold = element("details", { class: "softmax-fold", open: drawing.place.dataset.softmax === "open" }, [
    element("summary", {}, "softmax, step by step: x, x − max, exp, sum, ratio"),
  ]);
  drawing.softmax = async () => {
    drawing.place.dataset.softmax = fold.open ? "open" : "";
    if (!fold.open) return;
    const spec = await tensorPlate(drawing.view, name);
    const row = Math.min(drawing.row ?? drawing.view.row ?? spec.panel.rows - 1, spec.panel.rows - 1);
    if (!isKept(spec)) return fold.replaceChildren(fold.firstChild, element("p", { class: "note" }, NOT_KEPT));
    const table = softmaxTable(rowOfPanel(spec.panel, row), spec.columns, spec.rows[row]);
    fold.replaceChildren(fold.firstChild, table);
  };
  fold.addEventListener("toggle", drawing.softmax);
  return fold;
};

/** The heads of an attention, above its equation. */
const chosenHeads = (drawing, lines) => {
  const { view } = drawing;
  const spec = lines
    .flatMap((line) => line.items)
    .find((item) => item.tensor && item.tensor.axes.endsWith("LM") && item.name.endsWith("weights"));
  const strip = spec && headStrip(view, spec, (head) => view.select({ head }));
  if (!strip) return null;
  const heading = element("h4", {}, "The weights of all heads");
  return element("section", { class: "heads-line", "aria-label": "heads" }, heading, strip);
};

/** What a step is, in a sentence. */
const timeSentence = ({ run, time, block }) => {
  if (time?.mode !== "step") return null;
  return element("p", { class: "time-sentence" }, [
    `Step ${time.t}: `,
    words(run.target[time.t - 1]),
    " is new; ",
    stepInWords(time, block),
  ]);
};

const stepInWords = ({ cached }, block) => {
  if (block.startsWith("encoder"))
    return "the encoder ran once, before the first step, and nothing here is computed again.";
  if (block.endsWith("cross_attention"))
    return "its query asks the source’s keys and values, which were computed once.";
  if (!cached) return "without a cache all rows before it are made again.";
  const kept = block.endsWith("self_attention") ? " Keys and values of the rows before it are cached." : "";
  return `only its row is computed.${kept}`;
};

/** Which plate had the focus, and where in it. */
const heldFocus = (place) => {
  const active = document.activeElement;
  if (!active || !place.contains(active)) return null;
  return {
    plate: active.closest("[data-plate]")?.dataset.plate,
    open: active.closest("[data-open]")?.dataset.open,
    making: Boolean(active.closest(".making")),
    key: active.dataset.key,
    chosen: active.closest(".matrix")?.chosen?.(),
  };
};

const giveFocusBack = (drawing, held) => {
  if (!held) return;
  const keyed =
    held.key && [...drawing.place.querySelectorAll("[data-key]")].find((each) => each.dataset.key === held.key);
  if (keyed) keyed.focus({ preventScroll: true });
  else if (held.making) drawing.opened?.querySelector(".making")?.focus({ preventScroll: true });
  else if (held.open && drawing.opened)
    drawing.opened.grid.choose(held.chosen?.row ?? 0, held.chosen?.column ?? 0, true);
  else if (held.plate && held.chosen)
    drawing.plates.get(held.plate)?.grids[0]?.choose(held.chosen.row, held.chosen.column, true);
};
