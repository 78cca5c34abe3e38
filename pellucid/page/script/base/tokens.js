// The names of tokens and languages. Special tokens are shown in capitals, such as START.

import { visibleText } from "./text.js";

const MEANINGS = { "<s>": "START", "</s>": "END", "<pad>": "PAD", "<unk>": "UNKNOWN" };

/** Return a token for people to read; for a special token, its meaning. */
export const tokenName = (text) => meaningOf(text) ?? visibleText(text);

/** Return a token's name in quotation marks: “like”. */
export const quoted = (text) => `“${tokenName(text)}”`;

/** Return the meaning of a special token; undefined for a word. */
export const meaningOf = (text) => {
  const language = /^>>([^<>]+)<<$/.exec(text)?.[1];
  if (language) return `to ${languageName(language)}`;
  return Object.hasOwn(MEANINGS, text) ? MEANINGS[text] : undefined;
};

export const languageName = (code) => {
  try {
    return new Intl.DisplayNames(["en"], { type: "language" }).of(code.replace("_", "-"));
  } catch {
    return code;
  }
};
