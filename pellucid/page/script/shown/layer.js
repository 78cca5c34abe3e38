// Show the inside of a layer: its sublayers in a row and, below them, the stream of vectors, one for each position.
// Each sublayer reads the stream and adds its own vectors; a norm then brings the sums to the same scale.

import { element, words } from "../base/elements.js";
import { panelOf } from "../base/numbers.js";
import { madeOf } from "../runs/lineage.js";
import { fullTitleOf, kindOf, stackOf, sublayersOf, titleOf } from "../runs/parts.js";
import { stripPicture } from "../matrices/painting.js";
import { scaleOf, shadesOf } from "../matrices/scales.js";
import { state } from "../view/state.js";
import { openingButton } from "./drawing.js";

/** Make the elements that show a layer of a run. */
export const layerView = async (run, layer) => {
  const { sublayers, normFirst } = sublayersOf(run, layer);
  const streams = [];
  let flows = await run.get(madeOf(run, `${layer}.residual_1.sum`).of[0]); // the layer's input
  for (const { part, residual } of sublayers) {
    const [added, next] = [await run.get(`${part}.output`), await run.get(`${residual}.output`)];
    streams.push({ part, residual, flows, added, next });
    flows = next;
  }
  const tokens = stackOf(layer) === "encoder" ? run.source : run.target;
  const at = Math.min(state.position, tokens.length - 1);
  const { most } = scaleOf("numbers", ...streams.flatMap(({ flows: before, added, next }) => [before, added, next]));
  const lit = { at, token: tokens[at], most };
  const position = [`position ${at + 1}, `, words(lit.token)];
  const says = normFirst
    ? " through a norm, and adds its own (the residual connection)."
    : ", adds its own (the residual connection), and a norm follows.";
  return [
    element("p.layer-says", `Each part reads the stream of vectors${says} Lit up: `, position, "."),
    element(
      "div.sublayers",
      { role: "group", "aria-label": `the parts of ${fullTitleOf(layer)}`, "--rows": tokens.length },
      element("div.stream-in", strip(streams[0].flows, lit, "what comes in")),
      streams.map((stream) => sublayerGroup(stream, normFirst, lit)),
    ),
    element("p.legend", [
      element("span.legend-scale.role-x", shadesOf({ kind: "strip", most })),
      `in every strip: a row for each position, a column for each of ${run.config.width} numbers of its vector`,
    ]),
  ];
};

const PART_SAYS = {
  "encoder self_attention": "every source word looks at every other",
  "decoder self_attention": "a word looks at itself and at the words before it",
  "decoder cross_attention": "the target asks, the memory answers",
};

const sublayerGroup = ({ part, residual, added, next }, normFirst, lit) => {
  const title = [
    element("b", titleOf(part)),
    element("small", PART_SAYS[`${stackOf(part)} ${kindOf(part)}`] ?? "each position by itself"),
  ];
  const norm = element("b", normFirst ? "Norm & Add" : "Add & Norm");
  const open = (block, kind, children) => openingButton(block, `sublayer ${kind}`, children, { key: `row-${block}` });
  return element("div.sublayer-group", [
    element("div.boxes", [
      open(part, kindOf(part), title),
      element("span.arrow", { "aria-hidden": "true" }, "→"),
      open(residual, "residual", norm),
    ]),
    element("div.adds", strip(added, lit, "adds")),
    element("div.stream-out", strip(next, lit, "goes on")),
  ]);
};

/** Make a small picture of a tensor with a row for each position; the current position is marked. */
const strip = (tensor, { at, token, most }, label) => {
  const panel = panelOf(tensor);
  const { rows, columns } = panel;
  return element("figure.strip", [
    element("figcaption", label, " ", element("span.shape", `${rows} × ${columns}`)),
    element("div.strip-field", { "--rows": rows, "--at": at }, [
      stripPicture(panel, most, `${label}: ${rows} vectors of ${columns} numbers`),
      element("span.strip-mark", { "aria-hidden": "true" }, words(token)),
    ]),
  ]);
};
