// A sentence of the reader's own, and where wanted a translation of their own: why not this one? Errors stand beside
// their field, and nothing that was typed is lost.

import { button, element, found, redraw, say, words } from "../base/elements.js";
import { page } from "../base/page.js";
import { capitalised, madeOnce, visibleText } from "../base/text.js";
import { languageName } from "../words/tokens.js";
import { sourceLanguageOf, tokenise, wordsOfSide } from "../words/vocabulary.js";
import { explainText } from "../runs/computed.js";
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
export const drawTyping = (model) => {
  const [text, wanted] = ["own-sentence", "own-target"].map((id) => found(id)?.value ?? "");
  redraw(found("examples"), exampleButtons(model), knownWords(model));
  found("typing").hidden = found("unfold-target").hidden = !model.computes;
  redraw(found("typing"), model.computes && sentenceForm(model, text));
  redraw(found("why"), model.computes && targetField(wanted));
  found("unfold-target").onclick = unfoldTarget;
  foldTarget(!wanted || !model.computes);
};

const sentenceForm = (model, text) =>
  element("form.typing", { id: "own-typing", submit: submitSentence }, [
    element("label.unseen", { for: "own-sentence" }, "Your own sentence"),
    element("div.typing-line", [
      typingField("own-sentence", { name: "text", placeholder: "Type your own sentence", value: text || null }),
      directionChooser(model, page.runs[state.run].to),
      element("button.go", "Translate"),
    ]),
    element("p.error", { id: "own-sentence-error", role: "alert" }),
    element("datalist", { id: "offers" }),
  ]);

const targetField = (wanted) => [
  element("label", { for: "own-target" }, "Type another translation, to see where the model goes another way:"),
  typingField("own-target", { name: "target", form: "own-typing", value: wanted || null }),
  element("button.go", { form: "own-typing" }, "Compare"),
  element("p.error", { id: "own-target-error", role: "alert" }),
];

const typingField = (id, properties) =>
  element("input", {
    ...properties,
    id,
    type: "text",
    list: "offers",
    autocapitalize: "off",
    spellcheck: "false",
    enterkeyhint: "go",
    "aria-describedby": `${id}-error`,
    input: ({ target: field }) => {
      if (playing) playOrPause();
      tellTyping("", field);
      redraw(found("offers"), offersFor(field));
    },
  });

// Sentences to begin with, as [text, from, to]; a page offers those that its model can read.
const EXAMPLES = [
  ["How are you", "en", "hi"],
  ["I like cats", "en", "es"],
  ["The boat is near the bank.", "en", "es"],
  ["je suis étudiant", "fr", "en"],
];

const exampleButtons = (model) =>
  EXAMPLES.filter((example) => canRead(model, ...example)).map(([text, , to]) =>
    button(words(text), () => setState({ ...FIRST_TIME, text, to, target: null }), {
      class: "example",
      "data-key": `example-${text}`,
      title: `to ${languageName(to)}`,
    }),
  );

const canRead = (model, text, from, to) => {
  const { languages = [] } = model.vocabulary;
  if (!model.computes || !languages.some((each) => each.join() === `${from},${to}`)) return false;
  try {
    return tokenise(text, to, model).unknown.length === 0;
  } catch {
    return false;
  }
};

/** The words of a side, of one language where these are known; none where a word is cut into pieces. */
const wordsKnown = ({ vocabulary }, side, language = null) =>
  vocabulary.kind === "word" && vocabulary[side] ? wordsOfSide(vocabulary, side, language) : [];

const knownWords = (model) => {
  const known = model.computes ? wordsKnown(model, "source") : [];
  if (!known.length) return null;
  const list = () => known.toSorted((a, b) => a.localeCompare(b)).map((word) => [words(word), " "]);
  const fold = element("details.word-list", element("summary", `${known.length} words it knows`));
  fold.addEventListener("toggle", () => fold.children[1] ?? fold.append(element("p", { tabindex: 0 }, list())));
  return fold;
};

const OFFERED = 6;

/** The field's text with its last word completed: the browser offers these while one types. */
const offersFor = (field) => {
  const { model, to: shown } = page.runs[state.run];
  const to = field.form.elements.to?.value ?? shown;
  const [side, language] =
    field.id === "own-target" ? ["target", to] : ["source", sourceLanguageOf(model.vocabulary, to)];
  const [, before, begun] = /^(.*?)(\S*)$/s.exec(field.value);
  const begins = (word) => word !== begun && word.toLocaleLowerCase().startsWith(begun.toLocaleLowerCase());
  return (begun ? wordsKnown(model, side, language).filter(begins) : [])
    .sort((a, b) => a.length - b.length || (a < b ? -1 : 1))
    .slice(0, OFFERED)
    .map((word) => element("option", { value: `${before}${word} ` }));
};

/** The languages that a model translates into, as "English → Hindi"; null where there is one. */
const directionChooser = ({ vocabulary: { languages = [] } }, chosen) => {
  const targets = [...new Set(languages.map(([, to]) => to))];
  if (targets.length < 2) return null;
  const sources = (to) => languages.filter((each) => each[1] === to).map(([from]) => languageName(from));
  const option = (to) =>
    element("option", { value: to, selected: to === chosen }, `${sources(to).join(", ")} → ${languageName(to)}`);
  return element("select", { name: "to", "aria-label": "languages" }, targets.map(option));
};

/** Show what is wrong with a field's text: every unknown word, with similar ones, of which a click takes one. */
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

/** Another word in the place of an unknown one. */
const takeInstead = (field, unknown, word) => {
  field.value = visibleText(field.value).replace(unknown, () => word);
  tellTyping("", field);
  field.focus();
};

// The second field

const foldTarget = (folded) => {
  found("why").hidden = folded;
  found("unfold-target").setAttribute("aria-expanded", String(!folded));
};

/** Show or hide the field for the reader's own translation; hidden, it is empty. */
const unfoldTarget = () => {
  const field = found("own-target");
  const folded = !found("why").hidden;
  foldTarget(folded);
  if (!folded) return field.focus();
  field.value = "";
  return tellTyping("", field);
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

/** Translate what was typed and show it; an error stays beside its field. */
const submitSentence = async (event) => {
  event.preventDefault();
  const form = event.currentTarget;
  const { text: field, target: targetField, to: chooser } = form.elements;
  const to = chooser?.value ?? page.runs[state.run].to;
  const target = targetField.value.trim() ? targetField.value : null;
  const text = target !== null && !field.value.trim() ? current.base.text : field.value;
  const asked = (typed = Symbol(text));
  for (const each of [field, targetField]) tellTyping("", each);
  form.setAttribute("aria-busy", "true");
  try {
    const run = await ownRun(text, to, target, page.runs[state.run].model);
    if (typed !== asked) return;
    say(`${run.text} becomes ${run.translation}`);
    field.value = text;
    const time = target === null ? FIRST_TIME : { mode: "training", position: 0 };
    await setState({ ...time, text, to, target, row: null, column: null });
  } catch (error) {
    if (typed === asked) tellTyping(error.message, error.side === "target" ? targetField : field, error.unknown);
  } finally {
    form.removeAttribute("aria-busy");
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
