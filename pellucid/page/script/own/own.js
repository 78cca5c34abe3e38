// One's own matrices: a form, and at once what comes of it. Nothing that was typed is lost, whatever is wrong.

import { button, element, redraw, say } from "../base/elements.js";
import { page } from "../base/page.js";
import { fillFields, ownFields, showFieldError, showFields, textsOf } from "./fields.js";
import { EMPTY_FORM, formFromAddress, formIntoAddress, formOfTable, startsOfForm, tableOfForm } from "./form.js";
import { checkClaims } from "./judge.js";
import { VERDICT_SIGNS, drawOwnResults, verdictClass, verdictSentence } from "./results.js";
import { UsageError } from "./typed_matrix.js";
import { workedExample } from "./worked.js";

const TYPING_PAUSE = 200; // milliseconds after the last letter until all is computed again
const FIRST_EXAMPLE = "000-masked"; // which is right

/**
 * Draws the form and its results into a place, once: what is typed stays. `first` is the table of the example that
 * it begins with, and then what comes of it stands before the form; an address that carries a form goes before it.
 * `remember(letters)` keeps the form in the address.
 */
export const drawOwnForm = (place, { first = null, carried = "", remember = () => {} } = {}) => {
  if (place.querySelector(":scope > .own")) return undefined;
  const { examples } = page.header.own;
  const own = { place, remember, isNamed: first !== null, fields: ownFields(), before: [] };
  own.sourceOf = ({ name }) => [first, ...examples].find((each) => name && each?.name === name) ?? {};
  own.fields.addEventListener("input", ({ target }) => changed(own, target.name));
  place.replaceChildren(ownPlaces(own));
  fillFields(own.fields, formOfTable(first ?? examples.find(({ name }) => name === FIRST_EXAMPLE)));
  own.begun = JSON.stringify(textsOf(own.fields));
  if (carried) fillFields(own.fields, formFromAddress(carried) ?? textsOf(own.fields));
  return workOut(own);
};

/** What comes of a change in the form, soon. A way to begin that lacks what it needs begins with an example. */
const changed = (own, name) => {
  const form = textsOf(own.fields);
  const lacks = name === "start" && startsOfForm()[form.start].needs?.some((each) => !form[each].trim());
  const example = lacks && page.header.own.examples.find((each) => formOfTable(each).start === form.start);
  if (example) return beginWith(own, example);
  if (!["start", "claimed"].includes(name)) own.fields.elements.namedItem("name").value = ""; // no longer that example
  showFields(own.fields);
  clearTimeout(own.waiting);
  own.waiting = setTimeout(() => workOut(own), TYPING_PAUSE);
  return undefined;
};

const beginWith = (own, example) => replaceForm(own, formOfTable(example), `${example.name}: ${example.about}`);

/** Put other texts into the form; those before stay within reach. */
const replaceForm = (own, form, told, before = [...own.before, own.form]) => {
  own.before = before;
  fillFields(own.fields, form);
  say(told);
  return workOut(own);
};

/** The form and what comes of it, side by side; the one that comes first is read first. */
const ownPlaces = (own) => {
  own.about = element("p.own-about");
  own.results = element("div.own-results");
  own.status = element("div.own-status");
  const typed = [own.status, ownTools(own), own.fields, element("div.own-file", asFile(own))];
  const form = element("section.own-form", { "aria-label": "the numbers" }, typed);
  const outcome = element("section.own-outcome", { "aria-label": "what comes of them" }, own.about, own.results);
  return own.isNamed ? element("div.own.outcome-first", outcome, form) : element("div.own", form, outcome);
};

/** Choosing an example, the way back to what was there before, and an empty form. */
const ownTools = (own) => {
  const { examples } = page.header.own;
  const options = examples.map(({ name, about }) => element("option", { value: name }, `${name}: ${about}`));
  const choose = () => own.example.value && beginWith(own, own.sourceOf({ name: own.example.value }));
  const first = element("option", { value: "" }, "choose one of these …");
  own.example = element("select", { id: "own-example", change: choose }, first, options);
  const back = () => replaceForm(own, own.before.at(-1), "As it was before.", own.before.slice(0, -1));
  own.back = button("Back to what I had", back, { type: "button" });
  const start = () => ({ start: textsOf(own.fields).start });
  const clear = () => replaceForm(own, start(), "The form is empty.");
  return element("div.own-tools", [
    element("div.own-field", element("label", { for: "own-example" }, "An example to begin with"), own.example),
    own.back,
    button("Empty the form", clear, { type: "button", "data-key": "own-clear" }),
  ]);
};

