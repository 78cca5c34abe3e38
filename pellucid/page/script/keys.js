// Everything by keyboard: arrows among the parts of a drawing, Enter down a level, Escape up, brackets for heads,
// comma and full stop for layers, space to play.

/** Make a group of buttons one stop of the Tab key; arrow keys move to the nearest button in their direction. */
const roam = (place) => {
  const buttons = () =>
    [...place.querySelectorAll("button:not([disabled])")].filter((button) => button.offsetParent !== null);
  const choose = (chosen) => {
    for (const button of buttons()) button.tabIndex = button === chosen ? 0 : -1;
  };
  choose(
    buttons().find((button) => button === document.activeElement) ??
      place.querySelector("[aria-current]") ??
      buttons()[0],
  );
  if (roamed.has(place)) return;
  roamed.add(place);
  place.addEventListener("focusin", ({ target }) => target.closest("button") && choose(target.closest("button")));
  place.addEventListener("keydown", (event) => {
    const direction = ARROWS[event.key];
    const from = event.target.closest("button");
    if (!direction || event.altKey || event.ctrlKey || event.metaKey || !from) return;
    event.preventDefault();
    event.stopPropagation();
    nearestButton(from, buttons(), direction)?.focus();
  });
};

const roamed = new WeakSet(); // places that listen already: what stands in them may be drawn again

const ARROWS = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] };

/** The nearest button in a direction; what lies beside the way counts as further. */
const nearestButton = (from, buttons, [right, down]) => {
  const start = from.getBoundingClientRect();
  let [best, least] = [null, Infinity];
  for (const button of buttons) {
    if (button === from) continue;
    const box = button.getBoundingClientRect();
    const [x, y] = [
      middleOf(box.left, box.right) - middleOf(start.left, start.right),
      middleOf(box.top, box.bottom) - middleOf(start.top, start.bottom),
    ];
    const along = right * x + down * y;
    const aside = right
      ? gap(start.top, start.bottom, box.top, box.bottom)
      : gap(start.left, start.right, box.left, box.right);
    const far = along + 4 * aside + 0.1 * Math.abs(right ? y : x);
    if (along > 4 && far < least) [best, least] = [button, far];
  }
  return best;
};

const middleOf = (one, other) => (one + other) / 2;
const gap = (start, end, from, to) => Math.max(0, from - end, start - to);

addEventListener("keydown", (event) => {
  const bracket = "[]".includes(event.key); // which some keyboards have with Alt or AltGr alone
  if (event.defaultPrevented || (!bracket && (event.altKey || event.ctrlKey || event.metaKey))) return;
  const typing = event.target.closest?.("input, textarea, select, [contenteditable]");
  if (event.key === "Escape") return goUp(event);
  if (typing) return;
  if (event.key === " " && !event.target.closest?.("button, a, summary")) playOrPause();
  else if (bracket) stepHead(event.key === "]" ? 1 : -1);
  else if (",.".includes(event.key)) stepLayer(event.key === "." ? 1 : -1);
  else return;
  event.preventDefault();
});

/** One level up: from a matrix to its part, from a part to its layer, from a layer to the model. */
const goUp = (event) => {
  const isElsewhere = found("stage").contains(event.target);
  if (found("dock").classList.contains("unfolded") && !isElsewhere) return foldDock();
  if (state.tensor !== null) setState(NO_MATRIX, { left: null });
  else if (state.block) setState({ ...CLOSED, block: blockAbove(state.block) }, { left: state.block });
  else return;
  event.preventDefault();
};

const stepHead = (by) => {
  if (!isAttention(state.block)) return;
  const head = (state.head + by + current.heads) % current.heads;
  say(`head ${head}`);
  setState({ head });
};

const stepLayer = (by) => {
  const layer = layerOf(state.block);
  if (!layer) return;
  const layers = layersOf(current.run, stackOf(layer));
  const next = layers[layers.indexOf(layer) + by];
  if (!next) return;
  say(fullTitleOf(next));
  changeLayer(next);
};

/** After a change of level, move the focus into the new level. */
const focusLevel = (left) => {
  const stage = found("stage");
  const inStage = (selector) => [...stage.querySelectorAll(selector)].find((place) => place.offsetParent !== null);
  const byBlock = (place, block) =>
    [...place.querySelectorAll("[data-block]")].find((button) => button.dataset.block === block);
  let place;
  if (!state.block) place = byBlock(found("drawing"), left) ?? inStage("button");
  else if (state.block === layerOf(state.block))
    place = (left && byBlock(stage.querySelector(".stage-row"), left)) || inStage(".sublayers button");
  else
    place =
      inStage(
        '.stage-plates [role="gridcell"][tabindex="0"], .stage-plates [role="grid"][tabindex="0"], .stage-plates button',
      ) ?? inStage(".way [aria-current]");
  place?.focus({ preventScroll: true });
  scrollToLevel();
};

const scrollToLevel = () => {
  if (isSheet.matches) return (found("stage").scrollTop = 0); // the page behind it stays where it was
  const top = state.block ? found("stage") : found("drawing");
  const box = top.getBoundingClientRect();
  if (state.block || box.top < 0 || box.top > innerHeight * 0.6) bringUp(top);
};

/** Scroll a place to the top: at once where it is further than one window, for the way would be long motion. */
const bringUp = (place) => {
  const isNear = Math.abs(place.getBoundingClientRect().top) < innerHeight;
  const isFirst = document.body.dataset.shown === undefined;
  const behavior = isNear && !isFirst && !stillness.matches ? "smooth" : "instant";
  place.scrollIntoView({ block: "start", behavior });
};
