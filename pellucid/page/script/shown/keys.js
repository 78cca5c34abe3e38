// Keyboard control: arrow keys move between parts of the drawing, Enter opens a part, Escape goes up a level, brackets
// change the head, comma and full stop change the layer. The space bar plays the steps; inside a part it goes on.

import { found, isNarrow, keyed, say } from "../base/elements.js";
import { blockAbove, blockOf, blocksOf, fullTitleOf, isAttention, layerOf, layersOf, stackOf } from "../runs/parts.js";
import { madeOf } from "../runs/lineage.js";
import { CLOSED, NO_MATRIX, setState, state } from "../view/state.js";
import { playOrPause } from "../view/time.js";
import { current } from "../view/view.js";
import { foldDock } from "./panel.js";
import { changeLayer } from "./stage.js";

addEventListener("keydown", (event) => {
  const bracket = "[]".includes(event.key); // some keyboards need Alt or AltGr for these
  if (!current || event.defaultPrevented || (!bracket && (event.altKey || event.ctrlKey || event.metaKey))) return;
  if (state.open === "own") return; // which hides the model; own.js has the keys of the form
  if (event.key === "Escape") return goUp(event);
  if (event.target.closest?.("input, textarea, select, [contenteditable]")) return;
  const isFree = !event.target.closest?.("button:not(.stage-bar [aria-current]), a, summary");
  if (event.key === " " && isFree) (state.block ? goOn : playOrPause)();
  else if (state.look === "lecture" && event.key.startsWith("Page")) present(event.key === "PageDown" ? 1 : -1);
  else if (bracket) stepHead(event.key === "]" ? 1 : -1);
  else if (",.".includes(event.key)) stepLayer(event.key === "." ? 1 : -1);
  else return;
  event.preventDefault();
});

/** Go one level up: from a pinned cell to its part, from a part to its layer, from a layer to the model. */
const goUp = (event) => {
  if (found("switches").contains(event.target)) return foldDock();
  if (state.row !== null) setState({ row: null, column: null });
  else if (state.block) setState({ ...CLOSED, block: blockAbove(state.block) }, { left: state.block });
  else return;
  event.preventDefault();
};

/** With the keys of a presenter, go to the next or the earlier stop of the tour, step of time or view. */
const present = (by) => {
  const stop = document.querySelector(`[data-key=tour-${by > 0 ? "next" : "back"}]`);
  if (stop) stop.click();
  else if (!state.block) setState({ mode: "step", position: Math.max(0, state.position + by) });
  else (by > 0 ? goOn : () => history.back())();
};

/** Go on to the next stage of the open part; after its last stage, to the next part; after the last part, to the model. */
const goOn = () => {
  const stages = [...found("stage").querySelectorAll(".stage-bar button")];
  const next = stages[stages.findIndex((stage) => stage.ariaCurrent) + 1];
  if (next) return setState({ ...NO_MATRIX, tensor: next.dataset.key.replace("stage-", "") }, { left: null });
  const blocks = blocksOf(current.run);
  const block = blocks.slice(blocks.indexOf(state.block) + 1).find((each) => each !== layerOf(each));
  if (!block) return setState(CLOSED, { left: state.block });
  const first = current.run.names.find((name) => blockOf(name) === block);
  const tensor = isAttention(block) ? madeOf(current.run, first).of[0] : first;
  return setState({ block, ...NO_MATRIX, tensor }, { left: null });
};

const stepHead = (by) => {
  if (!isAttention(state.block)) return;
  const head = (state.head + by + current.heads) % current.heads;
  say(`head ${head}`);
  setState({ head });
};

const stepLayer = (by) => {
  const layers = layersOf(current.run, stackOf(state.block));
  const next = layers[layers.indexOf(layerOf(state.block)) + by];
  if (!layerOf(state.block) || !next) return;
  say(fullTitleOf(next));
  changeLayer(next);
};

/** After a change of level, move the focus to the new level. */
export const focusLevel = (left) => {
  const stage = found("stage");
  const inStage = (selector) => [...stage.querySelectorAll(selector)].find((place) => place.offsetParent !== null);
  const isLayer = state.block === layerOf(state.block);
  const place = !state.block
    ? (keyed(found("drawing"), "block", left) ?? found("drawing").querySelector("[tabindex='0']"))
    : isLayer
      ? (keyed(stage.querySelector(".stage-row"), "block", left) ?? inStage(".sublayers button"))
      : inStage('.stage-bar [aria-current="step"]');
  (place ?? inStage(".way [aria-current]"))?.focus({ preventScroll: true });
  if (isNarrow.matches) return (stage.scrollTop = 0); // the page behind it must not scroll
  const top = state.block ? stage : found("drawing");
  const box = top.getBoundingClientRect();
  if (state.block || box.top < 0 || box.top > innerHeight * 0.6) top.scrollIntoView();
};
