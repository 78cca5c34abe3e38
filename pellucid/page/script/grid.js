// One matrix as a grid: for eyes, for the keyboard and for a screen reader.
//
// Arrows move, Home and End go to the ends of a row (with Ctrl: of the matrix), Page Up and Page Down eight
// rows, Enter goes down a level and Escape up. A read-out says the chosen number, with all its digits.

const PAGE_OF_ROWS = 8;
const PLATE_ROW = 24; // pixels, at most
const CELLS_AS_ELEMENTS = { plate: 640, open: 64 * 64 }; // more of them are painted on a canvas

/** A matrix as an element. Its `.choose(row, column, focus)` moves to a cell; `.chosen` says which it is.
 *  `tensor` and `head`, or a `panel` of one's own; `rows` and `columns` are the labels; `rowState[r]` is null,
 *  "new", "cached", … ; `size` is "plate" (small, among others) or "open" (alone, with its numbers). Several
 *  grids may share one `readout`. */
const grid = (options) => {
  const matrix = matrixOfGrid(options);
  const drawn = matrix.asElements ? tableOfCells(matrix) : canvasOfCells(matrix);
  const readout = options.readout ?? element("output", { class: "readout", role: "status" });
  const box = element("div", { class: "matrix-box" }, drawn.element);
  const whole = element("div", { class: `matrix role-${matrix.role} as-${matrix.size}`, "data-name": matrix.name }, [
    box,
    options.readout ? null : readout,
  ]);
  const tell = (row, column, aloud) => {
    readout.setAttribute("aria-live", aloud ? "polite" : "off");
    readout.replaceChildren(...readoutOf(matrix, row, column));
  };
  whole.chosen = () => ({ row: matrix.row, column: matrix.column });
  whole.holdsFocus = () => whole.contains(document.activeElement);
  whole.choose = (row, column, focus = false) => {
    matrix.row = Math.max(0, Math.min(matrix.panel.rows - 1, row));
    matrix.column = Math.max(0, Math.min(matrix.panel.columns - 1, column));
    drawn.show(matrix.row, matrix.column, focus);
    if (focus || !options.readout) tell(matrix.row, matrix.column, focus || whole.holdsFocus());
  };
  const moved = (row, column) => {
    whole.choose(row, column, true);
    matrix.onMove?.(matrix.row, matrix.column);
  };
  listenToCells(drawn, matrix, moved, tell);
  whole.choose(options.row ?? 0, options.column ?? 0);
  return whole;
};

/** Keys and clicks choose a cell; the pointer only shows the number under it. */
const listenToCells = (drawn, matrix, moved, tell) => {
  const told = (aloud) => () => tell(matrix.row, matrix.column, aloud);
  drawn.element.addEventListener("keydown", (event) => gridKey(event, matrix, moved));
  drawn.element.addEventListener("click", (event) => {
    const cell = drawn.cellAt(event);
    if (!cell) return;
    moved(cell.row, cell.column);
    if (matrix.size === "plate") matrix.onEnter?.(matrix.row, matrix.column);
  });
  drawn.element.addEventListener("pointermove", (event) => {
    const cell = drawn.cellAt(event);
    if (cell) tell(cell.row, cell.column, false);
  });
  drawn.element.addEventListener("pointerleave", told(false));
  drawn.element.addEventListener("focusin", told(true));
};

/** What a grid knows: its numbers, its labels, and how large and in which scale it is drawn. */
const matrixOfGrid = (options) => {
  const { tensor, head = 0, name, size = "open" } = options;
  const panel = options.panel ?? panelOf(tensor, head);
  const kind = options.kind ?? kindOfNumbers(name);
  const asks = options.asks ?? (tensor ? tensor.axes.endsWith("LM") : false);
  const matrix = {
    ...options,
    panel,
    kind,
    asks,
    size,
    role: options.role ?? "x",
    word: options.word ?? wordOfNumber(name),
    rowWord: options.rowWord ?? "",
    columnWord: options.columnWord ?? (asks || panel.columns === 1 ? "" : "dimension"),
    scale: options.scale ?? scaleOf(kind, tensor ?? { data: numbersOf(panel) }),
    rowState: options.rowState ?? [],
    rowSums: options.rowSums ?? (kind === "weights" && asks),
    row: 0,
    column: 0,
  };
  return { ...matrix, ...sizesOf(matrix) };
};

