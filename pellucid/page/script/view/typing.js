// A sentence of the reader's own, and where wanted a translation of their own: why not this one? Errors stand beside
// their field, and nothing that was typed is lost.

import { button, element, found, redraw, say, words } from "../base/elements.js";
import { page } from "../base/page.js";
import { madeOnce } from "../base/text.js";
import { languageName } from "../words/tokens.js";
import { tokenise } from "../words/vocabulary.js";
import { explainText } from "../runs/computed.js";
import { offerKeys, offerWords, tellTyping, wordsKnown } from "./offers.js";
import { FIRST_TIME, setState, state } from "./state.js";
import { playOrPause, playing } from "./time.js";
import { current } from "./view.js";

let typed = null; // a sentence that is being computed
let notExplained = null; // {text, to, target} of an address: what cannot be explained can still be mended

/** Keep what an address asked for and what cannot be explained, so that it can be mended. */
export const keepToMend = (asked) => {
  notExplained = asked;
};

/** Draw the form for a model; text typed for another model stays in it. */
export const drawTyping = (model, place) => {
  const [text, wanted] = ["own-sentence", "own-target"].map((id) => found(id)?.value ?? "");
  const why = found("why");
  place.hidden = found("unfold-target").hidden = !model.computes;
  drawExamples(model, found("examples"));
  if (place.hidden) {
    foldTarget(true);
    return redraw(place);
  }
  const shown = page.runs[state.run];
  const field = typingField("own-sentence", "text", "Type your own sentence", text);
  const target = typingField("own-target", "target", "another translation", wanted, { form: "own-typing" });
  const to = directionChooser(model, shown.to);
  const submit = (event) => {
    event.preventDefault();
    submitSentence(field, to?.value ?? shown.to, target);
  };
  redraw(place, [
    element("form", { class: "typing", id: "own-typing", submit }, [
      element("label", { for: "own-sentence", class: "unseen" }, "Your own sentence"),
      element("div", { class: "typing-line" }, field, to, element("button", { class: "go" }, "Translate")),
      element("div", { class: "typing-told" }, [
        element("p", { id: "own-sentence-error", class: "error", role: "alert" }),
        element("div", { id: "offers", class: "offers", role: "group", "aria-label": "words that the model knows" }),
      ]),
    ]),
  ]);
  redraw(why, [
    element("label", { for: "own-target" }, "Type another translation, to see where the model goes another way:"),
    target,
    element("button", { class: "go", form: "own-typing" }, "Compare"),
    element("p", { id: "own-target-error", class: "error", role: "alert" }),
  ]);
  found("unfold-target").onclick = () => unfoldTarget(target);
  foldTarget(!wanted);
};

// Sentences to begin with, as [text, from, to]; a page offers those that its model can read.
const EXAMPLES = [
  ["How are you", "en", "hi"],
  ["I like cats", "en", "es"],
  ["The boat is near the bank.", "en", "es"],
  ["je suis étudiant", "fr", "en"],
];

/** Example sentences as chips, and all the words that the model knows. */
const drawExamples = (model, place) => {
  const examples = EXAMPLES.filter((example) => canRead(model, ...example));
  const known = wordsKnown(model, "source");
  const show = (text, to) => setState({ ...FIRST_TIME, text, to, target: null });
  redraw(place, [
    examples.map(([text, , to]) =>
      button(words(text), () => show(text, to), {
        class: "example",
        "data-key": `example-${text}`,
        title: `to ${languageName(to)}`,
      }),
    ),
    model.computes && known.length ? wordList(known) : null,
  ]);
};

const canRead = (model, text, from, to) => {
  if (!model.computes || !model.vocabulary.languages?.some(([one, other]) => one === from && other === to))
    return false;
  try {
    return tokenise(text, to, model).unknown.length === 0;
  } catch {
    return false;
  }
};

