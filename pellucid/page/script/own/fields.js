// The form for one's own matrices. All its fields are there from the start and keep what was typed; those that a way to
// begin has no use for are hidden.

import { element, withScripts } from "../base/elements.js";
import { page } from "../base/page.js";
import { captionOfTensor } from "../runs/runs.js";
import { EMPTY_FORM, settingsOfStart, stagesOfStart, startsOfForm } from "./form.js";
import { stageNames } from "./worked.js";

/** The whole form. Each of its fields has the name that a form's texts have it by. */
export const ownFields = (examples) => {
  const { starts, fields, settings, notes } = page.header.own;
  const { decimals, ...others } = Object.fromEntries(
    Object.entries(settings).map(([name, setting]) => [name, ownField(name, setting)]),
  );
  const ways = Object.fromEntries(Object.entries(starts).map(([start, { title }]) => [start, title]));
  const matrices = Object.entries(fields).map(([name, [symbol, title]]) => ownField(name, { symbol, title, rows: 2 }));
  const named = Object.fromEntries(examples.map(({ name, about }) => [name, `${name}: ${about}`]));
  return element("form.own-fields", { submit: (event) => event.preventDefault() }, [
    ownField("example", { title: "An example", key: "name", choices: { "": "your own numbers", ...named } }),
    ownField("start", { title: "Start from", key: "start", choices: ways }),
    fieldset("Matrices", notes.matrices, matrices),
    fieldset("Settings", "", Object.values(others)),
    fieldset("What a slide or homework claims", notes.claims, [stageNames().map(claimField), decimals]),
  ]);
};

const fieldset = (legend, note, fields) =>
  element("fieldset", element("legend", legend), note && element("p.own-note", note), fields);

/** A labelled field: choices, a line, or a text with `rows`; beside the choice that is `typed`, a line or a text too.
 *  `place` is the name that errors know it by. */
const ownField = (place, { symbol = "", title, hint = "", rows = 0, key = place, choices = null, typed = null }) => {
  const id = `own-${place.replaceAll(".", "-")}`;
  const written = element(rows ? "textarea.own-matrix" : "input.own-line", {
    id,
    name: place,
    "data-place": place,
    spellcheck: "false",
    autocomplete: "off",
    autocapitalize: "off",
    wrap: rows ? "off" : null,
    "aria-label": choices && title,
    "aria-describedby": `${id}-error ${id}-hint`,
  });
  const option = ([value, text]) => element("option", { value, "data-typed": value === typed }, text);
  const chosen = choices && element("select", { id: `${id}-choice`, name: key }, Object.entries(choices).map(option));
  const label = [symbol && element("b", withScripts(symbol)), symbol && " ", title];
  const whole = element("div.own-field", { class: rows && !choices && "wide" }, [
    element("label", { for: choices ? chosen.id : id }, label),
    chosen,
    (!choices || typed) && written,
    element("p.own-hint", { id: `${id}-hint` }, hint),
    element("p.own-error", { id: `${id}-error` }),
  ]);
  whole.place = place;
  return whole;
};

/** What is claimed about a stage, unfolded to type it. */
const claimField = (name) => {
  const inWords = name.replaceAll(/[._]/g, " ");
  const summary = element("summary", withScripts(captionOfTensor(name).symbol), ` ${inWords}`);
  const field = ownField(`claims.${name}`, { title: `claimed ${inWords}`, rows: 2 });
  return element("details.own-claim", summary, field);
};

/** The texts of the form by the names of its fields. */
export const textsOf = (fields) => Object.fromEntries(new FormData(fields));

/** Put texts into the form; a field that has none is empty. */
export const fillFields = (fields, form) => {
  const texts = { ...EMPTY_FORM, ...form };
  for (const field of fields.elements) if (field.name) field.value = texts[field.name] ?? "";
  for (const claim of fields.querySelectorAll(".own-claim")) claim.open = claim.querySelector("textarea").value !== "";
  showFields(fields);
};

/** Show the fields that the way to begin has use for, each matrix as high as its text. */
export const showFields = (fields) => {
  const { start } = textsOf(fields);
  const claims = stagesOfStart(start).map((name) => `claims.${name}`);
  const shown = ["example", "start", ...startsOfForm()[start].fields, ...settingsOfStart(start), ...claims, "decimals"];
  for (const field of fields.querySelectorAll(".own-field")) {
    (field.closest(".own-claim") ?? field).hidden = !shown.includes(field.place);
  }
  for (const written of fields.querySelectorAll("textarea"))
    written.rows = Math.min(16, Math.max(written.value ? 2 : 1, written.value.split("\n").length));
};

/** Says at a field what is wrong with it; without an error, takes what was said away. */
export const showFieldError = (fields, error) => {
  for (const field of fields.querySelectorAll(".own-field")) {
    const isWrong = field.place === error?.place;
    field.querySelector(".own-error").textContent = isWrong ? error.message : "";
    for (const each of field.querySelectorAll("[name]")) each.ariaInvalid = isWrong ? "true" : null;
  }
};
