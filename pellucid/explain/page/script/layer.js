// A layer from inside: its sublayers as a row. Along the bottom runs the stream, one vector for each position; each
// sublayer reads it and adds its own vectors, and a norm makes the sums comparable again.

/** Draws a layer of the run into a place. */
const drawLayer = async (run, layer, place) => {
  const { sublayers, normFirst } = sublayersOf(run, layer);
  const position = Math.min(state.position, run[layer.startsWith("encoder") ? "source" : "target"].length - 1);
  const groups = [];
  let flows = await run.get(inputOf(run, layer));
  groups.push(element("div", { class: "stream-in" }, strip(flows, position, "what comes in")));
  for (const { part, residual } of sublayers) {
    const added = await run.get(`${part}.output`);
    const next = await run.get(`${residual}.output`);
    groups.push(sublayerGroup(part, residual, normFirst, { flows, added, next, position }));
    flows = next;
  }
  const token = layer.startsWith("encoder") ? run.source[position] : run.target[position];
  redraw(
    place,
    element(
      "p",
      { class: "layer-says" },
      normFirst ? LAYER_SAYS.first : LAYER_SAYS.last,
      " Lit up: position ",
      position + 1,
      ", ",
      words(token),
      ".",
    ),
    element(
      "div",
      { class: "sublayers", role: "group", "aria-label": `the parts of ${fullTitleOf(layer)}` },
      groups,
    ),
  );
  for (const canvas of place.querySelectorAll("canvas")) canvas.paint();
  roam(place.querySelector(".sublayers"));
};

const LAYER_SAYS = {
  last: "Each part reads the stream of vectors, adds its own (the residual connection), and a norm follows.",
  first: "Each part reads the stream of vectors through a norm, and adds its own (the residual connection).",
};

const sublayerGroup = (part, residual, normFirst, { flows, added, next, position }) => {
  const [stack, kind] = [part.split(".")[0], part.split(".").at(-1)];
  const [length, stream] = [lengthOf(added, position), lengthOf(flows, position)];
  const ratio = stream ? length / stream : 0;
  const isKnown = !Number.isNaN(ratio); // of a switch that was precomputed the page has not every vector
  const told = isKnown ? `: its vector is ${ratio.toFixed(2)} of the stream's length` : "";
  const box = sublayerButton(part, kind, `${titleOf(part)}${told}`, [
    element("b", {}, titleOf(part)),
    element("small", {}, PART_SAYS[kind]?.[stack] ?? ""),
  ]);
  const add = sublayerButton(residual, "residual", normFirst ? "Norm and add" : "Add and norm", [
    element("b", {}, normFirst ? "Norm & Add" : "Add & Norm"),
  ]);
  return element(
    "div",
    { class: "sublayer-group" },
    element("div", { class: "boxes" }, box, element("span", { class: "arrow", "aria-hidden": "true" }, "→"), add),
    element("div", { class: "adds" }, strip(added, position, "adds"), isKnown ? lengthLine(length, stream, ratio) : null),
    element("div", { class: "stream-out" }, strip(next, position, "goes on")),
  );
};

const sublayerButton = (block, kind, label, children) =>
  element(
    "button",
    {
      class: `sublayer ${kind}`,
      "data-block": block,
      "data-key": `row-${block}`,
      click: () => goToBlock(block),
      "aria-current": block === state.block ? "true" : null,
      "aria-label": label,
    },
    children,
  );

const LONGEST_RATIO = 1.5; // of the bar

/** How long the vector is that a part adds, beside the stream's. */
const lengthLine = (length, stream, ratio) => {
  const number = (text) => element("span", { class: "number" }, text);
  const bar = element("span", {
    class: "length-bar",
    "aria-hidden": "true",
    "--share": Math.min(1, ratio / LONGEST_RATIO).toFixed(4),
    "--whole": (1 / LONGEST_RATIO).toFixed(4),
  });
  const parts = [number(length.toFixed(2)), " long, ", number(`${ratio.toFixed(2)} ×`), " the stream’s ", number(stream.toFixed(2))];
  return element("p", { class: "length" }, bar, parts);
};

const PART_SAYS = {
  self_attention: {
    encoder: "every source word looks at every other",
    decoder: "a word looks at itself and at the words before it",
  },
  cross_attention: { decoder: "the target asks, the memory answers" },
  feed_forward: { encoder: "each position by itself", decoder: "each position by itself" },
};

/** How long the vector of a position is. */
const lengthOf = (tensor, position) => {
  const width = tensor.shape.at(-1);
  let squares = 0;
  for (let at = position * width; at < (position + 1) * width; at++) squares += tensor.data[at] ** 2;
  return Math.sqrt(squares);
};

/** A tensor of positions and dimensions as a small picture: a row for each position, the current one marked. */
const strip = (tensor, position, label) => {
  const [rows, columns] = tensor.shape.slice(-2);
  if (tensor.unknown) return element("p", { class: "strip note" }, `${label}: ${NOT_KEPT.toLowerCase()}`);
  const most = scaleOf("numbers", tensor).most;
  const canvas = element("canvas", {
    width: columns,
    height: rows,
    role: "img",
    "aria-label": `${label}: ${rows} vectors of ${columns} numbers`,
  });
  canvas.paint = () => paintStrip(canvas, tensor.data, most);
  paintedCanvases.add(new WeakRef(canvas)); // painted again when light turns to dark
  return element(
    "figure",
    { class: "strip" },
    element("figcaption", {}, label, " ", element("span", { class: "shape" }, `${rows} × ${columns}`)),
    element(
      "div",
      { class: "strip-field", "--rows": rows, "--at": position },
      canvas,
      element("span", { class: "strip-mark", "aria-hidden": "true" }),
    ),
  );
};

const paintStrip = (canvas, data, most) => {
  const style = getComputedStyle(canvas);
  const [above, below] = [
    colourParts(style.getPropertyValue("--x")),
    colourParts(style.getPropertyValue("--against")),
  ];
  const pixels = new ImageData(canvas.width, canvas.height);
  data.subarray(0, canvas.width * canvas.height).forEach((value, at) => {
    const depth = Math.max(-1, Math.min(1, value / most));
    pixels.data.set([...(depth < 0 ? below : above), Math.round(255 * Math.sqrt(Math.abs(depth)))], at * 4);
  });
  canvas.getContext("2d").putImageData(pixels, 0, 0);
};
