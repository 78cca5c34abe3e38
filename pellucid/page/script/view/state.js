// The state of the view: one object, and an address with the same content. The whole page is drawn from this state.

import { panelOf } from "../base/numbers.js";
import { page } from "../base/page.js";
import { tensorsIn } from "../runs/lineage.js";
import { blockOf, blocksOf, isAttention } from "../runs/parts.js";
import { noSuchName } from "../runs/runs.js";
import { runUntil } from "../runs/stepping.js";
import { UNSWITCHED } from "../runs/switches.js";

const FIRST_STATE = {
  run: 0, // the number of one of the page's explanations
  text: null, // a sentence that the reader has typed
  to: null, // the language to translate it to
  target: null, // a translation of it that the reader has typed
  second: null, // another sentence that the reader has typed, to stand beside it
  block: "", // "decoder.layers.0" (a layer), "decoder.layers.0.self_attention" (a part), "" (the whole model)
  tensor: null,
  head: 0,
  row: null,
  column: null,
  why: "input", // the reading of the ledger: "input", "part" or "position"
  against: null, // the word whose logit it subtracts
  corrupted: null, // the source position, from 0, whose causal map is shown instead of the ledger
  position: 0, // in the target, from 0; addresses and texts count steps and positions from 1
  mode: "step", // "step": one position after another; "training": all positions at once
  cached: true,
  switches: UNSWITCHED,
  beside: "", // shown beside the run: "other" (the page's other explanation) or "before" (the run without switches)
  open: "", // "tour" or "own" (the form for the reader's own matrices), if it is open
  stop: null, // the number of a stop of the tour
  look: "", // "lecture" or "embed": for a projector, or for a frame in another page
  form: "", // the content of the form for the reader's own matrices
  fault: "", // the reason why the requested view cannot be shown; it is not in the address
};

/** Changes of the state: close a matrix, go to the first step, leave the reader's sentence, close everything. */
export const NO_MATRIX = { tensor: null, row: null, column: null };
export const FIRST_TIME = { mode: "step", position: 0 };
export const NO_SENTENCE = { text: null, to: null, target: null, second: null };
export const CLOSED = { block: "", ...NO_MATRIX };
export let state = FIRST_STATE;

/** Replace the state without drawing it, and without a new entry in the browser's history. */
export const replaceState = (next) => (state = next);

let draw = async () => {};

/** Set the function that draws the state. */
export const whenSet = (show) => (draw = show);

/** Change the state and draw it; an earlier fault is cleared. A new view becomes an entry in the browser's history, a
 *  move within a view does not. With `focus`, the focus moves to the new level; focus.left is the earlier block. */
export const setState = (changes, focus = null) => {
  const before = state;
  state = { ...state, fault: "", ...changes };
  writeAddress(NEW_VIEW.some((name) => before[name] !== state[name]) ? "pushState" : "replaceState");
  return draw(focus);
};

/** Return a choice, for `choiceOf`, that changes the state. */
export const choiceTo = (key, label, chosen, changes) => ({ key, label, chosen, choose: () => setState(changes) });

const NEW_VIEW = "run text to target block tensor mode switches beside open stop".split(" ");

