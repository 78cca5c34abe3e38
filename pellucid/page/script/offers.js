// The words that the model knows, offered while typing.

const OFFERED = 6;
const knownWords = new WeakMap(); // of each side of a vocabulary

/** The words of a side, the shortest first; none where a word is cut into pieces. */
const wordsKnown = ({ vocabulary }, side) => {
  const pieces = vocabulary[side];
  if (vocabulary.kind !== "word" || !pieces) return [];
  const sorted = () => wordsOfSide(pieces).sort((a, b) => a.length - b.length || (a < b ? -1 : 1));
  return madeOnce(knownWords, pieces, sorted);
};

/** The word at the caret: where it begins, where it ends. */
const wordAtCaret = (field) => {
  const caret = field.selectionStart ?? field.value.length;
  const start = field.value.slice(0, caret).search(/\S*$/);
  const end = caret + field.value.slice(caret).search(/\s|$/);
  return { start, end, text: field.value.slice(start, caret) };
};

const offerWords = (field) => {
  tellTyping("", field);
  const { text } = wordAtCaret(field);
  const begin = text.toLocaleLowerCase();
  const offers = begin
    ? wordsKnown(page.runs[state.run].model, field.id === "own-target" ? "target" : "source")
        .filter((word) => word.toLocaleLowerCase().startsWith(begin) && word !== text)
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
const offerKeys = (event, field) => {
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
