// The whole model as one drawing: the encoder left, the decoder right, the memory between them as the bridge to
// every cross-attention. A token's vector rises as a line through all blocks; the current position is lit up.

const COMPACT = 3; // more layers than this stand as one row each

/** Draws the model of a run into a place, with the current position lit up. */
const drawModel = async (run, place) => {
  const shares = await alignmentOf(run);
  const compact = Math.max(layersOf(run, "encoder").length, layersOf(run, "decoder").length) > COMPACT;
  const model = element("div", { class: compact ? "model compact" : "model" });
  model.append(
    element("div", { class: "next", "aria-live": "off" }),
    element(
      "div",
      { class: "stack encoder", role: "group", "aria-label": "encoder" },
      stackTitle("Encoder", "reads the source, all words at once"),
      tokenRow(run, "source", sourceToken),
      blockRows(run, "encoder"),
    ),
    memoryBand(run, shares),
    element(
      "div",
      { class: "stack decoder", role: "group", "aria-label": "decoder" },
      stackTitle("Decoder", "says each next word of the target"),
      tokenRow(run, "target", targetToken),
      blockRows(run, "decoder"),
      tokenRow(run, "expected", saidToken),
    ),
  );
  model.prepend(drawn("svg", { class: "strands", "aria-hidden": "true" }));
  redraw(place, model);
  turnLongTokens(model);
  roam(model);
  lightUp(model, run, shares);
  await drawStrands(model, run, shares);
};

const stackTitle = (title, says) =>
  element("h2", { class: "stack-title" }, title, " ", element("small", {}, says));

/** The blocks of a stack in the order of computation; the style lets them grow upwards where there is room. */
const blockRows = (run, stack) => {
  const rows = [blockButton(stack, "embedding")];
  for (const layer of layersOf(run, stack)) rows.push(layerBox(run, layer));
  if (stack === "decoder") rows.push(blockButton("decoder.word", "word"));
  return rows;
};

const layerBox = (run, layer) => {
  const { sublayers } = sublayersOf(run, layer);
  return element(
    "div",
    { class: "layer", "data-layer": layer, role: "group", "aria-label": fullTitleOf(layer) },
    element(
      "button",
      { class: "layer-name", "data-block": layer, "data-key": layer, click: () => goToBlock(layer) },
      titleOf(layer),
    ),
    sublayers.map(({ part }) => [
      blockButton(part, part.split(".").at(-1)),
      element("div", { class: "add", "aria-hidden": "true" }),
    ]),
  );
};

const blockButton = (block, kind) =>
  element(
    "button",
    {
      class: `block ${kind}`,
      "data-block": block,
      "data-key": block,
      click: () => goToBlock(block),
      "aria-label": fullTitleOf(block),
    },
    element("span", {}, titleOf(block)),
  );

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

/** Where a token is wider than its place, the tokens of its row are written upwards. */
const turnLongTokens = (model) => {
  for (const row of model.querySelectorAll(".token-row")) {
    const room = row.clientWidth / row.children.length;
    row.classList.toggle(
      "turned",
      [...row.querySelectorAll("bdi")].some((text) => text.getBoundingClientRect().width > room),
    );
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
    words(text, { class: tokenNote(text) ? "special" : null }),
    tokenNote(text),
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
    words(text, { class: tokenNote(text) ? "special" : null }),
    tokenNote(text),
  );

/** What a token that is no word stands for. */
const tokenNote = (text) => {
  const language = /^>>([^<>]+)<<$/.exec(text)?.[1];
  const note = language
    ? `into ${languageName(language)}`
    : { "<s>": "start", "</s>": "end", "<pad>": "padding", "<unk>": "unknown" }[text];
  return note ? element("small", { class: "token-note" }, note) : null;
};

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
    words(text, { class: tokenNote(text) ? "special" : null }),
    element("span", { class: "probability" }, step.probability.toFixed(2)),
    shareBar(step.probability),
    tokenNote(text),
  );
};

