// The panel of switches: removing a part of the model shows its purpose. A switch that cannot be computed says why.

import { button, choiceButton, choiceOf, element, found, redraw, say } from "../base/elements.js";
import { fullTitleOf, isAttention, isResidual, lastCrossOf } from "../runs/parts.js";
import { UNSWITCHED, cannotSwitch } from "../runs/switches.js";
import { setState, state } from "../view/state.js";
import { current } from "../view/view.js";

const TOGGLES = {
  causal: ["Causal mask", "a position may look at itself and at what precedes it"],
  scale: ["Scale ÷ √dₖ", "scores divided by the root of the keys’ dimension"],
  residual: ["Residual connections", "each part adds to the stream; off: it replaces it"],
  cached: ["Cache", "at a step, keys and values of earlier rows are remembered"],
};

export const startSwitches = () => {
  found("unfold").addEventListener("click", () => foldDock(found("switches").hidden));
  found("close-switches").addEventListener("click", () => foldDock());
};

/** Draw the switches in their current state; the panel stays open or closed. */
export const drawSwitches = (run) =>
  redraw(found("switch-rows"), Object.keys(TOGGLES).map(toggle), paddingChoice(), headChoice(run), whereChoice());

/** Show another run beside the current one, or hide it. If no part is open, scroll to the comparison below. */
export const compare = async (beside, changes = {}) => {
  await setState({ beside, ...changes });
  if (beside && !state.block) found("beside").scrollIntoView({ block: "nearest" });
};

/** Make a button that shows the run without switches beside the current run. */
export const compareButton = () => {
  const isBeside = state.beside === "before";
  const properties = { "data-key": "effect-beside", pressed: isBeside };
  return button("Compare before and after", () => compare(isBeside ? "" : "before"), properties);
};

/** Return a choice that changes the switches, with the reason if it is not possible. */
const option = (key, label, chosen, changes) => ({
  key,
  label,
  chosen,
  reason: cannotSwitch(current.base, { ...state.switches, ...changes }),
  choose: () => setState({ switches: { ...state.switches, ...changes }, ...timeFor(changes) }),
});

/** Without the causal mask, show all positions at once: at a step there are no later words that could leak. */
const timeFor = ({ causal = true }) => (causal ? {} : { mode: "training" });

export const resetSwitches = async () => {
  say("all switches as the model has them");
  await setState({ switches: UNSWITCHED, beside: state.beside === "before" ? "" : state.beside });
  if (document.activeElement === document.body) found("unfold").focus({ preventScroll: true });
};

/** Make a switch for a part of the model or for the cache. Without steps, the cache switch is not available. */
const toggle = (name) => {
  const { cached, mode, switches } = state;
  const reason = mode === "step" ? "" : "Choose a step: all positions at once need no cache.";
  const cache = { key: name, chosen: cached, reason, choose: () => setState({ cached: !cached }) };
  const choice = name === "cached" ? cache : option(`switch-${name}`, "", switches[name], { [name]: !switches[name] });
  const [title, says] = TOGGLES[name];
  const label = [element("span.track"), element("strong", title), element("span.state", choice.chosen ? "on" : "off")];
  const place = choiceButton({ ...choice, label, chosen: null });
  Object.assign(place, { role: "switch", ariaChecked: String(choice.chosen), ariaDescription: says });
  return element("div.switch", place, sayings(choice.reason, says));
};

/** Show the meaning of a switch, or the reason why it is not available. */
const sayings = (reason, says) => element("p", { class: reason && "reason" }, reason || says);

const PADDINGS = { none: "none", masked: "masked", unmasked: "not masked" };

const paddingChoice = () => {
  const choices = Object.entries(PADDINGS).map(([padding, label]) =>
    option(`padding-${padding}`, label, state.switches.padding === padding, { padding }),
  );
  return switchOf("Padding", "two pad tokens after the source", choices);
};

/** Make switches for the heads of the open attention, or of the last cross-attention if none is open. */
const headChoice = (run) => {
  const part = isAttention(state.block) ? state.block : lastCrossOf(run);
  const off = () => state.switches.silent[part] ?? []; // now: another head may be clicked before this is drawn again
  const heads = Array.from({ length: current.heads }, (_, head) => {
    const isOff = off().includes(head);
    const others = () => (off().includes(head) ? off().filter((each) => each !== head) : [...off(), head]);
    const after = () => ({ ...state.switches.silent, [part]: others().sort((a, b) => a - b) });
    const label = [head, element("span.unseen", isOff ? " off" : " on")];
    const choose = () => setState({ switches: { ...state.switches, silent: after() } });
    return { ...option(`silent-${head}`, label, !isOff, { silent: after() }), choose };
  });
  return switchOf("Heads", `of ${fullTitleOf(part)}; off: it adds nothing`, heads);
};

/** Choose where the switches apply: everywhere, only in the open part, or only for the chosen head. */
const whereChoice = () => {
  const { where, head } = state.switches;
  const at = where ?? (isAttention(state.block) || isResidual(state.block) ? state.block : null);
  const only = head ?? state.head;
  const options = [option("where-all", "everywhere", !where, { where: null, head: null })];
  if (at) options.push(option("where-part", fullTitleOf(at), where && head === null, { where: at, head: null }));
  if (at && isAttention(at))
    options.push(option("where-head", `there, head ${only} (mask)`, head !== null, { where: at, head: only }));
  return switchOf("Where", at ? "mask, scale and residual" : "open a part to switch there alone", options);
};

/** Make a row of choices. */
const switchOf = (title, says, choices) => {
  const reason = choices.find((choice) => choice.reason && !choice.chosen)?.reason;
  const heading = element("b", title);
  return element("div.switch", choiceOf(title, heading, choices, { class: "choices" }), sayings(reason, says));
};

// The dock, which can be folded

export const foldDock = (unfolded = false) => {
  document.body.classList.toggle("unfolded", unfolded);
  found("switches").hidden = !unfolded;
  found("unfold").setAttribute("aria-expanded", String(unfolded));
  dispatchEvent(new Event("resize")); // drawings must fit again
  (unfolded ? found("switches").querySelector("[role=switch]") : found("unfold")).focus();
};
