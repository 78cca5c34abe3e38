// The sentences of a text and their translations. A sentence is translated once: a longer text needs only what is new.

import { ask } from "../base/asking.js";

/** Take a text apart: {before, sentence, after} for each sentence, with the white space around it. */
export const sentencesOf = (text) =>
  Array.from(new Intl.Segmenter(undefined, { granularity: "sentence" }).segment(text), ({ segment }) => {
    const [, before, sentence, after] = /^(\s*)(.*?)(\s*)$/su.exec(segment);
    return { before, sentence, after };
  });

/** Return the words of a text, each with its first and last place; in every script, also where no spaces stand. */
export const wordsIn = (text, language) =>
  Array.from(segmenterOf(language).segment(text))
    .filter(({ isWordLike }) => isWordLike)
    .map(({ segment, index }) => ({ word: segment, start: index, end: index + segment.length }));

const segmenterOf = (language) => {
  try {
    return new Intl.Segmenter(language.replace("_", "-"), { granularity: "word" });
  } catch {
    return new Intl.Segmenter(undefined, { granularity: "word" }); // the name is no code
  }
};

const [found, chosen] = [new Map(), new Map()]; // the model's own translations, and those that the reader has chosen

const keyOf = ({ source, target }, sentence) => JSON.stringify([source, target, sentence]);

export const translationOf = (pair, sentence) => chosenOf(pair, sentence) ?? found.get(keyOf(pair, sentence));

/** Keep another translation of a sentence, which the reader has chosen; `chosenOf` returns it. */
export const chooseTranslation = (pair, sentence, text) => chosen.set(keyOf(pair, sentence), text);
export const chosenOf = (pair, sentence) => chosen.get(keyOf(pair, sentence));

/** Translate the sentences that are not known yet, and return their languages: the source is detected if it is "auto",
 *  from the longest sentence. settings: of `ask`. */
export const translateSentences = async (sentences, { source, target }, settings) => {
  const translate = async (texts, from) => {
    const question = { text: texts, source: from, target, format: "text" };
    const { translations } = await ask("v1/translate", question, settings);
    const pair = { source: translations[0].source, target };
    translations.forEach(({ text }, at) => found.set(keyOf(pair, texts[at]), text));
    return pair;
  };
  const longest = sentences.toSorted((one, other) => other.length - one.length).slice(0, 1);
  const pair = source === "auto" ? await translate(longest, source) : { source, target };
  const missing = [...new Set(sentences)].filter((each) => translationOf(pair, each) === undefined);
  return missing.length ? translate(missing, pair.source) : pair;
};
