// A layer from inside: its sublayers as a row. Along the bottom runs the stream, one vector for each position; each
// sublayer reads it and adds its own vectors, and a norm makes the sums comparable again.

import { element, redraw, ticketOf, words } from "../base/elements.js";
import { roam } from "../base/roam.js";
import { inputOf } from "../runs/lineage.js";
import { fullTitleOf, sublayersOf, titleOf } from "../runs/parts.js";
import { scaleOf } from "../matrices/scales.js";
import { stripCanvas } from "../matrices/strip_picture.js";
import { NOT_KEPT } from "../cells/making.js";
import { state } from "../view/state.js";
import { openingButton } from "./drawing.js";

/** Draw a layer of the run into a place; of several asked for in a row, the last. */
export const drawLayer = async (run, layer, place) => {
  const isNewest = ticketOf(place);
  const { normFirst, streams } = await streamsOf(run, layer);
  if (!isNewest()) return;
  const tokens = layer.startsWith("encoder") ? run.source : run.target;
  const at = Math.min(state.position, tokens.length - 1);
  const tensors = streams.flatMap(({ flows, added, next }) => [flows, added, next]).filter(({ unknown }) => !unknown);
  const most = Math.max(0, ...tensors.map((tensor) => scaleOf("numbers", tensor).most)) || 1;
  const lit = { at, token: tokens[at], most };
  redraw(place, [
    element("p", { class: "layer-says" }, [
      normFirst ? LAYER_SAYS.first : LAYER_SAYS.last,
      " Lit up: position ",
      at + 1,
      ", ",
      words(lit.token),
      ".",
    ]),
    element(
      "div",
      {
        class: "sublayers",
        role: "group",
        "aria-label": `the parts of ${fullTitleOf(layer)}`,
        "--rows": tokens.length,
      },
      element("div", { class: "stream-in" }, strip(streams[0].flows, lit, "what comes in")),
      streams.map((stream) => sublayerGroup(stream, normFirst, lit)),
    ),
    stripLegend(streams[0].flows, most),
  ]);
  for (const canvas of place.querySelectorAll("canvas")) canvas.paint();
  roam(place.querySelector(".sublayers"));
};

/** Return for each part of a layer its input, what it adds, and its output. */
const streamsOf = async (run, layer) => {
  const { sublayers, normFirst } = sublayersOf(run, layer);
  const streams = [];
  let flows = await run.get(inputOf(run, layer));
  for (const { part, residual } of sublayers) {
    const [added, next] = [await run.get(`${part}.output`), await run.get(`${residual}.output`)];
    streams.push({ part, residual, flows, added, next });
    flows = next;
  }
  return { normFirst, streams };
};

const LAYER_SAYS = {
  last: "Each part reads the stream of vectors, adds its own (the residual connection), and a norm follows.",
  first: "Each part reads the stream of vectors through a norm, and adds its own (the residual connection).",
};

const sublayerGroup = ({ part, residual, flows, added, next }, normFirst, lit) => {
  const [stack, kind] = [part.split(".")[0], part.split(".").at(-1)];
  const [length, stream] = [lengthOf(added, lit.at), lengthOf(flows, lit.at)];
  const ratio = stream ? length / stream : 0;
  const isKnown = !Number.isNaN(ratio); // of a switch that was precomputed the page has not every vector
  const told = isKnown ? `: its vector is ${ratio.toFixed(2)} of the stream's length` : "";
  const box = sublayerButton(part, kind, `${titleOf(part)}${told}`, [
    element("b", {}, titleOf(part)),
    element("small", {}, PART_SAYS[kind]?.[stack] ?? ""),
  ]);
  const add = sublayerButton(residual, "residual", normFirst ? "Norm and add" : "Add and norm", [
    element("b", {}, normFirst ? "Norm & Add" : "Add & Norm"),
  ]);
  return element("div", { class: "sublayer-group" }, [
    element("div", { class: "boxes" }, box, element("span", { class: "arrow", "aria-hidden": "true" }, "→"), add),
    element("div", { class: "adds" }, strip(added, lit, "adds"), isKnown ? lengthLine(length, stream, ratio) : null),
    element("div", { class: "stream-out" }, strip(next, lit, "goes on")),
  ]);
};

const sublayerButton = (block, kind, says, children) =>
  openingButton(block, `sublayer ${kind}`, children, {
    key: `row-${block}`,
    says,
    "aria-current": block === state.block ? "true" : null,
  });

const LONGEST_RATIO = 1.5; // of the bar

/** How long the vector is that a part adds, beside the stream's. */
const lengthLine = (length, stream, ratio) => {
  const number = (text) => element("span", { class: "number" }, text);
  const bar = element("span", {
    class: "length-bar",
    "aria-hidden": "true",
    "--share": Math.min(1, ratio / LONGEST_RATIO).toFixed(4),
    "--whole": (1 / LONGEST_RATIO).toFixed(4),
  });
  const parts = [
    number(length.toFixed(2)),
    " long, ",
    number(`${ratio.toFixed(2)} ×`),
    " the stream’s ",
    number(stream.toFixed(2)),
  ];
  return element("p", { class: "length" }, bar, parts);
};

const PART_SAYS = {
  self_attention: {
    encoder: "every source word looks at every other",
    decoder: "a word looks at itself and at the words before it",
  },
  cross_attention: { decoder: "the target asks, the memory answers" },
  feed_forward: { encoder: "each position by itself", decoder: "each position by itself" },
};

/** How long the vector of a position is. */
const lengthOf = (tensor, position) => {
  const width = tensor.shape.at(-1);
  let squares = 0;
  for (let at = position * width; at < (position + 1) * width; at++) squares += tensor.data[at] ** 2;
  return Math.sqrt(squares);
};

/** A tensor of positions and dimensions as a small picture: a row for each position, the current one marked. */
const strip = (tensor, { at, token, most }, label) => {
  const [rows, columns] = tensor.shape.slice(-2);
  if (tensor.unknown) return element("p", { class: "strip note" }, `${label}: ${NOT_KEPT.toLowerCase()}`);
  const says = `${label}: ${rows} vectors of ${columns} numbers`;
  return element("figure", { class: "strip" }, [
    element("figcaption", {}, label, " ", element("span", { class: "shape" }, `${rows} × ${columns}`)),
    element("div", { class: "strip-field", "--rows": rows, "--at": at }, [
      stripCanvas(tensor.data, rows, columns, most, says),
      element("span", { class: "strip-mark", "aria-hidden": "true" }, words(token)),
    ]),
  ]);
};

/** What the colours of all these strips mean: the same numbers everywhere. */
const stripLegend = (tensor, most) => {
  const shades = Float32Array.from({ length: 21 }, (_, at) => ((at - 10) / 10) * most);
  return element("p", { class: "strip-legend" }, [
    element("span", { class: "number" }, (-most).toFixed(2).replace("-", "−")),
    stripCanvas(shades, 1, shades.length, most, "from the smallest number to the largest"),
    element("span", { class: "number" }, most.toFixed(2)),
    ` in every strip: a row for each position, a column for each of ${tensor.shape.at(-1)} numbers of its vector`,
  ]);
};
