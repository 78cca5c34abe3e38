// A block from inside, on one screen: a bar with its stages, the chosen stage's operands and result, and the inspector,
// which says of one cell how it was made.

import { button, chip, element, ticketOf } from "../base/elements.js";
import { roam } from "../base/roam.js";
import { withScripts } from "../base/scripted.js";
import { splitName } from "../runs/parts.js";
import { giveFocusBack, heldFocus, showChoice, stillToTell, tellLater, tellNow } from "./choice.js";
import { stagesOf } from "./equations.js";
import { fillField } from "./field.js";
import { inBlock } from "./items.js";
import { headStrip } from "./plate.js";
import { isNearly } from "./specs.js";

const drawings = new WeakMap(); // a place -> what is drawn in it

/** Fill a place with the stages of a view's block. Drawn again, it changes what differs and keeps the focus. */
export const drawStages = async (asked, place) => {
  const before = drawings.get(place);
  const view = { ...asked, ...stillToTell(before, asked) };
  if (before && isSameDrawing(before.view, view)) {
    before.view = view;
    return stageOfView(before) === before.stage ? showChoice(before) : drawChosenStage(before);
  }
  const isNewest = ticketOf(place);
  const stages = await stagesOf(view);
  const changed = await changedStages(view, stages);
  const strip = await headStrip(view, inBlock(view, "weights"), (head) => view.select({ head }));
  if (!isNewest()) return undefined; // something newer is being drawn
  const unfolded = before?.view.block === view.block ? before.unfolded : new Set();
  const drawing = { view, place, stages, changed, strip, unfolded, stage: before?.stage ?? null };
  clearTimeout(before?.telling);
  drawings.set(place, drawing);
  if (before?.untold && view.tensor === before.untold.tensor) tellLater(drawing, before.untold);
  return drawChosenStage(drawing);
};

const isSameDrawing = (one, other) =>
  one.run === other.run &&
  one.beside === other.beside &&
  one.block === other.block &&
  one.head === other.head &&
  JSON.stringify(one.time) === JSON.stringify(other.time);

/** Which stages' results a switch has changed. Differences in the last digits do not count: a new pass has some. */
const changedStages = async ({ run }, stages) => {
  const changed = new Set();
  if (!run.unswitched) return changed;
  for (const { key } of stages) {
    if (!run.unswitched.names.includes(key)) continue;
    const [now, was] = [await run.get(key), await run.unswitched.get(key)];
    if (!isNearly(now, was)) changed.add(key);
  }
  return changed;
};

const FIRST_STAGE = "scores"; // of an attention: the dot products that all is about

/** The stage that a view asks for: the one that makes its tensor, or one that has it as an operand. */
const stageOfView = ({ view: { tensor }, stages, stage }) =>
  stages.find(({ key }) => key === tensor) ??
  [stage, ...stages].find(
    (each) => stages.includes(each) && tensor && each.items.some(({ name }) => name === tensor),
  ) ??
  stages.find(({ key }) => splitName(key).last === FIRST_STAGE) ??
  stages.at(-1);

const drawChosenStage = (drawing) => {
  const { place, strip } = drawing;
  const held = heldFocus(place);
  drawing.stage = stageOfView(drawing);
  drawing.plates = new Map();
  drawing.inspector = element("aside", { class: "inspector", "aria-label": "how this number was made" });
  place.classList.add("stages");
  place.replaceChildren(
    element("div", { class: "stage-head" }, stageBar(drawing), strip),
    element("p", { class: "stage-title" }, stageTitle(drawing)),
    element("div", { class: "stage-body" }, element("div", { class: "stage-field" }), drawing.inspector),
  );
  drawing.unpin = () => tellNow(drawing, { row: null, column: null });
  fillField(drawing);
  showChoice(drawing);
  giveFocusBack(drawing, held);
};

/** The stages as buttons, in the order of computation. */
const stageBar = (drawing) => {
  const { stages, stage, changed, view } = drawing;
  const choose = (key) => view.select({ tensor: key, row: null, column: null });
  const bar = element("nav", { class: "stage-bar", "aria-label": "the steps" }, [
    stages.map(({ key, number, sign: chipped, title }, at) => {
      const shown =
        number && number !== stages[at - 1]?.number ? element("span", { class: "step-number" }, number) : null;
      const marks = [shown, element("span", {}, withScripts(chipped)), changed.has(key) ? changedMark() : null];
      return button([marks, view.markOf?.(key)], () => choose(key), {
        "data-key": `stage-${key}`,
        "aria-current": key === stage.key ? "step" : null,
        title,
      });
    }),
  ]);
  roam(bar);
  return bar;
};

const changedMark = () => element("small", { class: "plate-changed" }, "changed");

const stageTitle = ({ stage, view }) => {
  const { run, time, block } = view;
  const told = [stage.number ? `Step ${stage.number}: ` : "", stage.title, "."];
  if (time?.mode !== "step") return told;
  return [
    ...told,
    element(
      "span",
      { class: "time-sentence" },
      ` Step ${time.t} of writing: `,
      chip(run.target[time.t - 1]),
      " is new; ",
      stepInWords(time, block),
    ),
  ];
};

const stepInWords = ({ cached }, block) => {
  if (block.startsWith("encoder")) return "the encoder ran once, before the first step.";
  if (block.endsWith("cross_attention"))
    return "its query asks the source’s keys and values, which were computed once.";
  if (!cached) return "without a cache all rows before it are made again.";
  return `only its row is computed.${block.endsWith("self_attention") ? " Keys and values of the rows before it are cached." : ""}`;
};

let refitting = null;

/** What was fitted to the window is fitted again when that changes. */
addEventListener("resize", () => {
  clearTimeout(refitting);
  refitting = setTimeout(() => {
    for (const place of document.querySelectorAll(".stages")) {
      const drawing = drawings.get(place);
      if (drawing && place.offsetParent) drawChosenStage(drawing);
    }
  }, 100);
});
