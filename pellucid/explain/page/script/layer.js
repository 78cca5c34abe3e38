// A layer from inside: its sublayers as a row. Along the bottom runs the stream, one vector for each position; each
// sublayer reads it and adds its own vectors, and a norm makes the sums comparable again.

/** Draws a layer of the run into a place. */
const drawLayer = async (run, beside, layer, place) => {
  const { sublayers, normFirst } = sublayersOf(run, layer);
  const position = Math.min(state.position, run[layer.startsWith("encoder") ? "source" : "target"].length - 1);
  const groups = [];
  let flows = await run.get(inputOf(run, layer));
  groups.push(element("div", { class: "stream-in" }, strip(flows, position, "what comes in")));
  for (const { part, residual } of sublayers) {
    const added = await run.get(`${part}.output`);
    const next = await run.get(`${residual}.output`);
    groups.push(sublayerGroup(run, part, residual, normFirst, { flows, added, next, position }));
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

const sublayerGroup = (run, part, residual, normFirst, { flows, added, next, position }) => {
  const [length, stream] = [lengthOf(added, position), lengthOf(flows, position)];
  const ratio = stream ? length / stream : 0;
  const box = element(
    "button",
    {
      class: `sublayer ${part.split(".").at(-1)}`,
      "data-block": part,
      "data-key": `row-${part}`,
      click: () => goToBlock(part),
      "aria-current": part === state.block ? "true" : null,
      "aria-label": Number.isNaN(ratio) ? titleOf(part) : `${titleOf(part)}: its vector is ${ratio.toFixed(2)} of the stream's length`,
    },
    element("b", {}, titleOf(part)),
    element("small", {}, PART_SAYS[part.split(".").at(-1)]?.[part.split(".")[0]] ?? ""),
  );
  const add = element(
    "button",
    {
      class: "sublayer residual",
      "data-block": residual,
      "data-key": `row-${residual}`,
      click: () => goToBlock(residual),
      "aria-current": residual === state.block ? "true" : null,
      "aria-label": normFirst ? "Norm and add" : "Add and norm",
    },
    element("b", {}, normFirst ? "Norm & Add" : "Add & Norm"),
  );
  return element(
    "div",
    { class: "sublayer-group" },
    element("div", { class: "boxes" }, box, element("span", { class: "arrow", "aria-hidden": "true" }, "→"), add),
    element(
      "div",
      { class: "adds" },
      strip(added, position, "adds"),
      Number.isNaN(ratio) ? null : element(
        "p",
        { class: "length" },
        element("span", {
          class: "length-bar",
          "aria-hidden": "true",
          "--share": Math.min(1, ratio / 1.5).toFixed(4),
          "--whole": (1 / 1.5).toFixed(4),
        }),
        element("span", { class: "number" }, length.toFixed(2)),
        " long, ",
        element("span", { class: "number" }, `${ratio.toFixed(2)} ×`),
        " the stream’s ",
        element("span", { class: "number" }, stream.toFixed(2)),
      ),
    ),
    element("div", { class: "stream-out" }, strip(next, position, "goes on")),
  );
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