/** Computes everything from what is typed; where that cannot be, says why, and leaves what was there. */
const workOut = async (own) => {
  const form = (own.form = textsOf(own.fields));
  const isAsBegun = JSON.stringify(form) === own.begun;
  own.remember(isAsBegun ? "" : formIntoAddress(form));
  own.example.value = form.name;
  own.back.hidden = !own.before.length;
  showAbout(own, form, isAsBegun);
  showFieldError(own.fields, null);
  if (!Object.entries(form).some(([name, text]) => !(name in EMPTY_FORM) && text.trim())) {
    own.drawn = "";
    own.results.replaceChildren();
    return tellOutcome(own, "not derivable", "Type or paste a matrix, or choose an example.");
  }
  try {
    const table = tableOfForm(form);
    const worked = workedExample(table);
    const report = checkClaims(worked, table.claims, table.decimals);
    own.json.value = JSON.stringify(table, null, 1);
    const { verdict, text } = verdictSentence(report);
    tellOutcome(own, verdict, text);
    if (own.json.value === own.drawn) return;
    own.drawn = own.json.value;
    await drawOwnResults(own.sourceOf(form), worked, report, own.results);
  } catch (error) {
    if (!(error instanceof UsageError)) throw error;
    showFieldError(own.fields, error);
    tellOutcome(own, "fault", error.message);
  }
};

/** Which example this is, where the page's own heading does not say it. */
const showAbout = (own, form, isAsBegun) => {
  const { name, about, note, lines } = own.sourceOf(form);
  const { name: begun } = JSON.parse(own.begun);
  const from = note && element("small", ` note ${note}, lines ${lines}`);
  const other = own.isNamed && begun ? `Changed: no longer ${begun}.` : "Your own numbers.";
  own.about.hidden = own.isNamed && isAsBegun;
  redraw(own.about, name ? [element("b", name), ` ${about} `, from] : other);
};

/** What is wrong with the form, or the verdict once more, small, where one types; it is also what is said aloud. */
const tellOutcome = (own, verdict, text) => {
  own.results.classList.toggle("is-old", verdict === "fault");
  own.status.className = `own-status ${verdictClass(verdict)}`;
  const show = () => own.place.querySelector(".own-outcome").scrollIntoView({ block: "start" });
  const sign = element("span.verdict-sign", { "aria-hidden": "true" }, VERDICT_SIGNS[verdict] ?? "!");
  const again = button("Show", show, { type: "button", "data-key": "own-show" });
  redraw(own.status, element("p", sign, " ", text), again);
  if (own.said !== undefined && own.said !== text) say(text);
  own.said = text;
};

/** The form as the file that `pellucid example --file` reads. Another one is typed or pasted over it; where something
 *  is wrong with that, the text stays, and the form too. */
const asFile = (own) => {
  const bring = () => {
    try {
      const form = formOfTable({ ...JSON.parse(own.json.value), name: "" });
      workedExample(tableOfForm(form));
      replaceForm(own, form, "The form is as the file says.");
      wrong.textContent = "";
    } catch (error) {
      wrong.textContent = `This is no example that the form takes: ${error.message}`;
    }
  };
  const download = () => {
    const address = URL.createObjectURL(new Blob([own.json.value], { type: "application/json" }));
    element("a", { href: address, download: "example.json" }).click();
    setTimeout(() => URL.revokeObjectURL(address), 1000);
  };
  const field = { id: "own-json", wrap: "off", rows: 8, spellcheck: "false", change: bring };
  const label = "What is in the form, for pellucid example --file; or paste such a file here";
  own.json = element("textarea.own-matrix", field);
  const wrong = element("p.own-error", { role: "alert" });
  return element("details", [
    element("summary", "As a file"),
    element("label", { for: "own-json" }, label),
    own.json,
    button("Download", download, { type: "button" }),
    wrong,
  ]);
};
