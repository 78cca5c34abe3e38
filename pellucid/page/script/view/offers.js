// The words that the model knows, offered while typing.

import { button, found, redraw, words } from "../base/elements.js";
import { page } from "../base/page.js";
import { capitalised, visibleText } from "../base/text.js";
import { sourceLanguageOf, wordsOfSide } from "../words/vocabulary.js";
import { state } from "./state.js";

const OFFERED = 6;

/** The words of a side, of one language where these are known; none where a word is cut into pieces. */
export const wordsKnown = ({ vocabulary }, side, language = null) =>
  vocabulary.kind === "word" && vocabulary[side] ? wordsOfSide(vocabulary, side, language) : [];

/** The words that may be typed into a field, in the direction that is chosen. */
const wordsFor = (field) => {
  const { model, to: shown } = page.runs[state.run];
  const to = field.form.elements.to?.value ?? shown;
  if (field.id === "own-target") return wordsKnown(model, "target", to);
  return wordsKnown(model, "source", sourceLanguageOf(model.vocabulary, to));
};

/** The word at the caret: where it begins, where it ends. */
const wordAtCaret = (field) => {
  const caret = field.selectionStart ?? field.value.length;
  const start = field.value.slice(0, caret).search(/\S*$/);
  const end = caret + field.value.slice(caret).search(/\s|$/);
  return { start, end, text: field.value.slice(start, caret) };
};

export const offerWords = (field) => {
  tellTyping("", field);
  const { text } = wordAtCaret(field);
  const begin = text.toLocaleLowerCase();
  const offers = begin
    ? wordsFor(field)
        .filter((word) => word.toLocaleLowerCase().startsWith(begin) && word !== text)
        .sort((a, b) => a.length - b.length || (a < b ? -1 : 1))
        .slice(0, OFFERED)
    : [];
  redraw(found("offers"), [
    offers.map((word) =>
      button(words(word), () => takeWord(field, word), {
        type: "button",
        class: "offer",
        keydown: (event) => offerKeys(event, field),
      }),
    ),
  ]);
};

const takeWord = (field, word) => {
  const { start, end } = wordAtCaret(field);
  const after = field.value.slice(end);
  field.value = `${field.value.slice(0, start)}${word}${after || " "}`;
  field.focus();
  const caret = start + word.length + (after ? 0 : 1);
  field.setSelectionRange(caret, caret);
  offerWords(field);
};

/** Down goes to the words offered, up and Escape back to the field. */
export const offerKeys = (event, field) => {
  const offers = [...found("offers").children];
  const at = offers.indexOf(event.target);
  const to = {
    ArrowDown: at + 1,
    ArrowRight: at < 0 ? null : at + 1,
    ArrowUp: at - 1,
    ArrowLeft: at < 0 ? null : at - 1,
  }[event.key];
  if (event.key === "Escape" && at >= 0) field.focus();
  else if (to === undefined || to === null || offers.length === 0) return;
  else if (to < 0) field.focus();
  else (offers[to] ?? offers.at(-1)).focus();
  event.preventDefault();
  event.stopPropagation();
};

/** Show what is wrong with a field's text: every unknown word, with similar ones, of which a click takes one. */
export const tellTyping = (message, field, unknown = []) => {
  const children = [];
  let rest = capitalised(message.replace(/^(sentence|target): /, ""));
  for (const { word, near } of unknown.filter((each) => each.near.length)) {
    const [before, ...after] = rest.split(`${near.join(", ")}.`); // these words become buttons
    const takeNear = (known) =>
      button(words(known), () => takeInstead(field, word, known), { type: "button", class: "offer" });
    children.push(before, ...near.flatMap((known) => [takeNear(known), " "]));
    rest = after.join(`${near.join(", ")}.`);
  }
  children.push(rest);
  found(`${field.id}-error`).replaceChildren(...children);
  field.setAttribute("aria-invalid", String(Boolean(message)));
};

/** Another word in the place of an unknown one. */
const takeInstead = (field, unknown, word) => {
  const text = visibleText(field.value);
  const start = text.indexOf(unknown);
  if (start >= 0) field.value = field.value.slice(0, start) + word + field.value.slice(start + unknown.length);
  tellTyping("", field);
  field.focus();
};
