// The names of tokens and languages. Special tokens are in capitals, as notes write START.

import { visibleText } from "./text.js";

const MEANINGS = { "<s>": "START", "</s>": "END", "<pad>": "PAD", "<unk>": "UNKNOWN" };

/** A token for people to read; a special token as its meaning. */
export const tokenName = (text) => meaningOf(text) ?? visibleText(text);

/** The same in plain text: “like”. */
export const quoted = (text) => `“${tokenName(text)}”`;

/** The meaning of a special token; undefined for a word. */
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
