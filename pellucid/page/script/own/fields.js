// The fields of the form for the reader's own matrices; the form is in the page's HTML. All fields keep their text;
// fields that the chosen start does not use are hidden.

import { EMPTY_FORM, settingsOfStart, stagesOfStart, startsOfForm } from "./form.js";

/** Return the texts of the form, by field name. */
export const textsOf = (fields) => Object.fromEntries(new FormData(fields));

/** Put texts into the form; a field without a text becomes empty. */
export const fillFields = (fields, form) => {
  const texts = { ...EMPTY_FORM, ...form };
  for (const field of fields.elements) if (field.name) field.value = texts[field.name] ?? "";
  for (const claim of fields.querySelectorAll(".own-claim")) claim.open = claim.querySelector("textarea").value !== "";
  showFields(fields);
};

/** Show the fields that the chosen start uses, each as high as its text needs. */
export const showFields = (fields) => {
  const { start } = textsOf(fields);
  const claims = stagesOfStart(start).map((name) => `claims.${name}`);
  const shown = ["example", "start", ...startsOfForm()[start].fields, ...settingsOfStart(start), ...claims, "decimals"];
  for (const field of fields.querySelectorAll("[data-field]"))
    (field.closest(".own-claim") ?? field).hidden = !shown.includes(field.dataset.field);
  for (const written of fields.querySelectorAll("textarea"))
    written.rows = Math.min(16, Math.max(written.value ? 2 : 1, written.value.split("\n").length));
};

/** Show an error at its field; without an error, remove the old message. */
export const showFieldError = (fields, error) => {
  for (const place of fields.querySelectorAll(".own-error")) {
    const field = place.closest("[data-field]");
    const isWrong = field.dataset.field === error?.place;
    place.textContent = isWrong ? error.message : "";
    for (const each of field.querySelectorAll("[name]")) each.ariaInvalid = isWrong ? "true" : null;
  }
};
