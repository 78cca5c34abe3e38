// What is shown: one object, and the address that says the same. Everything on the page is drawn from it.

import { panelOf } from "../base/numbers.js";
import { page } from "../base/page.js";
import { blockOf, blocksOf, isAttention } from "../runs/parts.js";
import { noSuchName } from "../runs/runs.js";
import { UNSWITCHED } from "../runs/switches.js";

export const FIRST_STATE = {
  run: 0, // which of the page's explanations
  text: null, // a sentence of the reader's own, which the page has translated
  to: null,
  target: null, // what it is to become, where the reader says so
  block: "", // "decoder.layers.0" a layer, "decoder.layers.0.self_attention" a part, "" the whole model
  tensor: null,
  head: 0,
  row: null,
  column: null,
  position: 0, // of the target, from 0; addresses and words count steps and positions from 1
  mode: "step", // one position after the other; or "training", all at once
  cached: true,
  switches: UNSWITCHED,
  beside: "", // "other": the page's other explanation; "before": the run without switches; "ways": a step with a cache and without
  open: "", // "tour", "own": a place that has been opened
  stop: null, // of the tour
  form: "", // what the form for one's own matrices holds
  fault: "", // why what was asked for is not shown; no part of the address
};

/** What changes where no matrix is open any more, and where no sentence of the reader's own is. */
export const NO_MATRIX = { tensor: null, row: null, column: null };
export const FIRST_TIME = { mode: "step", position: 0 };
export const NO_SENTENCE = { text: null, to: null, target: null };
export let state = FIRST_STATE;

/** Put another state in its place, without a step in the browser's history and without drawing. */
export const replaceState = (next) => {
  state = next;
};

let draw = async () => {};

/** Say who draws what the state says. */
export const whenChanged = (show) => {
  draw = show;
};

/** Draw what the state says once more. */
export const drawAgain = () => draw();

/** Change what is shown; what was at fault before is over. A new view is a step in the browser's history; moving within one is not. With
 *  `focus` the focus goes along to another level, and {left} says from which block it comes. */
export const setState = (changes, focus = null) => {
  const before = state;
  state = { ...state, fault: "", ...changes };
  const steps = ["run", "text", "to", "target", "block", "tensor", "mode", "switches", "beside", "open", "stop"];
  const address = `${location.pathname}${location.search}${hashOf(state)}`;
  if (hashOf(before) !== hashOf(state) || location.hash !== hashOf(state)) {
    if (steps.some((name) => before[name] !== state[name])) history.pushState(null, "", address);
    else history.replaceState(null, "", address);
  }
  return draw(focus);
};

/** The address of a state: "#decoder.layers.0.self_attention.weights?head=2&cell=2,3&step=3&mask=off". */
export const hashOf = (shown) => {
  const query = [];
  const add = (name, value) =>
    query.push(`${name}=${encodeURIComponent(value).replace(/%2C/g, ",").replace(/%3A/g, ":")}`);
  if (shown.run) add("run", shown.run);
  if (shown.text !== null) add("text", shown.text);
  if (shown.text !== null && shown.to) add("to", shown.to);
  if (shown.text !== null && shown.target !== null) add("target", shown.target);
  if (shown.tensor && blockOf(shown.tensor) !== shown.block) add("in", shown.block);
  if (shown.head) add("head", shown.head);
  if (shown.row !== null) add("cell", `${shown.row},${shown.column ?? 0}`);
  const name = shown.tensor ?? shown.block;
  if (shown.mode !== usualMode(name, shown.switches))
    add(shown.mode === "step" ? "step" : "position", shown.position + 1);
  else if (shown.position) add(shown.mode === "step" ? "step" : "position", shown.position + 1);
  if (!shown.cached) add("cache", "off");
  switchesIntoAddress(shown.switches, add);
  if (shown.beside) add("beside", shown.beside);
  if (shown.open) add("open", shown.open);
  if (shown.stop !== null) add("stop", shown.stop);
  if (shown.form && shown.open === "own") add("form", shown.form);
  return name || query.length ? `#${name}${query.length ? `?${query.join("&")}` : ""}` : "#";
};

/** The page begins with the first step; inside a part, where a first step is one number, with all positions; and so
 *  without the mask, for it is training that leaks. */
const usualMode = (name, { causal }) => (name || !causal ? "training" : "step");

