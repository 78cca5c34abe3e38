// What a plate shows: a traced tensor or a parameter, its labels, and the words under it.

const AXIS_WORDS = { D: "width", K: "d_k", U: "d_v", F: "d_ff", V: "vocabulary" };

/** A traced tensor as a plate of this view. `also` overrides: brief, transposed, product, … */
const tensorPlate = async (view, name, also = {}) => {
  const { run } = view;
  const tensor = await run.get(name);
  const head = tensor.axes.includes("H") ? (also.head ?? view.head) : 0;
  const other = await besideTensor(view, name, tensor);
  const shown = rowsAtTime(view, name, tensor, head);
  const beside = other ? rowsAtTime(besideView(view), name, other, head) : null;
  const labels = labelsOfTensor(run, name, tensor);
  const caption = captionOfTensor(name);
  const spec = {
    key: name,
    name,
    tensor,
    head,
    caption,
    kind: kindOfNumbers(name),
    role: caption.role,
    asks: tensor.axes.endsWith("LM"),
    panel: shown.panel,
    rows: labels.rows.slice(0, shown.panel.rows),
    columns: labels.columns.slice(0, shown.panel.columns),
    rowState: shown.rowState,
    scale: await scaleOfTensor(run, name, tensor, other),
    shape: shapeInWords(name, tensor, shown.panel, also.transposed),
    code: codeOfTensor(name),
    other: beside?.panel ?? null,
    otherRowState: beside?.rowState ?? [],
    forbidden: await forbiddenCells(view, run, name, head),
    otherForbidden: other ? await forbiddenCells(view, view.beside, name, head) : null,
    ...also,
  };
  return spec.transposed ? turnedPlate(spec) : spec;
};

/** The scale of a tensor's colours. With switches on it is the run's without them: the same shade stays the same number. */
const scaleOfTensor = async (run, name, tensor, other) => {
  const before = await run.unswitched?.get(name);
  const shown = before && !before.unknown ? [before] : [tensor, other].filter(Boolean);
  return scaleOf(kindOfNumbers(name), ...shown);
};

/** Which cells of the weights the mask forbids: their 0 is not a small weight, it is none. */
const forbiddenCells = async (view, run, name, head) => {
  const mask = name.replace(/weights$/, "mask");
  if (!name.endsWith("weights") || !run.names.includes(mask)) return null;
  const { panel } = rowsAtTime(view, mask, await run.get(mask), head);
  return (row, column) => panel.at(row, column) === -Infinity;
};

/** The view of the run beside: where a step is shown in both ways, the other one has no cache. */
const besideView = (view) =>
  view.run.stepwise && !view.beside.stepwise
    ? { ...view, run: view.beside, time: { ...view.time, cached: false } }
    : view;

/** The same tensor of the run beside this one; null where that run has none of this shape. */
const besideTensor = async (view, name, tensor) => {
  if (!view.beside || !view.beside.names.includes(name)) return null;
  const other = await view.beside.get(name);
  if (tensor.unknown || other.unknown) return null;
  return other.shape.join() === tensor.shape.join() ? other : null;
};

/** A plate with rows and columns exchanged: Kᵀ. */
const turnedPlate = (spec) => ({
  ...spec,
  panel: turnedPanel(spec.panel),
  other: spec.other && turnedPanel(spec.other),
  rows: spec.columns,
  columns: spec.rows,
  rowState: [],
  rowWord: "dimension",
  columnWord: "",
  tokensAbove: true,
  back: (row, column) => [column, row],
});

const turnedPanel = ({ rows, columns, at }) => ({ rows: columns, columns: rows, at: (row, column) => at(column, row) });

