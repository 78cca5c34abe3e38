// The whole model as one drawing: the encoder left, the decoder right, the memory between them as the bridge to
// every cross-attention. A token's vector rises as a line through all blocks; the current position is lit up.

const COMPACT = 3; // more layers than this stand as one row each

/** Draw the model of a run into a place, with the current position lit up. */
const drawModel = async (run, place) => {
  const isNewest = ticketOf(place);
  const shares = await alignmentOf(run);
  if (!isNewest()) return;
  const compact = Math.max(layersOf(run, "encoder").length, layersOf(run, "decoder").length) > COMPACT;
  const model = element("div", { class: compact ? "model compact" : "model" });
  model.append(
    element("div", { class: "next", "aria-live": "off" }),
    element("div", { class: "stack encoder", role: "group", "aria-label": "encoder" }, [
      stackTitle("Encoder", "reads the source, all words at once"),
      tokenRow(run, "source", sourceToken),
      blockRows(run, "encoder"),
    ]),
    memoryBand(run, shares),
    element("div", { class: "stack decoder", role: "group", "aria-label": "decoder" }, [
      stackTitle("Decoder", "says each next word of the target"),
      tokenRow(run, "target", targetToken),
      blockRows(run, "decoder"),
      tokenRow(run, "expected", saidToken),
    ]),
  );
  model.prepend(drawn("svg", { class: "strands", "aria-hidden": "true" }));
  redraw(place, model);
  fitTokens(model);
  roam(model);
  lightUp(model, run, shares);
  await drawStrands(model, run);
};

const stackTitle = (title, says) => element("h2", { class: "stack-title" }, title, " ", element("small", {}, says));

/** The blocks of a stack in the order of computation; on a wide screen the style stacks them upwards. */
const blockRows = (run, stack) => {
  const rows = [blockButton(stack, "embedding")];
  for (const layer of layersOf(run, stack)) rows.push(layerBox(run, layer));
  if (stack === "decoder") rows.push(blockButton("decoder.word", "word"));
  return rows;
};

const layerBox = (run, layer) => {
  const { sublayers } = sublayersOf(run, layer);
  return element("div", { class: "layer", "data-layer": layer, role: "group", "aria-label": fullTitleOf(layer) }, [
    openingButton(layer, "layer-name", titleOf(layer), { says: null }),
    sublayers.map(({ part }) => [
      blockButton(part, part.split(".").at(-1)),
      element("div", { class: "add", "aria-hidden": "true" }),
    ]),
  ]);
};

/** A button that opens a block, or a layer, of the model. */
const openingButton = (block, kind, children, { key = block, says = fullTitleOf(block), ...properties } = {}) =>
  button(children, () => goToBlock(block), {
    class: kind,
    "data-block": block,
    "data-key": key,
    "aria-label": says,
    ...properties,
  });

const blockButton = (block, kind) => openingButton(block, `block ${kind}`, element("span", {}, titleOf(block)));

/** A row of tokens, each over or under the line of its vector. */
const tokenRow = (run, side, token) => {
  const tokens = run[side];
  return element(
    "div",
    {
      class: `token-row ${side}`,
      role: "group",
      "aria-label": TOKEN_ROWS[side],
      "--count": tokens.length,
      "data-many": tokens.length > 24,
    },
    tokens.map((text, place) => token(run, text, place)),
  );
};

const SMALLEST = 0.66; // of a token's size, to which a row is made smaller for its longest token
const MOST_UPRIGHT = 8; // tokens: a longer row of long tokens is written upwards

/** Make a row of tokens fit where a token is wider than its place: smaller, upright where there are many, or cut. */
const fitTokens = (model) => {
  for (const row of model.querySelectorAll(".token-row")) {
    const room = row.clientWidth / row.children.length - 8; // less the edge of a button
    const widths = [...row.querySelectorAll("bdi:not(.raw, .special)")].map((text) => text.scrollWidth);
    const fit = Math.min(1, room / Math.max(1, ...widths));
    row.classList.toggle("turned", fit < SMALLEST && row.children.length > MOST_UPRIGHT);
    if (fit < 1) row.style.setProperty("--fit", Math.max(SMALLEST, fit).toFixed(3));
  }
};

const TOKEN_ROWS = {
  source: "source tokens",
  target: "what the decoder reads: the target, shifted right",
  expected: "the next words",
};

const sourceToken = (run, text, place) =>
  element(
    "span",
    { class: "token", "data-source": place, mouseenter: () => lookBack(place), mouseleave: () => lookBack(null) },
    tokenText(text),
  );

const targetToken = (run, text, place) =>
  element(
    "span",
    {
      class: place ? "token" : "token start",
      "data-position": place,
      mouseenter: () => glance(place),
      mouseleave: () => glance(null),
    },
    tokenText(text),
  );

/** A token. A special token such as </s> shows its meaning, with the token itself small beneath. */
const tokenText = (text) => {
  const meaning = meaningOf(text);
  return meaning
    ? [element("bdi", { class: "special", title: text }, meaning), words(text, { class: "raw" })]
    : words(text, { title: visibleText(text) });
};

const meaningOf = (text) => {
  const language = /^>>([^<>]+)<<$/.exec(text)?.[1];
  return language ? `to ${languageName(language)}` : MEANINGS.get(text);
};

const MEANINGS = new Map(Object.entries({ "<s>": "start", "</s>": "end", "<pad>": "padding", "<unk>": "unknown" }));

/** The word that a position says, with its probability: a button that makes it the current position. */
const saidToken = (run, text, place) => {
  const step = run.steps[place];
  const label = `position ${place + 1}: after ${run.target[place]}, ${text}, probability ${fourDecimals(step.probability)}`;
  return element(
    "button",
    {
      class: step.predicted === step.expected ? "token said" : "token said missed",
      "data-position": place,
      "data-key": `said-${place}`,
      "aria-label": label,
      click: () => setState({ position: place }),
      mouseenter: () => glance(place),
      mouseleave: () => glance(null),
      focus: () => glance(place),
      blur: () => glance(null),
    },
    tokenText(text),
    element("span", { class: "probability" }, step.probability.toFixed(2)),
    shareBar(step.probability),
  );
};

/** The memory: a vector for each source token, and how much the current position takes of each. */
const memoryBand = (run, shares) =>
  element("div", { class: "memory" }, [
    blockButton("encoder.output", "memory-name"),
    element("p", { class: "memory-says" }, "the encoder’s output, a vector for each source token; made once"),
    element("ol", { class: "memory-tokens" }, [
      run.source.map((text, place) =>
        element("li", { "data-source": place }, [
          element("bdi", { title: text }, meaningOf(text) ?? visibleText(text)),
          shareBar(0),
          element("span", { class: "share" }),
        ]),
      ),
    ]),
    run.source.length > MOST_ROWS
      ? element("p", { class: "memory-more" }, `… ${run.source.length - MOST_ROWS} more, looked at less`)
      : null,
    shares.length ? element("p", { class: "memory-who" }) : null,
  ]);
