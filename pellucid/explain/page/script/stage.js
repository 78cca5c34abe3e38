// The stage: where a block of the model opens in place. Above it a small map of the whole model, with the way back.

const drawStage = async (run, beside, place) => {
  const { block } = state;
  const layer = layerOf(block);
  const isPart = block !== layer;
  const [map, way, row, plates] = ["map", "way", "row", "plates"].map((name) =>
    place.querySelector(`.stage-${name}`),
  );
  drawMap(run, map);
  drawWay(run, way);
  row.hidden = !layer;
  row.classList.toggle("slim", isPart);
  plates.hidden = !isPart;
  if (layer) await drawLayer(run, layer, row);
  if (isPart && state.block === block) await drawOpenPlates(run, beside, plates);
};

/** The map: the drawing once more, as one line of small boxes; the open block is lit up. */
const drawMap = (run, place) => {
  const stacks = ["encoder", "decoder"].map((stack) =>
    element(
      "div",
      { class: `map-stack ${stack}`, role: "group", "aria-label": stack },
      element("span", { class: "map-name", "aria-hidden": "true" }, stack),
      mapButton(stack, "in"),
      layersOf(run, stack).map((layer) =>
        element(
          "div",
          {
            class: layer === layerOf(state.block) ? "map-layer here" : "map-layer",
            role: "group",
            "aria-label": fullTitleOf(layer),
          },
          sublayersOf(run, layer).sublayers.map(({ part }) => mapButton(part, part.split(".").at(-1))),
        ),
      ),
      mapButton(stack === "encoder" ? "encoder.output" : "decoder.word", "out"),
    ),
  );
  redraw(place, stacks);
  roam(place);
  const here = place.querySelector("[aria-current], .here");
  if (here) place.scrollLeft = here.offsetLeft - (place.clientWidth - here.offsetWidth) / 2;
};

const MAP_NAMES = {
  encoder: "embed",
  decoder: "embed",
  self_attention: "self",
  cross_attention: "cross",
  feed_forward: "ffn",
  "encoder.output": "memory",
  "decoder.word": "word",
};

const mapButton = (block, kind) =>
  element(
    "button",
    {
      class: `map-part ${kind}`,
      "data-block": block,
      "data-key": `map-${block}`,
      title: fullTitleOf(block),
      "aria-label": fullTitleOf(block),
      "aria-current": block === state.block ? "true" : null,
      click: () => goToBlock(block),
    },
    MAP_NAMES[block] ?? MAP_NAMES[kind] ?? kind,
  );

/** The way here, each step of it a way back; and the choosers for layer and head. */
const drawWay = (run, place) => {
  const { block } = state;
  const layer = layerOf(block);
  const wayTo = (above, key, title) =>
    element(
      "button",
      { "data-key": key, "aria-current": above === block ? "true" : null, click: () => goToBlock(above) },
      title,
    );
  const toModel = () => setState(CLOSED, { left: block });
  redraw(
    place,
    element(
      "nav",
      { class: "way", "aria-label": "the way here" },
      element("button", { "data-key": "way-model", click: toModel }, "← The whole model"),
      layer ? wayTo(layer, "way-layer", capitalised(fullTitleOf(layer))) : null,
      block === layer ? null : wayTo(block, "way-part", titleOf(block)),
    ),
    element(
      "div",
      { class: "choosers" },
      layer ? layerChooser(run, layer) : null,
      isAttention(block) ? headChooser() : null,
    ),
  );
  for (const group of place.querySelectorAll(".way, .chooser")) roam(group);
};

const CLOSED = { block: "", tensor: null, row: null, column: null };

const layerChooser = (run, layer) =>
  chooser(
    "layer",
    layersOf(run, layer.split(".")[0]).map((other) => ({
      label: other.split(".").at(-1),
      chosen: other === layer,
      key: `layer-${other}`,
      choose: () => changeLayer(other),
    })),
    ", .",
  );

const headChooser = () =>
  chooser(
    "head",
    Array.from({ length: headsIn() }, (_, head) => ({
      label: head,
      chosen: head === state.head,
      key: `head-${head}`,
      choose: () => setState({ head }),
    })),
    "[ ]",
  );

const chooser = (name, choices, keys) =>
  element(
    "div",
    { class: "chooser", role: "group", "aria-label": name },
    element("span", { class: "label" }, name, " ", element("kbd", { title: "keys" }, keys)),
    choices.map((choice) =>
      element(
        "button",
        {
          "aria-pressed": String(choice.chosen),
          "data-key": choice.key,
          click: choice.choose,
          "aria-label": `${name} ${choice.label}`,
        },
        choice.label,
      ),
    ),
  );

const headsIn = () => current.heads;

/** The same part in another layer of the stack. */
const changeLayer = (layer) => {
  const from = layerOf(state.block);
  const moved = (name) => (name === null ? null : name.replace(from, layer));
  return setState({ block: moved(state.block), tensor: moved(state.tensor) });
};

/** The plates of the open part, drawn by their own files; they tell what was chosen in them. */
const drawOpenPlates = (run, beside, place) => {
  const { block, tensor, head, row, column } = state;
  return drawPlates(
    {
      run,
      beside: beside && sameTokens(run, beside) ? beside : null,
      ...waysInView(run),
      block,
      tensor,
      head,
      row,
      column,
      time: timeOfView(),
      select: setState,
    },
    place,
  );
};

/** Matrices of two runs stand side by side where their rows and columns are the same tokens. */
const sameTokens = (one, other) =>
  ["source", "target"].every((side) => one[side].join("\n") === other[side].join("\n"));

const timeOfView = () =>
  state.mode === "training" ? { mode: "training" } : { mode: "step", t: state.position + 1, cached: state.cached };
