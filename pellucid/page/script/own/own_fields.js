// The fields of the form for one's own matrices: each with its label, what is wrong with it below it, its shape.

import { button, element, withScripts } from "../base/elements.js";
import { UsageError, columnsOf, eachHead, isPerHead, stageNames } from "../runs/worked.js";
import { STARTS } from "./own_state.js";
import { typedMatrix } from "./typed_matrix.js";

const FIELD_WORDS = {
  inputs: ["X", "inputs: a row for each token that asks"],
  memory: ["Y", "memory: a row for each token attended to; leave it empty for self-attention"],
  w_query: ["W<sup>Q</sup>", "weights of the queries, in × out"],
  w_key: ["W<sup>K</sup>", "weights of the keys, in × out"],
  w_value: ["W<sup>V</sup>", "weights of the values, in × out"],
  w_output: ["W<sup>O</sup>", "weights of the output; leave it empty to end at the heads side by side"],
  queries: ["Q", "queries: a row for each token that asks"],
  keys: ["K", "keys: a row for each token attended to"],
  values: ["V", "values: a row for each token attended to; leave it empty to end at the weights"],
  scores: ["Q K<sup>T</sup>", "scores: a row for each token that asks"],
  scaled_scores: ["Q K<sup>T</sup> ÷ √d", "scaled scores"],
  masked_scores: ["+ mask", "masked scores; -inf where masked"],
  weights: ["A", "attention weights"],
};

const STAGE_SYMBOLS = {
  queries: "Q",
  keys: "K",
  values: "V",
  scores: "Q K<sup>T</sup>",
  scaled_scores: "÷ √d",
  mask: "mask",
  masked_scores: "+ mask",
  weights: "softmax",
  context: "· V",
  concatenated: "heads side by side",
  output: "· W<sup>O</sup>",
};

const MATRIX_NOTE =
  "A row on each line, numbers apart by spaces, decimals after a point; or paste from a spreadsheet. Write … for what " +
  "is not known. Several heads: an empty line between their matrices.";

/** A labelled field: a textarea or an input. `place` is the name that errors know it by. */
const ownField = ({ place, symbol = "", title, value, rows = 0, hint = "", change }) => {
  const id = `own-${place.replace(".", "-")}`;
  const input = element(rows ? "textarea" : "input", {
    id,
    "data-place": place,
    "data-key": id,
    spellcheck: "false",
    autocomplete: "off",
    autocapitalize: "off",
    ...(rows ? { class: "own-matrix", wrap: "off" } : { class: "own-line", type: "text" }),
    "aria-describedby": `${id}-error ${id}-hint`,
    input: () => {
      if (rows) input.rows = rowsFor(input.value, rows);
      change(input.value);
    },
  });
  input.value = value;
  if (rows) input.rows = rowsFor(value, rows);
  const label = symbol ? [element("b", {}, withScripts(symbol)), " ", title] : title;
  return element(
    "div",
    { class: `own-field${rows ? " wide" : ""}`, "data-field": place },
    element("label", { for: id }, label),
    element("output", { class: "own-size", for: id }),
    input,
    element("p", { class: "own-hint", id: `${id}-hint` }, hint),
    element("p", { class: "own-error", id: `${id}-error` }),
  );
};

const rowsFor = (text, least) => Math.min(16, Math.max(least, text.split("\n").length));

/** One of several, as buttons that are pressed or not. */
const ownChoice = (title, choices, chosen, choose) => {
  const properties = { class: "own-choice", role: "group", "aria-label": title };
  const buttons = choices.map(([value, text]) =>
    button(text, () => choose(value), {
      type: "button",
      pressed: value === chosen,
      "data-key": `own-${title}-${value}`,
    }),
  );
  return element("div", properties, element("span", { class: "label" }, title), buttons);
};

const fieldset = (legend, ...children) => element("fieldset", {}, element("legend", {}, legend), children);

/** The whole form. `change(changes, again)` tells what was changed, and whether it has to be drawn again. */
export const ownFields = (form, change) => {
  const starts = Object.entries(STARTS).map(([value, { title }]) => [value, title]);
  return [
    ownChoice("Start from", starts, form.start, (start) => change({ start }, true)),
    fieldset("Matrices", element("p", { class: "own-note" }, MATRIX_NOTE), ownMatrices(form, change)),
    fieldset("Settings", ownSettings(form, change)),
    fieldset("What a slide or homework claims", ownClaims(form, change)),
  ];
};