/** How large its cells are, whether they show their numbers, and whether they are elements. */
const sizesOf = ({ panel, size, asks, kind, pick, small, rowWord }) => {
  const cells = panel.rows * panel.columns;
  const asElements = cells <= CELLS_AS_ELEMENTS[size];
  if (size === "open" && asElements) return { asElements, numbers: true, width: 62, height: 32 };
  const few =
    ((asks || kind === "mask" || panel.columns === 1) && panel.columns <= 10) ||
    (!small && panel.columns <= 8 && panel.rows <= 8);
  if (pick || (asElements && few))
    return { asElements: true, numbers: true, width: kind === "mask" ? 34 : 54, height: PLATE_ROW };
  const ofDimensions = rowWord === "dimension"; // such a plate is looked at as a whole
  const room =
    size === "open" ? { across: 900, down: 600 } : { across: small ? 120 : 250, down: ofDimensions ? 128 : 190 };
  const width = Math.max(1, Math.min(asks ? 26 : 14, Math.floor(room.across / panel.columns)));
  const height = Math.max(1, Math.min(PLATE_ROW, Math.floor(room.down / panel.rows)));
  return { asElements: asElements && width >= 8, numbers: false, width, height };
};

const gridKey = (event, matrix, moved) => {
  const { row, column, panel } = matrix;
  const last = { row: panel.rows - 1, column: panel.columns - 1 };
  const to = {
    ArrowLeft: [row, column - 1],
    ArrowRight: [row, column + 1],
    ArrowUp: [row - 1, column],
    ArrowDown: [row + 1, column],
    Home: event.ctrlKey ? [0, 0] : [row, 0],
    End: event.ctrlKey ? [last.row, last.column] : [row, last.column],
    PageUp: [row - PAGE_OF_ROWS, column],
    PageDown: [row + PAGE_OF_ROWS, column],
  }[event.key];
  if (event.altKey || event.metaKey) return;
  if (to) moved(...to);
  else if (event.key === "Enter" && matrix.onEnter) matrix.onEnter(row, column);
  else if (event.key === "Escape" && matrix.onEscape) matrix.onEscape();
  else return;
  event.preventDefault();
  event.stopPropagation();
};

/** The read-out: the asking token, the attended token, the number, and the number with all its digits. */
const readoutOf = (matrix, row, column) => {
  const value = matrix.panel.at(row, column);
  const masked = matrix.forbidden?.(row, column) ? ", masked" : "";
  const told = `${masked}${matrix.rowState[row] ? `, ${matrix.rowState[row]}` : ""}`;
  return [
    ...cellPlace(matrix, row, column),
    `, ${matrix.word} ${fourDecimals(value)}${told}`,
    element("span", { class: "digits" }, ` = ${allDigits(value)}`),
  ];
};

/** "gustan asks, like is attended to": the words for a cell's place, tokens isolated. */
const cellPlace = (matrix, row, column) => {
  const right = matrix.pick ? matrix.pick(row, column).label : matrix.columns[column];
  const left = [matrix.rowWord, matrix.rowWord ? " " : "", words(matrix.rows[row])];
  if (matrix.asks) return [...left, " asks, ", words(right), " is attended to"];
  if (matrix.panel.columns === 1 && !right) return left;
  return [...left, `, ${matrix.columnWord}${matrix.columnWord ? " " : ""}`, words(right)];
};

/** The place in plain text, for aria-label. */
const cellPlaceInWords = (matrix, row, column) =>
  cellPlace(matrix, row, column)
    .map((part) => part.textContent ?? part)
    .join("");

/** The place and the number. */
const cellInWords = (matrix, row, column) =>
  `${cellPlaceInWords(matrix, row, column)}, ${matrix.word} ${fourDecimals(matrix.panel.at(row, column))}`;

/** What one number of a tensor is called: "weight", "scaled score", "query". */
const wordOfNumber = (name) => splitName(name).last.replaceAll("_", " ").replace(/ies$/, "y").replace(/s$/, "");
