// The fields of the form for one's own matrices: each with its label, what is wrong with it below it, its shape.

import { button, element, withScripts } from "../base/elements.js";
import { page } from "../base/page.js";
import { captionOfTensor } from "../runs/runs.js";
import { claimedStages, settingsOfStart, stagesOfStart, startsOfForm } from "./form.js";
import { UsageError, eachHead, typedMatrix } from "./typed_matrix.js";

const NOTE =
  "A row on each line, numbers apart by spaces, decimals after a point; or paste from a spreadsheet. Write … for what " +
  "is not known. Several heads: an empty line between their matrices.";
const CLAIM_NOTE = "Choose the stages, and type their numbers as they are written: 0.40 means two digits.";

// Settings that are typed: their titles, hints and least rows.
const TYPED = {
  mask: ["the mask: 0 where a query may look, -inf where not; or true and false", "", 2],
  scale: ["the number that divides"],
  heads: ["heads", "Empty: as many as matrices are given, else 1."],
  tokens: ["tokens", "Words apart by spaces, one for each row."],
  memory_tokens: ["tokens attended to", "Empty in self-attention: the same words."],
  vocabulary: [
    "words in the vocabulary",
    "Empty: as many as W has rows. Else only the rows of these tokens are given.",
  ],
  decimals: [
    "digits of claimed whole numbers",
    "Empty: whole numbers may be claimed where they are exact. With 0, a claimed 1 is anything from 0.5 to 1.5.",
  ],
};

// Settings that are chosen: the key of the form, their heading, and the choices.
const CHOICES = {
  mask: ["masking", "Mask", { none: "none", causal: "causal", own: "my own" }],
  scale: [
    "scaling",
    "Scores divided by",
    { sqrt_dk: "√d_k", sqrt_dmodel: "√d_model", none: "nothing", number: "a number" },
  ],
  scaled: ["scaled", "Embeddings times √d", { false: "no", true: "yes" }],
};

/** The whole form. `change(changes, again)` tells what was changed, and whether it has to be drawn again. */
export const ownFields = (form, change) => {
  const field = (place, symbol, title, hint = "", rows = 0) =>
    ownField({
      place,
      symbol,
      title,
      hint,
      rows,
      value: form[place] ?? "",
      change: (text) => change({ [place]: text }),
    });
  const line = (place) => field(place, "", ...TYPED[place]);
  const choice = (key, title, choices) =>
    ownChoice(title, choices, form[key], (chosen) => change({ [key]: chosen }, true));
  const matrix = (name) => field(name, ...page.header.own.fields[name], "", 2);
  const setting = (name) => [CHOICES[name] && choice(...CHOICES[name]), ownSetting(form, name, line)];
  const starts = Object.entries(startsOfForm()).map(([start, { title }]) => [start, title]);
  const claimed = claimedStages(form);
  const claim = (name) => field(`claims.${name}`, captionOfTensor(name).symbol, `claimed ${inWords(name)}`, "", 2);
  return [
    choice("start", "Start from", Object.fromEntries(starts)),
    fieldset("Matrices", NOTE, ownMatrices(form, matrix)),
    fieldset("Settings", "", settingsOfStart(form.start).map(setting)),
    fieldset("What a slide or homework claims", CLAIM_NOTE, [
      stageChoice(form, claimed, change),
      claimed.map(claim),
      claimed.length ? line("decimals") : null,
    ]),
  ];
};

const fieldset = (legend, note, fields) =>
  element("fieldset", {}, element("legend", {}, legend), note && element("p", { class: "own-note" }, note), fields);

/** A field for each matrix; where any may be given, those that are empty are folded away. */
const ownMatrices = ({ start, ...texts }, matrix) => {
  const { fields } = startsOfForm()[start];
  const empty = start === "anything" ? fields.filter((name) => !texts[name]?.trim()) : [];
  const summary = element("summary", {}, "Other matrices");
  const rest = element("details", { class: "own-rest" }, summary, empty.map(matrix));
  rest.open = empty.length === fields.length;
  return [fields.filter((name) => !empty.includes(name)).map(matrix), empty.length ? rest : null];
};