const shareBar = (share) =>
  element("span", {
    class: "share-bar",
    "aria-hidden": "true",
    "--share": Math.max(0, Math.min(1, share)).toFixed(4),
  });

/** The memory: a vector for each source token, and how much the current position takes of each. */
const memoryBand = (run, shares) =>
  element(
    "div",
    { class: "memory" },
    element(
      "button",
      {
        class: "block memory-name",
        "data-block": "encoder.output",
        "data-key": "encoder.output",
        click: () => goToBlock("encoder.output"),
        "aria-label": "memory",
      },
      element("span", {}, "Memory"),
    ),
    element("p", { class: "memory-says" }, "the encoder’s output, a vector for each source token; made once"),
    element(
      "ol",
      { class: "memory-tokens" },
      run.source.map((text, place) =>
        element("li", { "data-source": place }, words(text), shareBar(0), element("span", { class: "share" })),
      ),
    ),
    shares.length ? element("p", { class: "memory-who" }) : null,
  );

// Lighting up

let onShow = null; // {model, run, shares}: what the drawing shows, for glances

const lightUp = (model, run, shares) => {
  onShow = { model, run, shares };
  lightPosition(state.position);
};

/** Lights a position up while a pointer or the focus is on it; null goes back to the current one. */
const glance = (place) => {
  if (!onShow || (place !== null && !isReached(place))) return;
  lightPosition(place ?? state.position);
  lightStrands(place ?? state.position);
};

/** In step mode, positions after the current step do not exist yet. */
const isReached = (place) => state.mode === "training" || place <= state.position;

const lightPosition = (position) => {
  const { model, run, shares } = onShow;
  for (const token of model.querySelectorAll("[data-position]")) {
    const place = Number(token.dataset.position);
    token.classList.toggle("lit", place === position);
    token.classList.toggle("to-come", !isReached(place));
    token.classList.toggle("cached", state.mode === "step" && state.cached && place < state.position);
    if (token.tagName === "BUTTON") token.setAttribute("aria-pressed", String(place === position));
  }
  drawNext(run, position, model.querySelector(".next"));
  shareOut(shares[position] ?? [], `looked at when it said ${visibleText(run.expected[position] ?? "")}; the mean of the last layer’s heads`);
};

/** Shows shares of the source, on the memory and under the encoder. */
const shareOut = (row, who) => {
  for (const place of onShow.model.querySelectorAll("[data-source]")) {
    const share = row[Number(place.dataset.source)] ?? 0;
    place.style.setProperty("--share", share.toFixed(4));
    const number = place.querySelector(".share");
    if (number) number.textContent = share.toFixed(2);
    place.querySelector(".share-bar")?.style.setProperty("--share", share.toFixed(4));
  }
  const caption = onShow.model.querySelector(".memory-who");
  if (caption) caption.textContent = who;
};

/** The other way round: a source token lights up the words that looked at it. */
const lookBack = (source) => {
  if (!onShow) return;
  for (const token of onShow.model.querySelectorAll(".said")) {
    const share = source === null ? 0 : (onShow.shares[Number(token.dataset.position)]?.[source] ?? 0);
    token.style.setProperty("--looked", share.toFixed(4));
  }
};

/** Opens a block of the model, in place. */
const goToBlock = async (block) => {
  const from = document.activeElement?.closest("[data-block]")?.getBoundingClientRect();
  await setState({ block, tensor: null, row: null, column: null }, { left: null });
  growFrom(from);
};

/** What was opened grows from where it was. */
const growFrom = (from) => {
  const place = found("stage");
  const to = place.getBoundingClientRect();
  if (!from?.width || !to.width || from.top > innerHeight) return;
  const x = from.left + from.width / 2 - to.left;
  const y = from.top + from.height / 2 - to.top;
  place.style.transformOrigin = `${x}px ${y}px`;
  animate(
    place,
    [
      { transform: "scale(.86)", opacity: 0.2 },
      { transform: "none", opacity: 1 },
    ],
    220,
  );
};
