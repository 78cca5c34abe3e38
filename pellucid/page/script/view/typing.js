// The form for a sentence that the reader types and, optionally, their own translation of it. Errors are shown beside
// their field, and typed text is kept.

import { button, element, found, redraw, say, words } from "../base/elements.js";
import { page } from "../base/page.js";
import { capitalised, madeOnce, visibleText } from "../base/text.js";
import { languageName } from "../base/tokens.js";
import { tokenise, withWord, wordsOfSide } from "../words/vocabulary.js";
import { computing } from "../runs/computed.js";
import { FIRST_TIME, setState, state } from "./state.js";
import { playOrPause, playing } from "./time.js";
import { current } from "./view.js";

let typed = null; // identifies the sentence that was submitted last
let isUnsent = false; // whether the fields have text that was not submitted

/** Start the form, which is part of the page's HTML. */
export const startTyping = () => {
  found("typing").addEventListener("submit", submitSentence);
  for (const field of typingFields()) field.addEventListener("input", whileTyping);
  found("typing").elements.to.addEventListener("change", () => {
    found("own-target").value = ""; // it is in the earlier language
    sendAgain();
  });
  for (const example of found("examples").querySelectorAll(".example"))
    example.addEventListener("click", () =>
      setState({ ...FIRST_TIME, text: example.textContent, to: example.dataset.to, target: null }),
    );
  fitTyping(page.runs[0].model);
};

const typingFields = () => ["own-sentence", "own-target", "own-second"].map(found);

/** Translate the typed sentence, or the shown one, again: after a change of the language or of a word. */
const sendAgain = () => {
  const [field] = typingFields();
  if (!field.value.trim()) field.value = current.base.text;
  field.form.requestSubmit();
};

const whileTyping = ({ target: field }) => {
  isUnsent = true;
  if (playing) playOrPause();
  tellTyping("", field);
};

/** Fit the form to a model: show its languages, the examples that it can read, and its words. */
export const fitTyping = (model) => {
  found("typing").hidden = found("why").hidden = !model.maker;
  fillChooser(found("typing").elements.to, model.vocabulary, page.runs[state.run].to);
  for (const example of found("examples").querySelectorAll(".example")) example.hidden = !canRead(model, example);
  const { kind, source, words_of } = model.vocabulary;
  const list = found("examples").querySelector(".word-list");
  list.hidden = kind !== "word" || !source; // other vocabularies have pieces, not words
  const known = (language) => wordsKnown(model.vocabulary, language);
  if (!list.hidden) redraw(list.querySelector("div"), (words_of ? Object.keys(words_of) : [null]).map(known));
};

/** Make a paragraph with the number of known words and the words: of one language or, without it, of all. */
const wordsKnown = (vocabulary, language) => {
  const known = wordsOfSide(vocabulary, "source", language).toSorted((one, other) => one.localeCompare(other));
  const heading = `${language ? `${languageName(language)}, ` : ""}${known.length} words: `;
  const listed = known.map((word) => [words(word), " "]);
  return element("p", element("b", heading), listed);
};

const canRead = (model, { textContent: text, dataset: { from, to } }) => {
  try {
    const { language, unknown } = tokenise(text, to, model);
    return language === from && unknown.length === 0;
  } catch {
    return false;
  }
};

/** Fill the chooser of the target language with options such as "English → Hindi"; hide it if there is only one. */
const fillChooser = (chooser, { languages, targets }, chosen) => {
  const sources = (to) => languages.filter((each) => each[1] === to).map(([from]) => languageName(from));
  const option = (to) =>
    element("option", { value: to, selected: to === chosen }, `${sources(to).join(", ")} → ${languageName(to)}`);
  chooser.hidden = targets.length < 2;
  redraw(chooser, targets.map(option));
};

/** Show an error in a field's text. Similar words for an unknown word are buttons that replace it. */
const tellTyping = (message, field, unknown = []) => {
  const children = [];
  let rest = capitalised(message.replace(/^(sentence|target): /, ""));
  for (const { word, near } of unknown.filter((each) => each.near.length)) {
    const listed = `${near.join(", ")}.`; // these words become buttons
    const at = rest.indexOf(listed);
    const offers = near.map((known) => [button(words(known), () => takeInstead(field, word, known), OFFER), " "]);
    children.push(rest.slice(0, at), offers);
    rest = rest.slice(at + listed.length);
  }
  redraw(found(`${field.id}-error`), children, rest);
  field.setAttribute("aria-invalid", String(Boolean(message)));
};

const OFFER = { type: "button", class: "offer" };

/** Replace an unknown word with another one, and translate. */
const takeInstead = (field, unknown, word) => {
  field.value = withWord(visibleText(field.value), unknown, word);
  field.focus();
  sendAgain();
};

/** Write the sentence that is shown into the fields, unless the reader is typing. */
export const writeTyped = ({ text, to, target, second, run }) => {
  const [field, targetField, secondField] = typingFields();
  if (isUnsent && typingFields().includes(document.activeElement)) return;
  isUnsent = false;
  field.value = text ?? "";
  targetField.value = target ?? "";
  secondField.value = second ?? "";
  found("why").open = Boolean(target ?? second);
  field.form.elements.to.value = to ?? page.runs[run].to;
};

/** Translate the typed text and show it; an error is shown beside its field. */
const submitSentence = async (event) => {
  event.preventDefault();
  const form = event.currentTarget;
  const { text: field, target: targetField, second: secondField, to: chooser } = form.elements;
  const to = chooser.value || page.runs[state.run].to;
  const [target, second] = [targetField, secondField].map(({ value }) =>
    found("why").open && value.trim() ? value : null,
  );
  const text = (target ?? second) !== null && !field.value.trim() ? current.base.text : field.value;
  const asked = (typed = Symbol(text));
  for (const each of typingFields()) tellTyping("", each);
  form.setAttribute("aria-busy", "true");
  let asking = field;
  try {
    const { model } = page.runs[state.run];
    const run = await ownRun(text, to, target, model);
    asking = secondField;
    if (second !== null) await ownRun(second, to, null, model);
    if (typed !== asked) return;
    say(`${run.text} becomes ${run.translation}`);
    isUnsent = false;
    field.value = text;
    const time =
      target === null
        ? FIRST_TIME
        : { mode: "training", position: Math.max(0, partingOf(run, await ownTranslation(run))) };
    const beside = second === null ? {} : { beside: "other" };
    await setState({ ...time, text, to, target, second, ...beside, row: null, column: null });
    if (second !== null) found("beside").scrollIntoView({ block: "nearest" });
  } catch (error) {
    if (typed === asked) tellTyping(error.message, error.side === "target" ? targetField : asking, error.unknown);
  } finally {
    form.removeAttribute("aria-busy");
  }
};

const ownRuns = new Map();

/** Return a run with the model's own translation of a run's sentence; null if it cannot be computed. */
export const ownTranslation = (run) =>
  run.model.maker ? ownRun(run.text, run.to, null, run.model).catch(() => null) : null;

/** Make the run of a model for the reader's sentence, once. A recording makes none, and computing says why. */
export const ownRun = (text, to, target, model) => {
  const key = JSON.stringify([page.models.indexOf(model), text, to, target]);
  return madeOnce(ownRuns, key, () => {
    const made = (model.maker ?? computing).explain(text, to, target, model);
    made.catch(() => ownRuns.delete(key));
    return made;
  });
};

/** Return the first position where a given translation differs from the model's own, or −1. */
export const partingOf = (run, said) => run.expected.findIndex((token, at) => token !== said?.expected[at]);
