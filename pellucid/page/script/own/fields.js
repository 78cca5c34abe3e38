// The form for one's own matrices. All its fields are there from the start and keep what was typed; those that a way to
// begin has no use for are hidden.

import { element, withScripts } from "../base/elements.js";
import { page } from "../base/page.js";
import { captionOfTensor } from "../runs/runs.js";
import { EMPTY_FORM, claimedStages, settingsOfStart, stagesOfStart, startsOfForm } from "./form.js";
import { UsageError, eachHead, typedMatrix } from "./typed_matrix.js";
import { stageNames } from "./worked.js";

/** The whole form. Each of its fields has the name that a form's texts have it by. */
export const ownFields = () => {
  const { starts, fields, settings, notes } = page.header.own;
  const { decimals, ...others } = Object.fromEntries(
    Object.entries(settings).map(([name, setting]) => [name, ownField(name, setting)]),
  );
  const ways = Object.fromEntries(Object.entries(starts).map(([start, { title }]) => [start, title]));
  const matrices = Object.entries(fields).map(([name, [symbol, title]]) => ownField(name, { symbol, title, rows: 2 }));
  const claims = stageNames().map((name) =>
    ownField(`claims.${name}`, { symbol: captionOfTensor(name).symbol, title: `claimed ${inWords(name)}`, rows: 2 }),
  );
  return element("form.own-fields", { submit: (event) => event.preventDefault() }, [
    element("input", { type: "hidden", name: "name" }), // of an example, while its numbers are unchanged
    ownField("start", { title: "Start from", key: "start", choices: ways }),
    fieldset("Matrices", notes.matrices, matrices),
    fieldset("Settings", "", Object.values(others)),
    fieldset("What a slide or homework claims", notes.claims, [stageBoxes(), claims, decimals]),
  ]);
};

const fieldset = (legend, note, fields) =>
  element("fieldset", element("legend", legend), note && element("p.own-note", note), fields);

/** A labelled field: choices, a line, or a text with `rows`. `place` is the name that errors know it by. */
const ownField = (place, { symbol = "", title, hint = "", rows = 0, key = place, choices = null, typed = "" }) => {
  const id = `own-${place.replaceAll(".", "-")}`;
  const label = [symbol && element("b", withScripts(symbol)), symbol && " ", title];
  const isTyped = !choices || typed;
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
  const options = Object.entries(choices ?? {}).map(([value, text]) => element("option", { value }, text));
  const chosen = element("select", { id: `${id}-choice`, name: key }, options);
  const whole = element("div.own-field", { class: rows && !choices && "wide", "data-typed": typed || null }, [
    element("label", { for: choices ? chosen.id : id }, label),
    rows > 0 && element("output.own-size", { for: id }),
    choices && chosen,
    isTyped && written,
    element("p.own-hint", { id: `${id}-hint` }, hint),
    element("p.own-error", { id: `${id}-error` }),
  ]);
  whole.place = place;
  return whole;
};

const inWords = (name) => name.replaceAll(/[._]/g, " ");

/** A box to tick for each stage about which something may be claimed. */
const stageBoxes = () =>
  element("div.own-stages", { role: "group", "aria-label": "stages with claims" }, [
    stageNames().map((value) => {
      const box = element("input", { type: "checkbox", name: "claimed", value, "aria-label": inWords(value) });
      return element("label", { title: inWords(value) }, box, " ", withScripts(captionOfTensor(value).symbol));
    }),
  ]);

/** The texts of the form by the names of its fields. */
export const textsOf = (fields) => {
  const data = new FormData(fields);
  return { ...Object.fromEntries(data), claimed: data.getAll("claimed").join(" ") };
};

/** Put texts into the form; a field that has none is empty. */
export const fillFields = (fields, form) => {
  const texts = { ...EMPTY_FORM, ...form };
  for (const field of fields.elements) {
    if (field.type === "checkbox") field.checked = texts.claimed.split(" ").includes(field.value);
    else if (field.name) field.value = texts[field.name] ?? "";
  }
  showFields(fields);
};

/** Show the fields that the way to begin has use for, each matrix as high as its text and with its shape. */
export const showFields = (fields) => {
  const form = textsOf(fields);
  const claimed = claimedStages(form);
  const shown = ["start", ...startsOfForm()[form.start].fields, ...settingsOfStart(form.start)];
  shown.push(...claimed.map((name) => `claims.${name}`), claimed.length && "decimals");
  for (const field of fields.querySelectorAll(".own-field")) field.hidden = !shown.includes(field.place);
  const stages = stagesOfStart(form.start);
  for (const label of fields.querySelectorAll(".own-stages label"))
    label.hidden = !stages.includes(label.control.value);
  for (const field of fields.querySelectorAll("[data-typed]")) {
    const [choice, ...typed] = field.querySelectorAll("select, [data-place], .own-hint");
    for (const each of typed) each.hidden = choice.value !== field.dataset.typed;
  }
  for (const written of fields.querySelectorAll("textarea")) {
    written.rows = Math.min(16, Math.max(written.value ? 2 : 1, written.value.split("\n").length));
    written.closest(".own-field").querySelector("output").textContent = sizeOfText(written.value, written.name);
  }
};

/** Says at a field what is wrong with it; without an error, takes what was said away. */
export const showFieldError = (fields, error) => {
  for (const field of fields.querySelectorAll(".own-field")) {
    const isWrong = Boolean(error) && field.place === error.place;
    field.querySelector(".own-error").textContent = isWrong ? error.message : "";
    for (const each of field.querySelectorAll("[name]")) each.ariaInvalid = isWrong ? "true" : null;
  }
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
