// One's own matrices: a form, and at once what comes of it. Nothing that was typed is lost, whatever is wrong.

import { button, element, redraw, say } from "../base/elements.js";
import { page } from "../base/page.js";
import { fillFields, ownFields, showFieldError, showFields, textsOf } from "./fields.js";
import { formFromAddress, formIntoAddress, startsOfForm, tableOfForm } from "./form.js";
import { checkClaims } from "./judge.js";
import { drawOwnResults, verdictClass, verdictSentence, verdictSign } from "./results.js";
import { UsageError } from "./typed_matrix.js";
import { workedExample } from "./worked.js";

const TYPING_PAUSE = 200; // milliseconds after the last letter until all is computed again
const FIRST_EXAMPLE = "000-masked"; // which is right

/**
 * Draws the form and its results into a place, once: what is typed stays. `first` is the example that it begins with,
 * and then what comes of it stands before the form; an address that carries a form goes before it. `remember(letters)`
 * keeps a changed form in the address.
 */
export const drawOwnForm = (place, { first = null, carried = "", remember = () => {} } = {}) => {
  if (place.querySelector(":scope > .own")) return undefined;
  const others = page.header.own.examples.filter(({ name }) => name !== first?.name);
  const examples = first ? [first, ...others] : others;
  const own = { remember, examples, fields: ownFields(examples), before: [] };
  own.exampleOf = ({ name }) => examples.find((each) => each.name === name);
  own.fields.addEventListener("input", ({ target }) => changed(own, target));
  place.replaceChildren(ownPlaces(own, first !== null));
  fillFields(own.fields, formFromAddress(carried) ?? (first ?? own.exampleOf({ name: FIRST_EXAMPLE })).form);
  return workOut(own);
};

/** The verdict, and below it the form and what comes of it, side by side; the one that comes first is read first. */
const ownPlaces = (own, isNamed) => {
  own.results = element("div.own-results");
  own.verdict = element("p.own-verdict", { role: "status" });
  own.file = element("a", { download: "example.json" }, "As a file");
  own.back = button("Back to what I had", () => goBack(own), { type: "button" });
  const clear = () => replaceForm(own, { start: textsOf(own.fields).start }, "The form is empty.");
  const empty = button("Empty the form", clear, { type: "button", "data-key": "own-clear" });
  const tools = element("div.own-tools", own.back, empty, own.file);
  const form = element("section.own-form", { "aria-label": "the numbers" }, tools, own.fields);
  const outcome = element("section.own-outcome", { "aria-label": "what comes of them" }, own.results);
  const places = isNamed ? [outcome, form] : [form, outcome];
  return element("div.own", { class: isNamed && "outcome-first" }, own.verdict, places);
};

/** What comes of a change in the form, soon. A way to begin that lacks what it needs begins with an example. */
const changed = (own, { name, value }) => {
  const form = textsOf(own.fields);
  const lacks = name === "start" && startsOfForm()[value].needs?.some((each) => !form[each].trim());
  const meant = lacks ? own.examples.find((each) => each.form.start === value) : null;
  const example = name === "name" ? own.exampleOf(form) : meant;
  if (example) return replaceForm(own, example.form, `${example.name}: ${example.about}`);
  own.fields.elements.namedItem("name").value = ""; // no longer that example
  showFields(own.fields);
  clearTimeout(own.waiting);
  own.waiting = setTimeout(() => workOut(own), TYPING_PAUSE);
  return undefined;
};

/** Put other texts into the form; those before stay within reach. */
const replaceForm = (own, form, told) => {
  own.before.push(own.form);
  fillFields(own.fields, form);
  say(told);
  return workOut(own);
};

const goBack = (own) => {
  fillFields(own.fields, own.before.pop());
  say("As it was before.");
  return workOut(own);
};

/** Computes everything from what is typed; where that cannot be, says why, and leaves what was there. */
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

/** The verdict, or what is wrong with the form; it is read aloud where it is another one. */
const tellVerdict = (own, { verdict, text }) => {
  own.results.classList.toggle("is-old", verdict === "fault");
  if (own.verdict.dataset.text === text) return;
  own.verdict.className = `own-verdict ${verdictClass(verdict)}`;
  Object.assign(own.verdict.dataset, { verdict, text });
  redraw(own.verdict, verdictSign(verdict), " ", text);
};
