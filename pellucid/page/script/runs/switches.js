// Switches edit a pass, as pellucid/seeing/edits.py does: the model passes each tensor to `see`, and continues with the
// one that `see` returns. A button of panel.js sets `state.switches`; `runSwitched` (view.js) makes a run for each set of
// switches, by `switchedRun`: one pass over the same source and target, without a new search.

import { Matrix } from "../base/matrix.js";
import { attentionsOf, blocksOf, isDecoderSelf, isResidual, sublayerAddedBy } from "./parts.js";

export const UNSWITCHED = {
  causal: true,
  padding: "none",
  scale: true,
  residual: true,
  silent: {},
  where: null,
  head: null,
};

/** Return a `see` for the model that applies the switches. */
export const seeSwitched = (model, switches) => {
  const kept = new Map(); // the tensors of this pass: an edit may replace a later tensor by an earlier one
  return (path, name, axes, value) => {
    const full = `${path}.${name}`;
    kept.set(full, value);
    const withZeros = (isMeantHead) =>
      value.map((head, h) => (isMeantHead(h) ? new Matrix(head.rows, head.columns) : head));
    if (name === "mask" && !switches.causal && isDecoderSelf(path) && isMeant(switches, path)) {
      return withZeros((head) => switches.head === null || switches.head === head);
    }
    if (name === "scaled_scores" && !switches.scale && isMeant(switches, path)) return kept.get(`${path}.scores`);
    if (name === "context" && switches.silent[path]) return withZeros((head) => switches.silent[path].includes(head));
    if (name === "sum" && !switches.residual) {
      const sublayer = sublayerAddedBy(model, path);
      if (isMeant(switches, path) || isMeant(switches, sublayer)) return kept.get(`${sublayer}.output`);
    }
    return value;
  };
};

/** Return whether a switch, which is set for one part of the model or for all parts, applies to this part. */
export const isMeant = ({ where }, path) => where === null || path === where || path.startsWith(`${where}.`);

/** Return the reason why a run cannot be shown with these switches; "" if it can. */
export const cannotSwitch = (run, switches) => {
  const { silent, where, head } = switches;
  const { heads } = run.config;
  const attentions = attentionsOf(run);
  const residuals = blocksOf(run).filter(isResidual);
  const muted = Object.keys(silent).filter((part) => silent[part].length);
  const asked = [...muted, head === null ? attentions[0] : (where ?? "all parts")]; // must be attentions
  const unknown = asked.find((part) => !attentions.includes(part));
  if (unknown !== undefined) return `heads are those of one attention: ${attentions.join(", ")}; not of "${unknown}".`;
  const highest = Math.max(head ?? 0, ...Object.values(silent).flat());
  if (highest >= heads) return `there is no head ${highest}: there are ${heads}, counted from 0.`;
  const owners = {
    causal: ["causal mask", attentions.filter(isDecoderSelf)],
    scale: ["scale", attentions],
    residual: ["residual connection", [...residuals, ...residuals.map((each) => sublayerAddedBy(run.model, each))]],
  };
  for (const [name, [what, having]] of Object.entries(owners))
    if (!switches[name] && !having.some((part) => isMeant(switches, part)))
      return `${where} has no ${what}: ${having[0]} has one.`;
  if (run.computes || !isSwitched(switches)) return "";
  if (run.model.maker)
    return switches.padding === "none" ? "" : "Python explains a sentence alone, without padding: choose none.";
  return (
    "This page holds a recording of a model that is too big for its weights to be in the page, so the page cannot " +
    "compute. In Python, trace(model, edits=…) does this."
  );
};

/** Make the run of the same sentence and target with switches. */
export const switchedRun = async (run, switches) => {
  const reason = cannotSwitch(run, switches);
  if (reason) throw new Error(reason);
  if (!isSwitched(switches) && !isSwitched(run.switches)) return run;
  const switched = await run.model.maker.again(run, run.sentence, switches);
  return { ...switched, name: run.name, unswitched: run };
};

/** Return switches as the edits of `/v1/explain`, which are those of pellucid/seeing/edits.py: parts, with their heads. */
export const editsOf = (run, switches) => {
  const { causal, scale, residual, silent, head } = switches;
  const isHere = (part) => isMeant(switches, part);
  const attentions = attentionsOf(run);
  const all = Array.from({ length: run.config.heads }, (_, each) => each);
  const lifted = causal ? [] : attentions.filter((part) => isDecoderSelf(part) && isHere(part));
  return {
    silence: silent,
    lift_mask: Object.fromEntries(lifted.map((part) => [part, head === null ? all : [head]])),
    without_scale: scale ? [] : attentions.filter(isHere),
    without_residual: residual
      ? []
      : blocksOf(run).filter((part) => isResidual(part) && (isHere(part) || isHere(sublayerAddedBy(run.model, part)))),
  };
};

export const countSwitched = ({ causal, padding, scale, residual, silent }) =>
  [!causal, padding !== "none", !scale, !residual].filter(Boolean).length + Object.values(silent).flat().length;

export const isSwitched = (switches) => countSwitched(switches) > 0;
