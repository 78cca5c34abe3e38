// A vocabulary turns text into ids and back, as pellucid/text/vocabulary.py and pellucid/translate/sentences.py do.

import { closeMatches } from "../base/nearest.js";
import { page } from "../base/page.js";
import { visibleText } from "../base/text.js";
import { languageName } from "../base/tokens.js";
import { idsOfText, openPieces, textOfIds } from "./pieces.js";
import { joinWords, prepareWords, splitAtSpaces } from "./preparation.js";

const MOST_TOKENS = 256; // of a source or a given target: attention matrices grow with the square of the length
const MOST_CHARACTERS = 20 * MOST_TOKENS; // a longer text would take too long to split
const START = /^\s*(START|<s>)(?=\s)/; // a start token that the user typed: it is removed, the model adds its own

/** Return a vocabulary of the page's data with its source and target, if it has pieces, ready to split text. */
export const openVocabulary = (vocabulary, config) => {
  const targets = [...new Set(vocabulary.languages.map(([, to]) => to))];
  if (!vocabulary.source) return { ...vocabulary, targets, tokens: {} };
  const label = labelsOfPieces(vocabulary, config);
  const source = openPieces(vocabulary.source, vocabulary, config.unknown_id);
  const target = vocabulary.target ? openPieces(vocabulary.target, vocabulary, config.unknown_id) : source;
  const tokens = { source: source.pieces.map(label), target: target.pieces.map(label) };
  return { ...vocabulary, targets, tokens, source, target };
};

/** Return a function (piece, id) => the piece's name for people to read. */
const labelsOfPieces = ({ kind }, config) => {
  const ids = [config.end_id, config.start_id, config.unknown_id, config.pad_id]; // if ids are equal, the last one wins
  const special = Object.fromEntries(ids.map((id, place) => [id, ["</s>", "<s>", "<unk>", "<pad>"][place]]));
  const stripped = (piece) => (kind === "word" ? piece.replace(/^▁/, "") : piece);
  return (piece, id) => stripped(special[id] ?? piece);
};

/**
 * Split a sentence, or a given target (then without a start token), into ids; the end token comes last. `unknown`:
 * [{word, near: [words]}]; `foreign`: an error if it is in another language; `tags`: the number of language tokens.
 */
export const tokenise = (typed, to, model = page.runs[0].model, side = "source") => {
  const { vocabulary, config } = model;
  refuseRecording(model);
  if (typed.length > MOST_CHARACTERS) throw tooLong(side);
  const text = vocabulary.kind === "word" ? typed.replace(START, "") : typed;
  const isSource = side === "source";
  const target = targetLanguageOf(vocabulary, to);
  const language = isSource ? sourceLanguageOf(vocabulary, target) : target;
  const isTagged = isSource && vocabulary.targets.length > 1;
  const tags = isTagged ? [vocabulary.source.pieces.indexOf(`>>${target}<<`)] : [];
  const ids = [...tags, ...idsOfText(vocabulary[side], prepared(vocabulary, text, language)), config.end_id];
  const visible = prepared(vocabulary, visibleText(text), language);
  return {
    ids,
    unknown: unknownWords(vocabulary, side, visible, language, ids),
    foreign: isSource ? inAnotherLanguage(vocabulary, visible, language, target) : "",
    to: target,
    language,
    tags: tags.length,
    side,
  };
};

/** Return the text of target ids. */
export const textOfTarget = (ids, to, model = page.runs[0].model) => {
  const { vocabulary, config } = model;
  const said = ids.filter((id) => ![config.pad_id, config.start_id, config.end_id].includes(id));
  const text = textOfIds(vocabulary.target, said);
  const restored = vocabulary.preparation === "words" ? joinWords(text, targetLanguageOf(vocabulary, to)) : text;
  return restored.replaceAll("\n", " "); // a byte token can be a line feed, but a translation is one line
};

const refuseRecording = ({ vocabulary, computes }) => {
  if (!computes)
    throw new Error(`This page holds a recording, not the model: it cannot read another sentence. ${IN_PYTHON}`);
  if (vocabulary.cannot) throw new Error(`${vocabulary.cannot} ${IN_PYTHON}`);
};

const IN_PYTHON = 'In Python, pellucid.load(model).explain("…").to_html(path) makes a page of it.';

/** Normalise text for the vocabulary. A lone surrogate is not a character: it becomes a question mark. */
const prepared = ({ preparation }, text, language) => {
  const valid = text.replace(/\p{Cs}/gu, "?");
  return preparation === "words" ? prepareWords(valid, language) : valid;
};

const targetLanguageOf = ({ targets }, to) => {
  if (to ? targets.includes(to) : targets.length < 2) return to || (targets[0] ?? null);
  const names = targets.join(", ") || "one language, which it does not name";
  throw new Error(`the model translates to ${names}${to ? `, not to "${to}"` : ""}: say which.`);
};