/** At step t the decoder has t rows: the last is new, those before it are cached or made again. */
const rowsAtTime = (view, name, tensor, head) => {
  const panel = panelOf(tensor, head);
  const { mode, t, cached } = view.time ?? {};
  if (mode !== "step") return { panel, rowState: [] };
  const { path, last } = splitName(name);
  const ofSource =
    name.startsWith("encoder") || (path.endsWith("cross_attention") && ["keys", "values"].includes(last));
  if (ofSource) return { panel, rowState: Array(panel.rows).fill("computed once") };
  const rows = Math.min(t, panel.rows);
  const columns =
    path.endsWith("self_attention") && tensor.axes.endsWith("LM") ? Math.min(t, panel.columns) : panel.columns;
  const before = !cached ? "made again" : ["keys", "values"].includes(last) ? "cached" : "earlier";
  const rowState = Array.from({ length: rows }, (_, row) => (row === rows - 1 ? "new" : before));
  return { panel: { rows, columns, at: panel.at }, rowState };
};

/** "6 × 6 = target × target", and how many heads there are. */
const shapeInWords = (name, tensor, { rows, columns }, transposed = false) => {
  const letters = tensor.axes.replace(/[BH]/g, "");
  const pairs = [...letters].map((letter, place) => [place ? columns : rows, axisInWords(letter, name)]);
  if (transposed) pairs.reverse();
  const count = headsOfTensor(tensor);
  const heads = count > 1 ? `, in each of ${count} heads` : "";
  return `${pairs.map(([size]) => size).join(" × ")} = ${pairs.map(([, said]) => said).join(" × ")}${heads}`;
};

const axisInWords = (letter, name) => {
  if (letter !== "L" && letter !== "M") return AXIS_WORDS[letter];
  if (!name.includes(".")) return letter === "L" ? "asks" : "attended to";
  const source = name.startsWith("encoder") || (letter === "M" && name.includes("cross_attention"));
  return source ? "source" : "target";
};

/** "(6×64)". */
const sizeInWords = ({ rows, columns }) => `(${rows}×${columns})`;

/** "(6×64)·(64×16) = (6×16)". */
const productOfShapes = (left, right) =>
  `${sizeInWords(left)}·${sizeInWords(right)} = ${sizeInWords({ rows: left.rows, columns: right.columns })}`;

/** "(6×64) + (6×64) = (6×64)". */
const sumOfShapes = (panel) => Array(2).fill(sizeInWords(panel)).join(" + ") + ` = ${sizeInWords(panel)}`;

/** What training found, or what an example starts from, as a plate. `tensor` gives its colours their scale. */
const parameterPlate = ({ symbol, title, role, notes = "", tensor = null, ...spec }) => ({
  key: spec.name,
  caption: { symbol, title, role, notes },
  role,
  kind: "numbers",
  word: "weight",
  isParameter: true,
  scale: tensor && scaleOf("numbers", tensor),
  ...spec,
});

/** A weight matrix as a plate: a row for each dimension that comes in; without weights, its shape alone. */
const weightPlate = (product, count, symbol, title, role) => {
  const rows = product.xTensor.shape.at(-1);
  return parameterPlate({
    key: `${product.weightName}|${product.columns}`,
    name: product.weightName,
    symbol,
    title,
    role,
    tensor: product.weight,
    shape: `${rows} × ${count}`,
    size: { rows, columns: count },
    panel: product.weight && weightPanel(product, count),
    rows: numbered(rows),
    columns: numbered(count),
    rowWord: "dimension",
  });
};

/** A bias, or the weight of a norm: one row, added or multiplied to every row. */
const rowPlate = (tensor, name, from, count, symbol, title, role) =>
  parameterPlate({
    key: `${name}|${from}`,
    name,
    symbol,
    title,
    role,
    tensor,
    word: "bias",
    shape: `1 × ${count}`,
    panel: { rows: 1, columns: count, at: (_, column) => tensor.data[from + column] },
    rows: [""],
    columns: numbered(count),
  });

const numbered = (count) => Array.from({ length: count }, (_, place) => String(place));

/** The row of a tensor in the table of tensors: its symbol, names, equation, role, operation and inputs. */
const captionOfTensor = (name) => page.header.captions[kindOfTensor(name)];

/** The line of our code that computes a tensor: {file, line, text}; null for a stage that no line computes. */
const codeOfTensor = (name) => page.header.code[kindOfTensor(name)] ?? null;
