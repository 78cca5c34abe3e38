// What tokens and languages are called. Capitals are special tokens, as notes write START.

import { visibleText } from "./text.js";

const MEANINGS = { "<s>": "START", "</s>": "END", "<pad>": "PAD", "<unk>": "UNKNOWN" };

/** A token as one reads it: of a special one its meaning. */
export const tokenName = (text) => meaningOf(text) ?? visibleText(text);

/** The same in plain text: “like”. */
export const quoted = (text) => `“${tokenName(text)}”`;

/** What a special token means; undefined of a word. */
export const meaningOf = (text) => {
  const language = /^>>([^<>]+)<<$/.exec(text)?.[1];
  if (language) return `to ${languageName(language)}`;
  return Object.hasOwn(MEANINGS, text) ? MEANINGS[text] : undefined;
};

export const languageName = (code) => {
  try {
    return new Intl.DisplayNames(["en"], { type: "language" }).of(code);
  } catch {
    return code;
  }
};