/** Write the state to the address, as a new entry of the browser's history ("pushState") or instead of the last. */
export const writeAddress = (how = "replaceState") => {
  const hash = hashOf(state);
  const address = location.href.replace(/#.*|$/, () => hash);
  if ((location.hash || "#") !== hash) history[how](null, "", address);
};

let resting = null;
const RESTING = 120; // milliseconds without a move, after which a walk is over

/** Move from cell to cell: the state changes at once; the address and the rest of the page change after a pause. */
export const walkTo = (changes) => {
  state = { ...state, ...changes };
  clearTimeout(resting);
  resting = setTimeout(() => setState({}), RESTING);
};

/** Return the address of a state: "#decoder.layers.0.self_attention.weights?head=2&cell=2,3&step=3&mask=off". */
export const hashOf = (shown) => {
  const { text, block, tensor, row, column, mode, position, switches } = shown;
  const name = tensor ?? block;
  const silent = Object.entries(switches.silent).filter(([, heads]) => heads.length);
  const fields = {
    run: shown.run || null,
    text,
    to: text === null ? null : shown.to,
    target: text === null ? null : shown.target,
    second: shown.beside === "other" ? shown.second : null,
    in: tensor && blockOf(tensor) !== block ? block : null,
    head: shown.head || null,
    cell: row === null ? null : `${row},${column ?? 0}`,
    [mode === "step" ? "step" : "position"]: position || mode !== usualMode(name) ? position + 1 : null,
    why: shown.why === "input" ? null : shown.why,
    less: shown.against,
    map: shown.corrupted === null ? null : shown.corrupted + 1,
    cache: shown.cached ? null : "off",
    mask: switches.causal ? null : "off",
    padding: switches.padding === "none" ? null : switches.padding,
    scale: switches.scale ? null : "off",
    residual: switches.residual ? null : "off",
    where: switches.where,
    only: switches.head,
    silent: silent.map(([part, heads]) => `${part}:${heads.join("+")}`).join(",") || null,
    beside: shown.beside || null,
    open: shown.open || null,
    stop: shown.stop,
    [shown.look]: shown.look ? 1 : null,
    form: (shown.open === "own" && shown.form) || null,
  };
  const readable = (value) => encodeURIComponent(value).replace(/%2C/g, ",").replace(/%3A/g, ":");
  const query = Object.entries(fields).filter(([, value]) => value !== null);
  return `#${name}${query.length ? "?" : ""}${query.map(([key, value]) => `${key}=${readable(value)}`).join("&")}`;
};

/** Return the default mode: steps for the whole model; all positions for a part, whose first step has only one row. */
const usualMode = (name) => (name ? "training" : "step");

/** Return the state of an address; a missing field has its initial value. */
export const stateOf = (hash) => {
  const asked = new URLSearchParams(`name=${hash.replace(/^#/, "").replace("?", "&")}`);
  const number = (key, otherwise = null) => (/^\d+$/.test(asked.get(key) ?? "") ? Number(asked.get(key)) : otherwise);
  const oneOf = (key, values, otherwise = "") => (values.includes(asked.get(key)) ? asked.get(key) : otherwise);
  const name = asked.get("name");
  const at = Math.min(number("run", 0), page.runs.length - 1);
  const run = page.runs[at] ?? page.runs[0]; // a frame of a movie that is not open yet has the same parts
  const place = placeOf(name, asked.get("in"), run);
  const [, row = null, column = null] = (/^(\d+),(\d+)$/.exec(asked.get("cell")) ?? []).map(Number);
  const only = number("only");
  const switches = {
    causal: asked.get("mask") !== "off",
    padding: oneOf("padding", ["masked", "unmasked"], "none"),
    scale: asked.get("scale") !== "off",
    residual: asked.get("residual") !== "off",
    silent: silentHeads(asked.get("silent") ?? ""),
    // A single head belongs to the open attention, unless the address names another one.
    where: asked.get("where") ?? (only !== null && isAttention(place.block) ? place.block : null),
    head: only,
  };
  const training = asked.has("position");
  return {
    ...FIRST_STATE,
    ...place,
    run: at,
    text: asked.get("text"),
    to: asked.get("to"),
    target: (asked.has("text") && asked.get("target")) || null,
    second: asked.get("second") || null,
    head: number("head", 0),
    row,
    column,
    mode: training ? "training" : asked.has("step") ? "step" : usualMode(name),
    position: Math.max(0, number(training ? "position" : "step", 1) - 1),
    why: oneOf("why", ["input", "part", "position"], "input"),
    against: asked.get("less"),
    corrupted: asked.has("map") ? Math.max(0, number("map", 1) - 1) : null,
    cached: asked.get("cache") !== "off",
    switches,
    beside: oneOf("beside", ["other", "before"]),
    open: oneOf("open", ["tour", "own"]),
    stop: number("stop"),
    look: ["lecture", "embed"].find((look) => asked.has(look)) ?? "",
    form: asked.get("form") ?? state.form,
  };
};

/** Read the silent heads of each part from "part:0+2,other:1". */
const silentHeads = (text) => {
  const parts = text.matchAll(/([^,:]+):([\d+ ]+)/g);
  return Object.fromEntries([...parts].map(([, path, heads]) => [path, (heads.match(/\d+/g) ?? []).map(Number)]));
};

/** Look a name up in a run: return {block, tensor}; if the name is unknown, with the reason as `fault`. */
export const placeOf = (name, block = null, run = page.runs[state.run]) => {
  const blocks = blocksOf(run);
  if (name === "") return { block: "", tensor: null };
  if (run.names.includes(name))
    return { block: tensorsIn(run, block).includes(name) ? block : blockOf(name), tensor: name };
  if (blocks.includes(name)) return { block: name, tensor: null };
  return { block: "", tensor: null, fault: noSuchName(name, run.names) };
};

/** Limit the state to these runs, because an address can ask for a head, a cell or a step that does not exist. */
export const withinRuns = (asked, { base, whole, run, before, heads }) => {
  const place = placeOf(asked.tensor ?? asked.block, asked.block, whole);
  const within = (number, count) => (number === null ? null : Math.max(0, Math.min(number, count - 1)));
  const position = within(asked.position, whole.target.length);
  const { shapes } = asked.mode === "step" ? runUntil(run, position + 1) : run;
  const { rows, columns } = place.tensor ? panelOf(shapes[place.tensor]) : { rows: 0, columns: 0 };
  return {
    ...asked,
    ...place,
    position,
    against: isOther(asked.against, whole, position) ? asked.against : null,
    corrupted: place.block === "decoder.word" ? within(asked.corrupted, base.source.length) : null,
    head: within(asked.head, heads),
    row: place.tensor ? within(asked.row, rows) : null,
    column: place.tensor ? within(asked.column, columns) : null,
    beside: asked.beside === "before" && !before ? "" : asked.beside,
  };
};

/** Return whether a ledger can subtract this token: the model has it, and it is not the expected one. */
const isOther = (token, { expected, model }, position) =>
  token !== null && token !== expected[position] && Boolean(model.vocabulary?.tokens.target.includes(token));

/** Return whether a position exists: in step mode, later positions do not exist yet. */
export const isReached = (place) => state.mode === "training" || place <= state.position;
