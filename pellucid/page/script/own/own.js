// One's own matrices: a form, and at once what comes of it. Nothing that was typed is lost, whatever is wrong.

import { button, element, redraw, say } from "../base/elements.js";
import { page } from "../base/page.js";
import { copyText } from "../matrices/copying.js";
import { ownFields, showFieldError } from "./fields.js";
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
  const examples = page.header.own.examples;
  const begun = formOfTable(first ?? examples.find(({ name }) => name === FIRST_EXAMPLE));
  const own = { place, begun, form: (carried && formFromAddress(carried)) || begun, namesIt: first !== null, remember };
  own.before = []; // forms that an example or a file has replaced
  own.sourceOf = (form) => [first, ...examples].find((each) => form.name && each?.name === form.name) ?? {};
  place.replaceChildren(ownPlaces(own));
  own.change = (changes, again = false) => {
    const example = changes.start && exampleOfStart(changes.start, own.form);
    if (example) return own.replace(formOfTable(example), `${example.name}: ${example.about}`);
    const isSame = changes.start || changes.claimed !== undefined; // what is said about the example goes on to hold
    own.form = { ...own.form, ...(isSame ? {} : { name: "" }), ...changes };
    if (again) drawFields(own);
    clearTimeout(own.waiting);
    own.waiting = setTimeout(() => workOut(own), again ? 0 : TYPING_PAUSE);
    return undefined;
  };
  own.replace = (form, told, before = [...own.before, own.form]) => {
    Object.assign(own, { form, before });
    say(told);
    return drawForm(own);
  };
  return drawForm(own);
};

/** A way to begin that lacks what it needs begins with an example. */
const exampleOfStart = (start, form) => {
  const { needs = [] } = startsOfForm()[start];
  if (needs.every((name) => form[name]?.trim())) return null;
  return page.header.own.examples.find((each) => formOfTable(each).start === start);
};

/** The form and what comes of it, side by side; the one that comes first is read first. */
const ownPlaces = (own) => {
  const part = (name) => (own[name] = element("div", { class: `own-${name}` }));
  own.about = element("p", { class: "own-about" });
  const file = element("div", { class: "own-file" }, asFile(own));
  const typed = [part("status"), part("tools"), part("fields"), file];
  const form = element("section", { class: "own-form", "aria-label": "the numbers" }, typed);
  const made = { class: "own-outcome", "aria-label": "what comes of them" };
  const outcome = element("section", made, own.about, part("results"));
  if (own.namesIt) return element("div", { class: "own outcome-first" }, outcome, form);
  return element("div", { class: "own" }, form, outcome);
};

const drawForm = (own) => {
  drawTools(own);
  drawFields(own);
  return workOut(own);
};

const drawFields = (own) => redraw(own.fields, ownFields(own.form, own.change));

/** Choosing an example, the way back to what was there before, and an empty form. */
const drawTools = (own) => {
  const { examples } = page.header.own;
  const choose = (event) => {
    const example = examples.find(({ name }) => name === event.target.value);
    if (example) own.replace(formOfTable(example), `${example.name}: ${example.about}`);
  };
  const options = examples.map(({ name, about }) =>
    element("option", { value: name, selected: name === own.form.name }, `${name}: ${about}`),
  );
  const first = element("option", { value: "" }, "choose one of these …");
  const select = element("select", { id: "own-example", "data-key": "own-example", change: choose }, first, options);
  const label = element("label", { for: "own-example" }, "An example to begin with");
  const back = () => own.replace(own.before.at(-1), "As it was before.", own.before.slice(0, -1));
  const clear = () => own.replace({ ...EMPTY_FORM, start: own.form.start }, "The form is empty.");
  redraw(
    own.tools,
    element("div", { class: "own-field" }, label, select),
    own.before.length ? button("Back to what I had", back, { type: "button", "data-key": "own-back" }) : null,
    button("Empty the form", clear, { type: "button", "data-key": "own-clear" }),
  );
};

