// Switches: edits of a pass, as pellucid/seeing/edits.py makes them. The model shows each tensor where it computes it
// and continues with the tensor that it gets back: a switch replaces one tensor, and every later one is computed from it.

import { Matrix } from "../base/matrix.js";
import { isDecoderSelf, sublayerAddedBy } from "./parts.js";

export const UNSWITCHED = {
  causal: true,
  padding: "none",
  scale: true,
  residual: true,
  silent: {},
  where: null,
  head: null,
};

/** A `see` for the model with which the switches take effect. */
export const seeSwitched = (model, switches) => {
  const kept = new Map(); // tensors of this pass that a later edit puts in another's place
  return (path, name, axes, value) => {
    const full = `${path}.${name}`;
    kept.set(full, value);
    if (name === "mask" && !switches.causal && isDecoderSelf(path) && isMeant(switches, path)) {
      return value.map((head, h) => (switches.head === null || switches.head === h ? zerosOf(head) : head));
    }
    if (name === "scaled_scores" && !switches.scale && isMeant(switches, path)) return kept.get(`${path}.scores`);
    if (name === "context" && switches.silent[path]?.length) {
      return value.map((head, h) => (switches.silent[path].includes(h) ? zerosOf(head) : head));
    }
    if (name === "sum" && !switches.residual) {
      const sublayer = sublayerAddedBy(model, path);
      if (isMeant(switches, path) || isMeant(switches, sublayer)) return kept.get(`${sublayer}.output`);
    }
    return value;
  };
};

const zerosOf = ({ rows, columns }) => new Matrix(rows, columns);

/** Whether a switch that holds for one part (or for all parts) holds for this one. */
export const isMeant = ({ where }, path) => where === null || path === where || path.startsWith(`${where}.`);

/** Why a run cannot be shown with these switches; "" if it can. */
export const cannotSwitch = (run, switches) => {
  const fault = faultOfSwitches(run, switches);
  if (fault || run.computes || !isSwitched(switches)) return fault;
  return (
    "This page holds a recording of a model that is too big for its weights to be in the page, so the page cannot " +
    "compute. In Python, trace(model, edits=…) does this."
  );
};

const faultOfSwitches = (run, switches) => {
  const { heads } = run.config;
  const parts = [...new Set(run.names.map((name) => name.slice(0, name.lastIndexOf("."))))];
  const attentions = parts.filter((part) => part.endsWith("_attention"));
  for (const [part, silent] of Object.entries(switches.silent)) {
    if (silent.length && !attentions.includes(part)) {
      return `"${part}" is no attention of this model. It has ${attentions.join(", ")}.`;
    }
    const wrong = silent.find((head) => !(head >= 0 && head < heads));
    if (wrong !== undefined) return `${part} has no head ${wrong}: there are ${heads}, counted from 0.`;
  }
  if (switches.where !== null && !parts.some((part) => isMeant(switches, part))) {
    return `no part of the model is called "${switches.where}". One is "${attentions.at(-1)}".`;
  }
  if (switches.head !== null && !(switches.head >= 0 && switches.head < heads)) {
    return `there is no head ${switches.head}: there are ${heads}, counted from 0.`;
  }
  if (switches.head !== null && switches.where === null) {
    return `head ${switches.head} alone is a head of one attention: say of which, such as where=${attentions.at(-1)}.`;
  }
  return faultOfPlace(run.model, switches, parts, attentions);
};

/** Why a switch cannot be off in one part: the part does not have what would be switched. */
const faultOfPlace = (model, switches, parts, attentions) => {
  const residuals = parts.filter((part) => /\.residual_\d$/.test(part));
  const owners = {
    causal: ["causal mask: only the decoder's self-attention has one", attentions.filter(isDecoderSelf)],
    scale: ["scale: only an attention has one", attentions],
    residual: [
      "residual connection: only an Add & Norm and its sublayer have one",
      [...residuals, ...residuals.map((each) => sublayerAddedBy(model, each))],
    ],
  };
  for (const [name, [what, having]] of Object.entries(owners)) {
    if (switches[name] || having.some((part) => isMeant(switches, part))) continue;
    return `${switches.where} has no ${what}, such as ${having[0]}.`;
  }
  return "";
};

export const isSwitched = (switches) =>
  !switches.causal ||
  switches.padding !== "none" ||
  !switches.scale ||
  !switches.residual ||
  Object.values(switches.silent).some((heads) => heads.length > 0);