/** A field for each matrix; where any may be given, those that are empty are folded away. */
const ownMatrices = (form, change) => {
  const field = (name) => {
    const [symbol, title] = FIELD_WORDS[name];
    const type = (text) => change({ texts: { [name]: text } });
    return ownField({ place: name, symbol, title, value: form.texts[name] ?? "", rows: 2, change: type });
  };
  const { fields } = STARTS[form.start];
  const empty = form.start === "anything" ? fields.filter((name) => !form.texts[name]?.trim()) : [];
  const summary = element("summary", {}, "Other matrices");
  const rest = element(
    "details",
    { class: "own-rest", open: empty.length === fields.length },
    summary,
    empty.map(field),
  );
  return [...fields.filter((name) => !empty.includes(name)).map(field), empty.length ? rest : null];
};

const ownSettings = (form, change) => {
  const line = (key, place, title, hint = "", rows = 0) =>
    ownField({ place, title, value: form[key], hint, rows, change: (text) => change({ [key]: text }) });
  const masks = [
    ["none", "none"],
    ["causal", "causal"],
    ["own", "my own"],
  ];
  const scales = [
    ["sqrt_dk", "√d_k"],
    ["sqrt_dmodel", "√d_model"],
    ["none", "nothing"],
    ["number", "a number"],
  ];
  return [
    ownChoice("Mask", masks, form.mask, (mask) => change({ mask }, true)),
    form.mask === "own"
      ? line("maskText", "mask", "the mask: 0 where a query may look, -inf where not; or true and false", "", 2)
      : null,
    ownChoice("Scores divided by", scales, form.scale, (scale) => change({ scale }, true)),
    form.scale === "number"
      ? line("divisor", "scale", "the number that divides")
      : element("p", { class: "own-error", id: "own-scale-error", "data-place": "scale" }),
    line("heads", "heads", "heads", "Empty: as many as matrices are given, else 1."),
    line("tokens", "tokens", "tokens that ask", "Words apart by spaces, one for each row."),
    line("memoryTokens", "memory_tokens", "tokens attended to", "Empty in self-attention: the same words."),
  ];
};

/** A field for each stage that somebody claims something about. */
const ownClaims = (form, change) => {
  const claimed = stageNames().filter((name) => form.claimed.includes(name));
  const fields = claimed.map((name) => {
    const [symbol, title] = [STAGE_SYMBOLS[name], `claimed ${name.replaceAll("_", " ")}`];
    const type = (text) => change({ claims: { [name]: text } });
    return ownField({ place: `claims.${name}`, symbol, title, value: form.claims[name] ?? "", rows: 2, change: type });
  });
  const digits = ownField({
    place: "decimals",
    title: "digits of claimed whole numbers",
    value: form.decimals,
    hint: "Empty: whole numbers may be claimed where they are exact. With 0, a claimed 1 is anything from 0.5 to 1.5.",
    change: (decimals) => change({ decimals }),
  });
  const note = "Choose the stages, and type their numbers as they are written: 0.40 means two digits.";
  return [
    element("p", { class: "own-note" }, note),
    claimedStages(form, change),
    fields,
    claimed.length ? digits : null,
  ];
};

/** A button for each stage, pressed where something is claimed about it. */
const claimedStages = ({ claimed }, change) => {
  const buttons = stageNames().map((name) => {
    const isPressed = claimed.includes(name);
    const toggled = isPressed ? claimed.filter((each) => each !== name) : [...claimed, name];
    return button(withScripts(STAGE_SYMBOLS[name]), () => change({ claimed: toggled }, true), {
      type: "button",
      pressed: isPressed,
      "data-key": `own-claim-${name}`,
      title: name,
      "aria-label": name.replaceAll("_", " "),
    });
  });
  return element("div", { class: "own-choice", role: "group", "aria-label": "stages with claims" }, buttons);
};

/** Says at a field what is wrong with it; without an error, takes what was said away. */
export const showFieldError = (place, error) => {
  for (const shown of place.querySelectorAll(".own-fields .own-error")) shown.textContent = "";
  for (const field of place.querySelectorAll("[aria-invalid]")) field.removeAttribute("aria-invalid");
  if (!error?.place) return null;
  const id = `own-${error.place.replace(".", "-")}`;
  const below = place.querySelector(`[id="${id}-error"]`);
  place.querySelector(`[id="${id}"]`)?.setAttribute("aria-invalid", "true");
  if (below) below.textContent = error.message;
  return below;
};

/** The shape of each matrix beside its label, as far as it can be read. */
export const showFieldSizes = (place) => {
  for (const field of place.querySelectorAll(".own-field.wide")) {
    const shown = field.querySelector(".own-size");
    shown.textContent = "";
    try {
      const matrix = typedMatrix(field.querySelector("textarea").value, field.dataset.field);
      const heads = matrix && isPerHead(matrix) ? [matrix.length] : [];
      const [one] = matrix ? eachHead(matrix) : [null];
      if (one) shown.textContent = [...heads, one.length, columnsOf(one)].join(" × ");
    } catch (error) {
      if (!(error instanceof UsageError)) throw error; // its own line below the field says what is wrong
    }
  }
};
