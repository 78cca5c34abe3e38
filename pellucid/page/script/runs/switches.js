// Switches: edits of a pass, as pellucid/seeing/edits.py makes them. The model shows each tensor where it computes it
// and continues with the tensor that it gets back: a switch replaces one tensor, and every later one is computed from it.

import { Matrix } from "../base/matrix.js";
import { isAttention, isDecoderSelf, isResidual, splitName, sublayerAddedBy } from "./parts.js";

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
  const { silent, where, head } = switches;
  const { heads } = run.config;
  const parts = [...new Set(run.names.map((name) => splitName(name).path))];
  const [attentions, residuals] = [parts.filter(isAttention), parts.filter(isResidual)];
  const muted = Object.entries(silent).filter(([, off]) => off.length);
  const unknown = muted.find(([part]) => !attentions.includes(part));
  if (unknown) return `"${unknown[0]}" is no attention of this model. It has ${attentions.join(", ")}.`;
  const tooHigh = [head ?? 0, ...muted.flatMap(([, off]) => off)].find((each) => each >= heads);
  if (tooHigh !== undefined) return `there is no head ${tooHigh}: there are ${heads}, counted from 0.`;
  if (where === null && head !== null)
    return `head ${head} alone is a head of one attention: say of which, such as where=${attentions.at(-1)}.`;
  if (!parts.some((part) => isMeant(switches, part)))
    return `no part of the model is called "${where}". One is "${attentions.at(-1)}".`;
  const added = residuals.map((each) => sublayerAddedBy(run.model, each));
  const owners = {
    causal: ["causal mask: only the decoder's self-attention has one", attentions.filter(isDecoderSelf)],
    scale: ["scale: only an attention has one", attentions],
    residual: ["residual connection: only an Add & Norm and its sublayer have one", [...residuals, ...added]],
  };
  for (const [name, [what, having]] of Object.entries(owners))
    // what a part does not have cannot be off in it
    if (!switches[name] && !having.some((part) => isMeant(switches, part)))
      return `${where} has no ${what}, such as ${having[0]}.`;
  if (run.computes || !isSwitched(switches)) return "";
  return (
    "This page holds a recording of a model that is too big for its weights to be in the page, so the page cannot " +
    "compute. In Python, trace(model, edits=…) does this."
  );
};

export const countSwitched = ({ causal, padding, scale, residual, silent }) =>
  [!causal, padding !== "none", !scale, !residual].filter(Boolean).length + Object.values(silent).flat().length;

export const isSwitched = (switches) => countSwitched(switches) > 0;