const switchesIntoAddress = (switches, add) => {
  if (!switches.causal) add("mask", "off");
  if (switches.padding !== "none") add("padding", switches.padding);
  if (!switches.scale) add("scale", "off");
  if (!switches.residual) add("residual", "off");
  if (switches.where) add("where", switches.where);
  if (switches.head !== null) add("only", switches.head);
  const silent = Object.entries(switches.silent).filter(([, heads]) => heads.length);
  if (silent.length) add("silent", silent.map(([part, heads]) => `${part}:${heads.join("+")}`).join(","));
};

/** The state that an address asks for; what it does not say is as at first. */
export const stateOf = (hash) => {
  const [name, query = ""] = hash.replace(/^#/, "").split(/\?(.*)/s);
  const asked = new URLSearchParams(query);
  const number = (key, otherwise) => (/^\d+$/.test(asked.get(key) ?? "") ? Number(asked.get(key)) : otherwise);
  const run = page.runs[number("run", 0)] ?? page.runs[0];
  const { missing, ...place } = placeOf(decodedName(name), asked.get("in"), run);
  const [row, column] = /^\d+,\d+$/.test(asked.get("cell") ?? "")
    ? asked.get("cell").split(",").map(Number)
    : [null, null];
  return {
    ...FIRST_STATE,
    ...place,
    fault: missing ? noSuchName(missing, run.names) : "",
    run: page.runs.indexOf(run),
    text: asked.get("text"),
    to: asked.get("to"),
    target: (asked.has("text") && asked.get("target")) || null,
    head: number("head", 0),
    row,
    column,
    mode: asked.has("position") ? "training" : asked.has("step") ? "step" : usualMode(name, switchesOf(asked)),
    position: Math.max(0, number(asked.has("position") ? "position" : "step", 1) - 1),
    cached: asked.get("cache") !== "off",
    switches: ofOpenPart(switchesOf(asked), place.block),
    beside: ["other", "before", "ways"].includes(asked.get("beside")) ? asked.get("beside") : "",
    open: ["tour", "own"].includes(asked.get("open")) ? asked.get("open") : "",
    stop: number("stop", null),
    form: asked.get("form") ?? state.form,
  };
};

/** One head alone is a head of the attention that is open, where the address names no other. */
const ofOpenPart = (switches, block) =>
  switches.head !== null && switches.where === null && isAttention(block) ? { ...switches, where: block } : switches;

const decodedName = (name) => {
  try {
    return decodeURIComponent(name);
  } catch {
    return name;
  }
};

const switchesOf = (asked) => {
  const silent = {};
  for (const part of (asked.get("silent") ?? "").split(",").filter(Boolean)) {
    const [path, heads = ""] = part.split(":");
    silent[path] = heads
      .split(/[+ ]/)
      .filter((head) => /^\d+$/.test(head))
      .map(Number);
  }
  return {
    causal: asked.get("mask") !== "off",
    padding: ["masked", "unmasked"].includes(asked.get("padding")) ? asked.get("padding") : "none",
    scale: asked.get("scale") !== "off",
    residual: asked.get("residual") !== "off",
    silent,
    where: asked.get("where"),
    head: /^\d+$/.test(asked.get("only") ?? "") ? Number(asked.get("only")) : null,
  };
};

/** Where a name of a run leads: a tensor and its block, or a block. */
export const placeOf = (name, block = null, run = page.runs[state.run]) => {
  const blocks = blocksOf(run);
  if (name === "") return { block: "", tensor: null };
  if (run.names.includes(name)) return { block: blocks.includes(block) ? block : blockOf(name), tensor: name };
  if (blocks.includes(name)) return { block: name, tensor: null };
  return { block: "", tensor: null, missing: name };
};

/** Limit the state to what these runs have: an address may ask for a head, a cell or a step that does not exist. */
export const withinRuns = (asked, { whole, run, before, heads }) => {
  const place = placeOf(asked.tensor ?? asked.block, asked.block, whole);
  const { rows, columns } = place.tensor ? panelOf(run.shapes[place.tensor]) : { rows: 0, columns: 0 };
  const within = (number, count) => (number === null ? null : Math.max(0, Math.min(number, count - 1)));
  const { missing, ...shown } = place;
  return {
    ...asked,
    ...shown,
    fault: missing ? noSuchName(missing, whole.names) : asked.fault,
    position: within(asked.position, whole.target.length),
    head: within(asked.head, heads),
    row: place.tensor ? within(asked.row, rows) : null,
    column: place.tensor ? within(asked.column, columns) : null,
    beside: asked.beside === "before" && !before ? "" : asked.beside,
  };
};
