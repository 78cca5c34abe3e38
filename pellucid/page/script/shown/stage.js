// The stage: it shows the open block of the model, and the way back.

import { button, choiceOf, element, fill, found, isNarrow, keysOf } from "../base/elements.js";
import { roam } from "../base/roam.js";
import { capitalised } from "../base/text.js";
import { tensorsIn } from "../runs/lineage.js";
import { fullTitleOf, kindOf, layerOf, layersOf, stackOf, titleOf } from "../runs/parts.js";
import { runUntil } from "../runs/stepping.js";
import { drawStages } from "../stages/stages.js";
import { CLOSED, setState, state, walkTo } from "../view/state.js";
import { current } from "../view/view.js";
import { goToBlock } from "./drawing.js";
import { layerView } from "./layer.js";
import { askWhy } from "./why.js";

export const drawStage = async (run, beside, place) => {
  const { block } = state;
  const isLayer = block === layerOf(block);
  const [way, row, plates] = ["way", "row", "plates"].map((name) => place.querySelector(`.stage-${name}`));
  await fill(way, wayTo(run));
  for (const group of way.querySelectorAll(".way, .chooser")) roam(group);
  plates.hidden = isLayer;
  await fill(row, isLayer ? layerView(run, block) : null);
  if (isLayer) roam(row);
  else if (state.block === block) await drawOpenPart(run, beside, plates);
};

/** On a narrow screen, the stage covers the page: the Tab key must not reach elements behind it, and the stage itself
 *  has the slider of a movie and tells what a switch changed. */
export const holdBehind = (isOpen) => {
  const isOver = isOpen && isNarrow.matches;
  const stage = found("stage");
  for (const behind of found("page").children) behind.inert = isOver && behind !== stage;
  stage.setAttribute("role", isNarrow.matches ? "dialog" : "region");
  const [home, before] = isOver
    ? [stage, stage.querySelector(".stage-row")]
    : [document.querySelector(".masthead"), null];
  for (const each of [found("movie"), found("effect")])
    if (each.parentElement !== home) home.insertBefore(each, before);
};

isNarrow.addEventListener("change", () => holdBehind(state.block !== "" && state.open !== "own"));

/** Make the path to the block, with a button for each level above it, and the chooser of the layer. */
const wayTo = (run) => {
  const { block } = state;
  const layer = layerOf(block);
  const step = (above, key, title) =>
    button(title, () => goToBlock(above), { "data-key": key, "aria-current": above === block ? "true" : null });
  const toModel = () => setState(CLOSED, { left: block });
  const choice = (other) => ({
    label: kindOf(other),
    says: `layer ${kindOf(other)}`,
    key: `layer-${other}`,
    chosen: other === layer,
    choose: () => changeLayer(other),
  });
  const label = element("span.label", "layer ", keysOf(",", "."));
  return [
    element("nav.way", { "aria-label": "the way here" }, [
      button("← The whole model", toModel, { "data-key": "way-model" }),
      layer && step(layer, "way-layer", capitalised(fullTitleOf(layer))),
      block !== layer && step(block, "way-part", titleOf(block)),
      button("×", toModel, { class: "close-sheet", "data-key": "way-close", "aria-label": "Close" }),
    ]),
    element("div.choosers", [
      layer && choiceOf("layer", label, layersOf(run, stackOf(layer)).map(choice)),
      block === "decoder.word" && button("Why this word? ↓", askWhy, { "data-key": "way-why" }),
    ]),
  ];
};

/** Open the same part, and the same tensor in it, in another layer of the stack. */
export const changeLayer = (layer) => {
  const block = state.block.replace(layerOf(state.block), layer);
  const [here, there] = [state.block, block].map((each) => tensorsIn(current.run, each));
  return setState({ block, tensor: there[here.indexOf(state.tensor)] ?? null });
};

/** Draw the stages of the open part; they call `select` when the reader chooses something. */
const drawOpenPart = (run, besideRun, place) => {
  const { mode, position, cached } = state;
  const t = position + 1;
  const time = mode === "training" ? { mode } : { mode, t, cached };
  const until = (each) => (each && mode === "step" ? runUntil(each, t) : each);
  const view = { ...state, run: until(run), beside: until(besideRun), time, select: setState, walk: walkTo };
  return drawStages(view, place);
};
