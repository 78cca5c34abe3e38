// The switches: what each takes away shows what it is for. A switch that a page cannot compute says why.

import { button, choiceOf, element, found, redraw, say } from "../base/elements.js";
import { fullTitleOf, isAttention, isResidual, lastCrossOf } from "../runs/parts.js";
import { UNSWITCHED, isSwitched } from "../runs/switches.js";
import { setState, state } from "../view/state.js";
import { cannotShow, current } from "../view/view.js";

const TOGGLES = [
  ["causal", "Causal mask", "a position may look at itself and at what precedes it"],
  ["scale", "Scale ÷ √dₖ", "scores divided by the root of the keys’ dimension"],
  ["residual", "Residual connections", "each part adds to the stream; off: it replaces it"],
];

export const drawSwitches = (run, place) => {
  const { switches } = state;
  const change = (changes) =>
    setState({
      switches: { ...state.switches, ...changes },
      ...(changes.causal === false && !state.block ? { mode: "training" } : {}), // where one sees what leaks
    });
  redraw(place, [
    element("div", { class: "switches-head" }, [
      element("h2", {}, "Switches"),
      button("×", () => foldDock(), {
        class: "close-switches",
        "data-key": "close-switches",
        "aria-label": "Close the switches",
      }),
    ]),
    element("div", { class: "switch-rows" }, [
      TOGGLES.map(([name, title, says]) => onOff(name, title, says, change)),
      paddingChoice(switches, change),
      headChoice(run, switches, change),
      whereChoice(switches, change),
    ]),
    element("div", { class: "switch-end" }, [
      button("Reset all", resetSwitches, {
        class: "reset",
        "data-key": "reset",
        "aria-disabled": isSwitched(switches) ? null : "true", // and not disabled, which would lose the focus
      }),
      button("Compare before and after", () => setState({ beside: state.beside === "before" ? "" : "before" }), {
        "data-key": "switch-beside",
        pressed: state.beside === "before",
        disabled: !isSwitched(switches),
      }),
    ]),
  ]);
};

export const resetSwitches = async () => {
  if (!isSwitched(state.switches)) return;
  say("all switches as the model has them");
  await setState({ switches: UNSWITCHED, beside: state.beside === "before" ? "" : state.beside });
  if (document.activeElement === document.body) found("unfold").focus({ preventScroll: true });
};

const onOff = (name, title, says, change) => {
  const on = state.switches[name];
  const reason = cannotShow(current.base, { ...state.switches, [name]: !on });
  return element("div", { class: "switch" }, [
    button(
      [
        element("span", { class: "track", "aria-hidden": "true" }),
        element("b", {}, title),
        element("span", { class: "state" }, on ? "on" : "off"),
      ],
      () => (reason ? say(reason) : change({ [name]: !on })),
      {
        role: "switch",
        "aria-checked": String(on),
        "data-key": `switch-${name}`,
        "aria-describedby": `says-${name}`,
        "aria-disabled": reason ? "true" : null,
      },
    ),
    element("p", { id: `says-${name}`, class: reason ? "reason" : null }, reason || says),
  ]);
};

const PADDINGS = { none: "none", masked: "masked", unmasked: "not masked" };

const paddingChoice = (switches, change) =>
  switchOf(
    "Padding",
    "two pad tokens after the source",
    Object.entries(PADDINGS).map(([padding, label]) => ({
      label,
      key: `padding-${padding}`,
      chosen: switches.padding === padding,
      reason: cannotShow(current.base, { ...switches, padding }),
      choose: () => change({ padding }),
    })),
  );

/** The heads of the open attention, or of the last cross-attention where none is open. */
const headChoice = (run, switches, change) => {
  const part = isAttention(state.block) ? state.block : lastCrossOf(run);
  const silent = switches.silent[part] ?? [];
  const toggled = (head) =>
    silent.includes(head) ? silent.filter((other) => other !== head) : [...silent, head].sort((a, b) => a - b);
  return switchOf(
    "Heads",
    `of ${fullTitleOf(part)}; off: it adds nothing`,
    Array.from({ length: current.heads }, (_, head) => {
      const next = { ...switches.silent, [part]: toggled(head) };
      return {
        label: [head, element("span", { class: "unseen" }, silent.includes(head) ? " off" : " on")],
        key: `silent-${head}`,
        chosen: !silent.includes(head),
        reason: cannotShow(current.base, { ...switches, silent: next }),
        choose: () => change({ silent: next }),
      };
    }),
  );
};

/** Where mask, scale and residual are switched: everywhere, in the open part alone, for the chosen head alone. */
const whereChoice = (switches, change) => {
  const here = isAttention(state.block) || isResidual(state.block) ? state.block : null;
  const at = switches.where ?? here;
  const head = switches.head ?? state.head;
  const option = (key, label, chosen, wanted) => {
    const reason = cannotShow(current.base, { ...switches, ...wanted });
    return { key, label, chosen, reason, choose: () => change(wanted) };
  };
  const isPart = switches.where !== null && switches.head === null;
  const options = [
    option("where-all", "everywhere", !switches.where, { where: null, head: null }),
    at && option("where-part", fullTitleOf(at), isPart, { where: at, head: null }),
    at &&
      isAttention(at) &&
      option("where-head", `there, head ${head} (mask)`, switches.head !== null, { where: at, head }),
  ];
  const says = at ? "mask, scale and residual" : "open a part to switch there alone";
  return switchOf("Where", says, options.filter(Boolean));
};

/** A row of choices with what they mean under them, or why one of them cannot be had. */
const switchOf = (title, says, choices) => {
  const reason = choices.find((choice) => choice.reason && !choice.chosen)?.reason;
  return element("div", { class: "switch" }, [
    choiceOf(title, element("b", {}, title), choices, { class: "choices" }),
    element("p", { class: reason ? "reason" : null }, reason || says),
  ]);
};

// The fold of the dock

export const foldDock = (unfolded = false) => {
  document.body.classList.toggle("unfolded", unfolded);
  found("switches").hidden = !unfolded;
  found("unfold").setAttribute("aria-expanded", String(unfolded));
  dispatchEvent(new Event("resize")); // what is drawn to the window's width gives way
  (unfolded ? found("switches").querySelector("[role=switch]") : found("unfold")).focus();
};

export const countSwitched = (switches) =>
  [!switches.causal, switches.padding !== "none", !switches.scale, !switches.residual].filter(Boolean).length +
  Object.values(switches.silent).reduce((sum, heads) => sum + heads.length, 0);
