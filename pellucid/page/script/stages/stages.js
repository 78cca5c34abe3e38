// Show the inside of a block on one screen: a bar with its stages, the chosen stage's operands and result, and the
// inspector, which explains one cell.

import { chip, element, keepFocus, redraw } from "../base/elements.js";
import { splitName } from "../runs/parts.js";
import { showChoice } from "./choice.js";
import { stagesOf } from "./equations.js";
import { fillField } from "./field.js";
import { headStrip } from "./plate.js";
import { isNearly } from "./specs.js";
import { stageBar } from "./strip.js";
import { travelOnce } from "./travel.js";

const drawings = new WeakMap(); // a place -> its drawing
const asked = new WeakMap(); // a place -> the drawing that was requested last

/** Fill a place with the stages of a view's block. A second call redraws only the changed parts and keeps the focus. */
export const drawStages = async (view, place) => {
  const { run, beside, block, head, time } = view;
  const facts = [run, beside, block, head, JSON.stringify(time)];
  const before = drawings.get(place);
  if (before && facts.every((fact, at) => fact === before.facts[at])) {
    asked.set(place, before); // so that a slower drawing, requested earlier, does not replace it
    before.view = view;
    return stageOfView(before) === before.stage ? showChoice(before) : drawChosenStage(before);
  }
  const unfolded = before?.view.block === block ? before.unfolded : new Set();
  const drawing = { view, place, facts, unfolded };
  asked.set(place, drawing);
  drawing.stages = await stagesOf(view);
  drawing.changed = await changedStages(run, drawing.stages);
  const choose = (chosen) => view.select({ head: chosen });
  drawing.strip = await headStrip(view, block ? `${block}.weights` : "weights", choose);
  if (asked.get(place) !== drawing) return undefined; // a newer drawing was requested
  drawings.set(place, drawing);
  return drawChosenStage(drawing);
};

/** Return the stages whose results a switch has changed. Rounding differences, as in every new pass, do not count. */
const changedStages = async (run, stages) => {
  const changed = new Set();
  for (const { key } of stages)
    if (run.unswitched?.names.includes(key) && !isNearly(await run.get(key), await run.unswitched.get(key)))
      changed.add(key);
  return changed;
};

const FIRST_STAGE = "scores"; // an attention opens with its dot products

/** Return the stage that a view asks for: the stage that computes its tensor, or one that has it as an operand. */
const stageOfView = ({ view: { tensor }, stages }) =>
  stages.find(({ key }) => key === tensor) ??
  stages.find(({ items }) => tensor && items.some(({ name }) => name === tensor)) ??
  stages.find(({ key }) => splitName(key).last === FIRST_STAGE) ??
  stages.at(-1);

const drawChosenStage = (drawing) => {
  const { place, strip, view } = drawing;
  drawing.stage = stageOfView(drawing);
  drawing.plates = new Map();
  drawing.inspector = element("aside.inspector", { "aria-label": "how this number was made" });
  drawing.unpin = () => view.select({ row: null, column: null });
  drawing.bar = stageBar(drawing);
  place.classList.add("stages");
  keepFocus(place, () => {
    redraw(
      place,
      element("div.stage-head", drawing.bar, element("p.stage-title", stageTitle(drawing)), strip),
      element("div.stage-body", element("div.stage-field"), drawing.inspector),
    );
    fillField(drawing);
    showChoice(drawing);
  });
  travelOnce(drawing);
};

const stageTitle = ({ stage, view: { run, time, block } }) => [
  stage.number && `${stage.number}. `,
  `${stage.title}.`,
  time?.mode === "step" &&
    element("span.time-sentence", [
      ` Step ${time.t} of writing: `,
      chip(run.target[time.t - 1]),
      ` is new; ${stepInWords(time, block)}`,
    ]),
];

const stepInWords = ({ cached }, block) => {
  if (block.startsWith("encoder")) return "the encoder ran once, before the first step.";
  if (block.endsWith("cross_attention"))
    return "its query is compared with the source’s keys, which were computed once, as their values were.";
  if (!cached) return "without a cache all rows before it are made again.";
  return `only its row is computed.${block.endsWith("self_attention") ? " Keys and values of the rows before it are cached." : ""}`;
};

let refitting = null;

/** Fit the matrices again when the window size changes. */
addEventListener("resize", () => {
  clearTimeout(refitting);
  refitting = setTimeout(() => {
    for (const place of document.querySelectorAll(".stages")) {
      const drawing = drawings.get(place);
      if (drawing && place.offsetParent) drawChosenStage(drawing);
    }
  }, 100);
});