/** Return the source language of translations to `to`, or null if there are several. */
const sourceLanguageOf = ({ languages }, to) => {
  const possible = new Set(languages.filter(([, target]) => target === to).map(([source]) => source));
  return possible.size === 1 ? [...possible][0] : null;
};

/** If tokens are words, return the unknown words of a text, each with the most similar known words. */
const unknownWords = (vocabulary, sideName, text, language, ids) => {
  const side = vocabulary[sideName];
  if (vocabulary.kind !== "word" || !ids.includes(side.unknownId)) return [];
  const unknown = splitAtSpaces(text).filter((word) => idsOfText(side, word).includes(side.unknownId));
  if (!unknown.length) return [];
  const known = new Map(wordsOfSide(vocabulary, sideName, language).map((word) => [word.toLowerCase(), word]));
  const nearest = (word) => closeMatches(word.toLowerCase(), [...known.keys()], 3, 0.6);
  return [...new Set(unknown)].map((word) => ({ word, near: nearest(word).map((letters) => known.get(letters)) }));
};

/** Correct upper and lower case in a text: if the vocabulary has an unknown word in another case, use that case. */
export const inKnownCase = (text, to, model, side = "source") => {
  const isSame = (word, known) => known?.toLowerCase() === word.toLowerCase();
  const others = tokenise(text, to, model, side).unknown.filter(({ word, near }) => isSame(word, near[0]));
  return others.reduce((written, { word, near }) => withWord(written, word, near[0]), text);
};

/** Replace a word of a text by another word. */
export const withWord = (text, word, other) => {
  const letters = word.replace(/[.*+?^${}()|[\]\\/]/g, "\\$&");
  const inside = "[\\p{L}\\p{M}\\p{N}]";
  return text.replace(new RegExp(`(?<!${inside})${letters}(?!${inside})`, "gu"), () => other);
};

/** Return the words of one side of a vocabulary; if their languages are known, only those of one language. */
export const wordsOfSide = (vocabulary, sideName, language = null) => {
  const { pieces } = vocabulary[sideName];
  const own = vocabulary.words_of?.[language]?.map((id) => pieces[id]) ?? pieces;
  return own.filter((piece) => /^▁./u.test(piece)).map((piece) => piece.slice(1));
};

/** Return an error message if a text is in another language than `from`, or "". */
const inAnotherLanguage = (vocabulary, text, from, to) => {
  if (!vocabulary.words_of?.[from]) return "";
  const wordsIn = (language) => new Set(wordsOfSide(vocabulary, "source", language));
  const words = splitAtSpaces(text).filter((word) => /^\p{L}+$/u.test(word));
  const own = wordsIn(from);
  if (!words.length || words.some((word) => own.has(word))) return "";
  const languages = Object.keys(vocabulary.words_of).filter((language) => language !== from);
  const other = languages.find((language) => words.every((word) => wordsIn(language).has(word)));
  if (!other) return "";
  const ways = vocabulary.languages.filter(([source]) => source === other).map(([, target]) => target);
  const remedy = ways.length ? `, or translate to ${ways.map(languageName).join(" or ")}` : "";
  const [is, asked, needed] = [other, to, from].map(languageName);
  return `sentence: this is in ${is}, but to translate to ${asked} the model needs ${needed}. Write it in ${needed}${remedy}.`;
};

/** Throw an error if a sentence is empty, too long or in a wrong language, or if it has an unknown word. */
export const checkTokens = ({ ids, unknown, foreign, tags, language, side }, vocabulary) => {
  const isSource = side === "source";
  if (isSource && ids.length === tags + 1)
    throw new Error('the sentence is empty: nothing to explain. Give one, such as "How are you".');
  if (ids.length > MOST_TOKENS) throw tooLong(side);
  if (foreign) throw ofSide(side, foreign);
  if (!unknown.length) return;
  const known = wordsOfSide(vocabulary, side, language).length;
  const none = `It knows ${known} words, and none is near this one. Say it with others.`;
  const advice = ({ near }) => (near.length ? `Near it: ${near.join(", ")}.` : none);
  const each = unknown.map((one) => `"${one.word}": ${advice(one)}`).join(" ");
  const many = `the model does not have ${unknown.length} of these words. ${each}`;
  const one = `the model has no word "${unknown[0].word}". ${advice(unknown[0])}`;
  throw ofSide(side, `${FIELDS[side]}: ${unknown.length === 1 ? one : many}`, { unknown });
};

const FIELDS = { source: "sentence", target: "target" }; // the names of the input fields

/** Make an error with the name of an input field; it is shown beside this field. */
const ofSide = (side, message, more = {}) => Object.assign(new Error(message), { side: FIELDS[side], ...more });

const MATRICES = "its matrices grow with the square of the length. Give a shorter one.";
const tooLong = (side) =>
  ofSide(side, `the ${FIELDS[side]} is longer than the ${MOST_TOKENS} tokens that an explanation shows: ${MATRICES}`);
