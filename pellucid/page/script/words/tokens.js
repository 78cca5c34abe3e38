// What tokens and languages are called.

import { visibleText } from "../base/text.js";

/** A token as one reads it: of a special one its meaning. */
export const tokenName = (text) => meaningOf(text) ?? visibleText(text);

export const meaningOf = (text) => {
  const language = /^>>([^<>]+)<<$/.exec(text)?.[1];
  return language ? `to ${languageName(language)}` : MEANINGS.get(text);
};

const MEANINGS = new Map(Object.entries({ "<s>": "start", "</s>": "end", "<pad>": "padding", "<unk>": "unknown" }));

export const languageName = (code) => {
  try {
    return new Intl.DisplayNames(["en"], { type: "language" }).of(code);
  } catch {
    return code;
  }
};