/** The field of a setting, where it is typed; where it is chosen, the place of what is wrong with it. */
const ownSetting = ({ masking, scaling }, name, line) => {
  const isChosen = { mask: masking !== "own", scale: scaling !== "number", scaled: true }[name];
  return isChosen ? element("p", { class: "own-error", id: `own-${name}-error` }) : line(name);
};

/** A labelled field: a textarea or an input. `place` is the name that errors know it by. */
const ownField = ({ place, symbol, title, value, rows, hint, change }) => {
  const id = `own-${place.replaceAll(".", "-")}`;
  const typed = () => {
    fitToText();
    change(input.value);
  };
  const input = element(rows ? "textarea" : "input", {
    id,
    "data-place": place,
    "data-key": id,
    spellcheck: "false",
    autocomplete: "off",
    autocapitalize: "off",
    ...(rows ? { class: "own-matrix", wrap: "off" } : { class: "own-line", type: "text" }),
    "aria-describedby": `${id}-error ${id}-hint`,
    input: typed,
  });
  input.value = value;
  const size = element("output", { class: "own-size", for: id });
  const fitToText = () => {
    if (!rows) return;
    input.rows = Math.min(16, Math.max(rows, input.value.split("\n").length));
    size.textContent = sizeOfText(input.value, place);
  };
  fitToText();
  const label = symbol ? [element("b", {}, withScripts(symbol)), " ", title] : title;
  return element("div", { class: `own-field${rows ? " wide" : ""}` }, [
    element("label", { for: id }, label),
    size,
    input,
    element("p", { class: "own-hint", id: `${id}-hint` }, hint),
    element("p", { class: "own-error", id: `${id}-error` }),
  ]);
};

/** One of several, as buttons that are pressed or not. */
const ownChoice = (title, choices, chosen, choose) => {
  const buttons = Object.entries(choices).map(([value, text]) =>
    button(text, () => choose(value), {
      type: "button",
      pressed: value === chosen,
      "data-key": `own-${title}-${value}`,
    }),
  );
  const properties = { class: "own-choice", role: "group", "aria-label": title };
  return element("div", properties, element("span", { class: "label" }, title), buttons);
};

const inWords = (name) => name.replaceAll(/[._]/g, " ");

/** A button for each stage, pressed where something is claimed about it. */
const stageChoice = ({ start }, claimed, change) => {
  const buttons = stagesOfStart(start).map((name) => {
    const pressed = claimed.includes(name);
    const toggled = pressed ? claimed.filter((each) => each !== name) : [...claimed, name];
    return button(withScripts(captionOfTensor(name).symbol), () => change({ claimed: toggled.join(" ") }, true), {
      type: "button",
      pressed,
      "data-key": `own-claim-${name}`,
      title: inWords(name),
      "aria-label": inWords(name),
    });
  });
  return element("div", { class: "own-choice", role: "group", "aria-label": "stages with claims" }, buttons);
};

/** Says at a field what is wrong with it; without an error, takes what was said away. */
export const showFieldError = (place, error) => {
  for (const shown of place.querySelectorAll(".own-fields .own-error")) shown.textContent = "";
  for (const field of place.querySelectorAll("[aria-invalid]")) field.removeAttribute("aria-invalid");
  if (!error?.place) return;
  const id = `own-${error.place.replaceAll(".", "-")}`;
  const below = place.querySelector(`[id="${id}-error"]`);
  place.querySelector(`[id="${id}"]`)?.setAttribute("aria-invalid", "true");
  if (below) below.textContent = error.message;
};

/** The shape of a typed matrix, as far as it can be read. */
const sizeOfText = (text, place) => {
  try {
    const heads = text.trim() ? eachHead(typedMatrix(text, place)) : [];
    const count = heads.length > 1 ? [heads.length] : [];
    return heads.length ? [...count, heads[0].length, heads[0][0].length].join(" × ") : "";
  } catch (error) {
    if (!(error instanceof UsageError)) throw error;
    return ""; // the line below the field says what is wrong
  }
};
