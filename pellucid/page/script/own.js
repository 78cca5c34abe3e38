// One's own matrices: a form, and at once what comes of it. Nothing that was typed is lost, whatever is
// wrong.

const TYPING_PAUSE = 200; // milliseconds after the last letter until all is computed again

/**
 * Draws the form and its results into a place, once: what is typed stays. `first` is the table of the
 * example that it begins with, and then what comes of it stands before the form; an address that carries a
 * form goes before it. `remember(letters)` keeps the form in the address.
 */
const drawOwnForm = (place, { first = null, carried = "", remember = () => {} } = {}) => {
  if (place.querySelector(":scope > .own")) return undefined;
  const examples = page.header?.examples ?? [];
  const begun = formOfTable(first ?? examples.find(({ name }) => name === FIRST_EXAMPLE) ?? examples[0]);
  const own = { place, begun, form: (carried && formFromAddress(carried)) || begun, namesIt: first !== null };
  own.before = []; // forms that an example or a file has replaced
  const file = element("div", { class: "own-file" });
  place.replaceChildren(ownPlaces(own, file, first !== null));

  own.change = (changes, again = false) => {
    own.form = changedForm(own.form, changes);
    if (again) drawOwnFields(own);
    clearTimeout(own.waiting);
    own.waiting = setTimeout(() => workOut(own, remember), again ? 0 : TYPING_PAUSE);
  };
  own.replace = (form, told) => {
    own.before.push(own.form);
    own.form = form;
    drawOwnFields(own);
    drawOwnTools(own, examples);
    say(told);
    return workOut(own, remember);
  };
  drawOwnTools(own, examples);
  drawOwnFields(own);
  drawOwnFile(own, examples, file);
  return workOut(own, remember);
};

/** The form and what comes of it, side by side; the one that comes first is read first. */
const ownPlaces = (own, file, outcomeFirst) => {
  own.fields = element("div", { class: "own-fields" });
  own.tools = element("div", { class: "own-tools" });
  own.status = element("p", { class: "own-status", role: "status" });
  own.about = element("p", { class: "own-about" });
  own.results = element("div", { class: "own-results" });
  own.brief = element("div", { class: "own-brief", hidden: true });
  const form = element("section", { class: "own-form", "aria-label": "the numbers" });
  form.append(own.tools, own.fields, file, own.brief);
  const outcome = element("section", { class: "own-outcome", "aria-label": "what comes of them" });
  outcome.append(own.about, own.status, own.results);
  if (outcomeFirst) return element("div", { class: "own outcome-first" }, outcome, form);
  return element("div", { class: "own" }, form, outcome);
};

const FIRST_EXAMPLE = "004-cross-4";

/** Texts and claims are changed one by one; what was said about the example holds no longer. */
const changedForm = (form, changes) => ({
  ...(changes.start || changes.claimed ? form : withoutSource(form)),
  ...changes,
  texts: { ...form.texts, ...changes.texts },
  claims: { ...form.claims, ...changes.claims },
});

const drawOwnFields = (own) => {
  redraw(own.fields, ownFields(own.form, own.change));
  showFieldSizes(own.fields);
};

/** Choosing an example, the way back to what was there before, and an empty form. */
const drawOwnTools = (own, examples) => {
  const choose = (event) => {
    const example = examples.find(({ name }) => name === event.target.value);
    if (example) own.replace(formOfTable(example), `${example.name}: ${example.about}`);
  };
  const select = element(
    "select",
    { id: "own-example", "data-key": "own-example", change: choose },
    element("option", { value: "" }, "choose one of these …"),
    examples.map(({ name, about }) =>
      element("option", { value: name, selected: name === own.form.name }, `${name}: ${about}`),
    ),
  );
  const back = () => {
    own.form = own.before.pop();
    own.replace(own.form, "As it was before.");
    own.before.splice(-1);
    drawOwnTools(own, examples);
  };
  redraw(
    own.tools,
    element(
      "div",
      { class: "own-field" },
      element("label", { for: "own-example" }, "An example to begin with"),
      select,
    ),
    own.before.length
      ? element("button", { type: "button", "data-key": "own-back", click: back }, "Back to what I had")
      : null,
    element(
      "button",
      {
        type: "button",
        "data-key": "own-clear",
        click: () => own.replace({ ...EMPTY_FORM, start: own.form.start }, "The form is empty."),
      },
      "Empty the form",
    ),
  );
};

/** Computes everything from what is typed; where that cannot be, says why, and leaves what was there. */
const workOut = async (own, remember) => {
  const isAsBegun = JSON.stringify(own.form) === JSON.stringify(own.begun);
  const carried = isAsBegun ? "" : formIntoAddress(own.form);
  remember(carried ?? "");
  showAbout(own, isAsBegun, carried === null);
  showFieldSizes(own.fields);
  try {
    const table = tableOfForm(own.form);
    const example = exampleOf(table, own.form.name || "own");
    const worked = workedExample(example.asked);
    const report = checkClaims(worked, example.claims, example.decimals);
    own.table = table;
    showFieldError(own.place, null);
    own.status.textContent = "";
    own.status.classList.remove("is-wrong");
    own.results.classList.remove("is-old");
    own.showFile?.();
    showBrief(own, report);
    if (JSON.stringify(table) === own.drawn) return;
    own.drawn = JSON.stringify(table);
    const results = await ownResults(example, worked, report, own.form.note !== "");
    if (JSON.stringify(table) === own.drawn) own.results.replaceChildren(results);
  } catch (error) {
    if (!(error instanceof UsageError)) throw error;
    const below = showFieldError(own.place, error);
    own.status.textContent =
      below && own.drawn ? `Below is what came before the last change. ${error.message}` : error.message;
    own.status.classList.add("is-wrong");
    own.results.classList.add("is-old");
    showBrief(own, null, error.message);
  }
};

/** Which example this is, where the page's own heading does not say it. */
const showAbout = ({ about, form, begun, namesIt }, isAsBegun, isTooLarge) => {
  const lines = form.note ? element("small", {}, ` note ${form.note}, lines ${form.lines}`) : "";
  const own = namesIt && begun.name ? `Changed: no longer ${begun.name}.` : "Your own numbers.";
  about.hidden = namesIt && isAsBegun;
  about.replaceChildren(...(form.name ? [element("b", {}, form.name), ` ${form.about} `, lines] : [own]));
  if (isTooLarge)
    about.append(" Too large for the address of this page: it is gone when the page is closed. Keep it as a file, below.");
};

/** The verdict once more, small, where one types; it is also what is said aloud. */
const showBrief = (own, report, fault = "") => {
  const told =
    fault || (report.cells.length ? verdictSentence(report).text : "Computed. Nothing is claimed.");
  const verdict = fault ? "wrong" : report.cells.length ? verdictSentence(report).verdict : "right";
  const show = () => own.place.querySelector(".own-outcome").scrollIntoView({ block: "start" });
  own.brief.hidden = false;
  own.brief.className = `own-brief ${verdictClass(verdict)}`;
  redraw(
    own.brief,
    element(
      "p",
      {},
      element("span", { class: "verdict-sign", "aria-hidden": "true" }, fault ? "!" : VERDICT_SIGNS[verdict]),
      " ",
      told,
    ),
    element("button", { type: "button", "data-key": "own-show", click: show }, "Show"),
  );
  if (own.said !== undefined && own.said !== told) say(told);
  own.said = told;
};
