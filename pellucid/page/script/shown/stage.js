// The stage: where a block of the model opens in place. Above it a small map of the whole model, with the way back.

import { button, choiceOf, element, found, redraw } from "../base/elements.js";
import { roam } from "../base/roam.js";
import { capitalised } from "../base/text.js";
import { fullTitleOf, layerOf, layersOf, sublayersOf, titleOf } from "../runs/parts.js";
import { runUntil } from "../runs/stepping.js";
import { drawStages } from "../stages/stages.js";
import { CLOSED, goToBlock } from "../view/levels.js";
import { setState, state } from "../view/state.js";
import { waysInView } from "./both_ways.js";
import { openingButton } from "./drawing.js";
import { drawLayer } from "./layer.js";

export const drawStage = async (run, beside, place) => {
  const { block } = state;
  const layer = layerOf(block);
  const isPart = block !== layer;
  const [map, way, row, plates] = ["map", "way", "row", "plates"].map((name) => place.querySelector(`.stage-${name}`));
  drawMap(run, map);
  drawWay(run, way);
  row.hidden = isPart;
  plates.hidden = !isPart;
  if (!isPart) await drawLayer(run, layer, row);
  if (isPart && state.block === block) await drawOpenPart(run, beside, plates);
};

export const isSheet = matchMedia("(max-width: 40rem)"); // as the style has it

/** On a narrow screen the stage is a sheet over the page, and the Tab key does not reach what is behind it. */
export const holdBehind = (isOpen) => {
  for (const behind of found("page").children) behind.inert = isOpen && isSheet.matches && behind !== found("stage");
  found("stage").setAttribute("role", isSheet.matches ? "dialog" : "region");
};

isSheet.addEventListener("change", () => holdBehind(state.block !== "" && state.open !== "own"));

/** The sheet ends where the dock begins, however high that is. */
new ResizeObserver(([{ target }]) => document.body.style.setProperty("--dock", `${target.offsetHeight}px`)).observe(
  found("dock"),
);

/** The map: the drawing once more, as one line of small boxes; the open block is lit up. */
const drawMap = (run, place) => {
  const stacks = ["encoder", "decoder"].map((stack) =>
    element("div", { class: `map-stack ${stack}`, role: "group", "aria-label": stack }, [
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
    ]),
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
  openingButton(block, `map-part ${kind}`, MAP_NAMES[block] ?? MAP_NAMES[kind] ?? kind, {
    key: `map-${block}`,
    title: fullTitleOf(block),
    "aria-current": block === state.block ? "true" : null,
  });

/** The way here, each step of it a way back; and the choosers for layer and head. */
const drawWay = (run, place) => {
  const { block } = state;
  const layer = layerOf(block);
  const wayTo = (above, key, title) =>
    button(title, () => goToBlock(above), { "data-key": key, "aria-current": above === block ? "true" : null });
  const toModel = () => setState(CLOSED, { left: block });
  redraw(place, [
    element("nav", { class: "way", "aria-label": "the way here" }, [
      button("← The whole model", toModel, { "data-key": "way-model" }),
      layer ? wayTo(layer, "way-layer", capitalised(fullTitleOf(layer))) : null,
      block === layer ? null : wayTo(block, "way-part", titleOf(block)),
      button("×", toModel, { class: "close-sheet", "data-key": "way-close", "aria-label": "Close" }),
    ]),
    element("div", { class: "choosers" }, [layer ? layerChooser(run, layer) : null]),
  ]);
  for (const group of place.querySelectorAll(".way, .chooser")) roam(group);
};

const layerChooser = (run, layer) =>
  choiceOf(
    "layer",
    chooserHead("layer", ", ."),
    layersOf(run, layer.split(".")[0]).map((other) => {
      const label = other.split(".").at(-1);
      const choose = () => changeLayer(other);
      return { label, says: `layer ${label}`, key: `layer-${other}`, chosen: other === layer, choose };
    }),
  );

const chooserHead = (name, keys) =>
  element("span", { class: "label" }, name, " ", element("kbd", { title: "keys" }, keys));

/** The same part in another layer of the stack. */
export const changeLayer = (layer) => {
  const from = layerOf(state.block);
  const moved = (name) => (name === null ? null : name.replace(from, layer));
  return setState({ block: moved(state.block), tensor: moved(state.tensor) });
};

/** The stages of the open part, drawn by their own files; they tell what was chosen in them. */
const drawOpenPart = (run, besideRun, place) => {
  const { block, tensor, head, row, column } = state;
  const beside = besideRun && sameTokens(run, besideRun) ? besideRun : null;
  const both = { run, beside, ...waysInView(run) };
  const until = (each) => (each && state.mode === "step" ? runUntil(each, state.position + 1) : each);
  const runs = { run: until(both.run), beside: until(both.beside) };
  return drawStages({ ...runs, block, tensor, head, row, column, time: timeOfView(), select: setState }, place);
};

/** Matrices of two runs stand side by side where their rows and columns are the same tokens. */
const sameTokens = (one, other) =>
  ["source", "target"].every((side) => one[side].join("\n") === other[side].join("\n"));

const timeOfView = () =>
  state.mode === "training" ? { mode: "training" } : { mode: "step", t: state.position + 1, cached: state.cached };
