// The reader's own matrices: a form with immediate results. Nothing that was typed is lost, whatever is wrong.

import { redraw } from "../base/elements.js";
import { page } from "../base/page.js";
import { fillFields, showFieldError, showFields, textsOf } from "./fields.js";
import { formFromAddress, formIntoAddress, startsOfForm, tableOfForm } from "./form.js";
import { checkClaims } from "./judge.js";
import { drawOwnResults, verdictClass, verdictSentence, verdictSign } from "./results.js";
import { UsageError } from "./typed_matrix.js";
import { workedExample } from "./worked.js";

const TYPING_PAUSE = 200; // milliseconds after the last letter until all is computed again

/** Makes the form work that stands in a place, once; it begins with an example, or with the form that an address has
 *  `carried`. `remember(letters)` keeps a changed form in the address. */
export const startOwnForm = (place, { carried = "", remember }) => {
  if (place.classList.contains("alive")) return undefined;
  place.classList.add("alive");
  const { first, examples } = page.header.own;
  const part = (name) => place.querySelector(`.own-${name}`);
  const [fields, verdict, results, file, back] = ["fields", "verdict", "results", "file", "back"].map(part);
  const exampleOf = ({ name }) => examples.find((each) => each.name === name);
  const own = { fields, verdict, results, file, back, remember, exampleOf, before: [] };
  part("clear").addEventListener("click", () => replaceForm(own, { start: textsOf(fields).start }));
  back.addEventListener("click", () => putForm(own, own.before.pop()));
  fields.addEventListener("input", ({ target }) => changed(own, target));
  return putForm(own, formFromAddress(carried) ?? exampleOf({ name: first }).form);
};

/** Update after a change in the form. A start without the matrices that it needs gets those of an example. */
const changed = (own, { name, value }) => {
  const form = textsOf(own.fields);
  const lacks = name === "start" && startsOfForm()[value].needs?.some((each) => !form[each].trim());
  const meant = lacks ? page.header.own.examples.find((each) => each.form.start === value) : null;
  const example = name === "name" ? own.exampleOf(form) : meant;
  if (example) return replaceForm(own, example.form);
  own.fields.elements.namedItem("name").value = ""; // no longer that example
  showFields(own.fields);
  clearTimeout(own.waiting);
  own.waiting = setTimeout(() => workOut(own), TYPING_PAUSE);
  return undefined;
};

/** Put other texts into the form; the earlier ones can be restored. */
const replaceForm = (own, form) => {
  own.before.push(own.form);
  return putForm(own, form);
};

const putForm = (own, form) => {
  fillFields(own.fields, form);
  return workOut(own);
};

/** Compute everything from the typed text; if that fails, say why and leave the old results. */
const workOut = async (own) => {
  const form = textsOf(own.fields);
  if (own.form) own.remember(formIntoAddress(form));
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