/** Computes everything from what is typed; where that cannot be, says why, and leaves what was there. */
const workOut = async (own) => {
  const isAsBegun = JSON.stringify(own.form) === JSON.stringify(own.begun);
  const carried = isAsBegun ? "" : formIntoAddress(own.form);
  own.remember(carried ?? "");
  showAbout(own, isAsBegun, carried === null);
  showFieldError(own.place, null);
  if (isEmpty(own.form)) {
    own.drawn = "";
    own.results.replaceChildren();
    return tellOutcome(own, "not derivable", "Type or paste a matrix, or choose an example.");
  }
  try {
    const table = tableOfForm(own.form);
    const worked = workedExample(table);
    const report = checkClaims(worked, table.claims, table.decimals);
    own.json.value = JSON.stringify(table, null, 1);
    const { verdict, text } = verdictSentence(report);
    tellOutcome(own, verdict, text);
    if (own.json.value === own.drawn) return;
    own.drawn = own.json.value;
    await drawOwnResults(own.sourceOf(own.form), worked, report, own.results);
  } catch (error) {
    if (!(error instanceof UsageError)) throw error;
    showFieldError(own.place, error);
    tellOutcome(own, "fault", error.message);
  }
};

/** Whether nothing is typed: an empty form is no mistake. */
const isEmpty = (form) => !Object.entries(form).some(([key, text]) => !(key in EMPTY_FORM) && text.trim());

/** Which example this is, where the page's own heading does not say it. */
const showAbout = (own, isAsBegun, isTooLarge) => {
  const { name, about, note, lines } = own.sourceOf(own.form);
  const from = note ? element("small", {}, ` note ${note}, lines ${lines}`) : "";
  const changed = own.namesIt && own.begun.name ? `Changed: no longer ${own.begun.name}.` : "Your own numbers.";
  const loss = " Too large for the address of this page: it is gone when the page is closed. Keep it as a file, below.";
  own.about.hidden = own.namesIt && isAsBegun;
  own.about.replaceChildren(
    ...(name ? [element("b", {}, name), ` ${about} `, from] : [changed]),
    isTooLarge ? loss : "",
  );
};

/** What is wrong with the form, or the verdict once more, small, where one types; it is also what is said aloud. */
const tellOutcome = (own, verdict, text) => {
  own.results.classList.toggle("is-old", verdict === "fault");
  own.status.className = `own-status ${verdictClass(verdict)}`;
  const show = () => own.place.querySelector(".own-outcome").scrollIntoView({ block: "start" });
  const sign = element("span", { class: "verdict-sign", "aria-hidden": "true" }, VERDICT_SIGNS[verdict] ?? "!");
  const again = button("Show", show, { type: "button", "data-key": "own-show" });
  redraw(own.status, element("p", {}, sign, " ", text), again);
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
      own.replace(form, "The form is as the file says.");
      done.textContent = "";
    } catch (error) {
      done.textContent = `This is no example that the form takes: ${error.message}`;
    }
  };
  const download = () => {
    const address = URL.createObjectURL(new Blob([own.json.value], { type: "application/json" }));
    element("a", { href: address, download: "example.json" }).click();
    setTimeout(() => URL.revokeObjectURL(address), 1000);
  };
  const copy = async () =>
    (done.textContent = (await copyText(own.json.value)) ? "Copied." : "Select the text and copy it.");
  const field = { id: "own-json", class: "own-matrix", wrap: "off", rows: 8, spellcheck: "false", change: bring };
  own.json = element("textarea", field);
  const done = element("p", { class: "own-error", role: "alert" });
  return element("details", {}, [
    element("summary", {}, "As a file"),
    element(
      "label",
      { for: "own-json" },
      "What is in the form, for pellucid example --file; or paste such a file here",
    ),
    own.json,
    element("div", { class: "own-buttons" }, button("Copy", copy), button("Download", download)),
    done,
  ]);
};
