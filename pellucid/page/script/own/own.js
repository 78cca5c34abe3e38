// The form for the reader's own matrices shows results while the reader types. Wrong text is kept too.

import { redraw, say } from "../base/elements.js";
import { page } from "../base/page.js";
import { fillFields, showFieldError, showFields, textsOf } from "./fields.js";
import { formFromAddress, formIntoAddress, startsOfForm, tableOfForm } from "./form.js";
import { checkClaims } from "./judge.js";
import { drawOwnResults, verdictClass, verdictSentence, verdictSign } from "./results.js";
import { UsageError } from "./typed_matrix.js";
import { workedExample } from "./worked.js";

const TYPING_PAUSE = 200; // milliseconds between the last letter and the computation

/** Start the form in a place with the form from the address (`carried`) or with an example; later, show the form of a new
 *  address. `remember(text)` writes a changed form into the address. */
export const showOwnForm = (place, { carried = "", remember }) => {
  if (place.own) {
    const form = carried === place.own.carried ? null : formFromAddress(carried);
    return form && replaceForm(place.own, form);
  }
  place.classList.add("alive");
  const { first, examples } = page.header.own;
  const part = (name) => place.querySelector(`.own-${name}`);
  const [fields, verdict, results, file, back] = ["fields", "verdict", "results", "file", "back"].map(part);
  const exampleOf = ({ name }) => examples.find((each) => each.name === name);
  const own = { fields, verdict, results, file, back, carried, remember, exampleOf, before: [] };
  place.own = own;
  part("clear").addEventListener("click", () => replaceForm(own, { start: textsOf(fields).start }));
  back.addEventListener("click", () => putForm(own, own.before.pop()));
  fields.addEventListener("input", ({ target }) => changed(own, target));
  addEventListener("keydown", (event) => pressKey(results, event));
  return putForm(own, formFromAddress(carried) ?? exampleOf({ name: first }).form);
};

/** As in a part of the model, Escape unpins the cell, and brackets change the head. */
const pressKey = (results, event) => {
  const by = { "[": -1, "]": 1 }[event.key];
  if (event.defaultPrevented || (by && event.target.closest?.("input, textarea, select"))) return;
  const heads = [...results.querySelectorAll(".head")];
  const next = heads.at((heads.findIndex(({ ariaPressed }) => ariaPressed === "true") + by) % heads.length);
  const pressed = event.key === "Escape" ? results.querySelector(".unpin") : by && next;
  if (!pressed?.offsetParent) return; // there is none, or the form is hidden
  if (by) say(pressed.ariaLabel);
  pressed.click();
  event.preventDefault();
};

/** Update after a change in the form. If a start needs matrices that are missing, an example's matrices are used. */
const changed = (own, { name, value }) => {
  const form = textsOf(own.fields);
  const lacks = name === "start" && startsOfForm()[value].needs?.some((each) => !form[each].trim());
  const meant = lacks ? page.header.own.examples.find((each) => each.form.start === value) : null;
  const example = name === "name" ? own.exampleOf(form) : meant;
  if (example) return replaceForm(own, example.form);
  own.fields.elements.namedItem("name").value = ""; // the form differs from that example now
  showFields(own.fields);
  clearTimeout(own.waiting);
  own.waiting = setTimeout(() => workOut(own), TYPING_PAUSE);
};

/** Put other texts into the form; the earlier texts can be restored. */
const replaceForm = (own, form) => {
  own.before.push(own.form);
  return putForm(own, form);
};

const putForm = (own, form) => {
  fillFields(own.fields, form);
  return workOut(own);
};

/** Compute everything from the typed text; if that fails, show the error and keep the old results. */
const workOut = async (own) => {
  const form = textsOf(own.fields);
  if (own.form) own.remember((own.carried = formIntoAddress(form)));
  own.form = form;
  own.back.hidden = own.before.length === 0;
  own.file.removeAttribute("href");
  showFieldError(own.fields, null);
  try {
    const table = tableOfForm(form);
    const worked = workedExample(table);
    const report = checkClaims(worked, table.claims, table.decimals);
    own.file.href = `data:application/json,${encodeURIComponent(JSON.stringify(table, null, 1))}`;
    tellVerdict(own, verdictSentence(report));
    await drawOwnResults(own.exampleOf(form), worked, report, own.results);
  } catch (error) {
    if (!(error instanceof UsageError)) throw error;
    showFieldError(own.fields, error);
    tellVerdict(own, { verdict: "fault", text: error.message });
  }
};

/** Show the verdict, or the error of the form; read it aloud if it has changed. */
const tellVerdict = (own, { verdict, text }) => {
  own.results.classList.toggle("is-old", verdict === "fault");
  if (own.verdict.dataset.text === text) return;
  own.verdict.className = `own-verdict ${verdictClass(verdict)}`;
  Object.assign(own.verdict.dataset, { verdict, text });
  redraw(own.verdict, verdictSign(verdict), " ", text);
};