const wordList = (known) => {
  const fold = element("details", { class: "word-list" }, element("summary", {}, `${known.length} words it knows`));
  const sorted = () => known.toSorted((a, b) => a.localeCompare(b)).map((word) => [words(word), " "]);
  fold.addEventListener("toggle", () => fold.children[1] ?? fold.append(element("p", { tabindex: 0 }, sorted())));
  return fold;
};

const typingField = (id, name, placeholder, value, also = {}) => {
  const field = element("input", {
    ...also,
    id,
    name,
    type: "text",
    autocomplete: "off",
    autocapitalize: "off",
    spellcheck: "false",
    enterkeyhint: "go",
    "aria-describedby": `${id}-error`,
    "aria-controls": "offers",
    placeholder,
    value: value || null,
    input: () => {
      if (playing) playOrPause();
      offerWords(field);
    },
    keydown: (event) => offerKeys(event, field),
  });
  return field;
};

/** The languages that a model translates into; null where there is one. */
const directionChooser = ({ vocabulary }, to) => {
  const directions = vocabulary.languages ?? [];
  const targets = [...new Set(directions.map(([, target]) => target))];
  const option = (target) =>
    element("option", { value: target, selected: target === to }, directionName(directions, target));
  return targets.length > 1 ? element("select", { name: "to", "aria-label": "languages" }, targets.map(option)) : null;
};

/** "English → Hindi": the languages that are translated into this one. */
const directionName = (directions, target) =>
  `${directions
    .filter(([, to]) => to === target)
    .map(([from]) => languageName(from))
    .join(", ")} → ${languageName(target)}`;

// The second field

const foldTarget = (folded) => {
  found("why").hidden = folded;
  found("unfold-target").setAttribute("aria-expanded", String(!folded));
};

/** Show or hide the field for the reader's own translation; hidden, it is empty. */
const unfoldTarget = (target) => {
  const folded = !found("why").hidden;
  foldTarget(folded);
  if (folded) {
    target.value = "";
    tellTyping("", target);
  } else target.focus();
};

/** Write the shown sentence, or the one of an address that failed, into the fields, unless the reader is typing. */
export const showTyped = () => {
  const [field, target] = [found("own-sentence"), found("own-target")];
  const shown = state.text === null ? notExplained : state;
  notExplained = null;
  if (!field || !shown || [field, target].includes(document.activeElement)) return;
  field.value = shown.text;
  target.value = shown.target ?? "";
  foldTarget(!shown.target);
  if (field.form.elements.to && shown.to) field.form.elements.to.value = shown.to;
};

/** Translate what was typed and shows it; an error stays beside its field. */
const submitSentence = async (field, to, targetField) => {
  const target = targetField.value.trim() ? targetField.value : null;
  const text = target !== null && !field.value.trim() ? current.base.text : field.value;
  const asked = (typed = Symbol(text));
  tellTyping("", field);
  tellTyping("", targetField);
  field.form.setAttribute("aria-busy", "true");
  try {
    const run = await ownRun(text, to, target, page.runs[state.run].model);
    if (typed !== asked) return;
    say(`${run.text} becomes ${run.translation}`);
    field.value = text;
    await setState({
      ...(target === null ? FIRST_TIME : { mode: "training", position: 0 }),
      text,
      to,
      target,
      row: null,
      column: null,
    });
    redraw(found("offers"));
  } catch (error) {
    if (typed === asked) tellTyping(error.message, error.side === "target" ? targetField : field, error.unknown);
  } finally {
    field.form.removeAttribute("aria-busy");
  }
};

const ownRuns = new Map();

/** The run of a model over a sentence of the reader's own, made once. */
export const ownRun = (text, to, target, model) => {
  const key = JSON.stringify([page.models.indexOf(model), text, to, target]);
  return madeOnce(ownRuns, key, () => {
    const made = explainText(text, to, target, model);
    made.catch(() => ownRuns.delete(key));
    return made;
  });
};
