// The places of tokens in a text.

import { visibleText } from "../base/text.js";
import { meaningOf } from "../base/tokens.js";

/** Return for each token where it stands in the text, {start, end}; the tokens are found in their order. A token that is
 *  not found has null: a special one, or one that a vocabulary writes in another way. */
export const placesOf = (text, tokens) => {
  let at = 0;
  return tokens.map((token) => {
    const word = visibleText(token).replace(/^▁/, "");
    const start = word && !meaningOf(token) ? text.indexOf(word, at) : -1;
    if (start < 0) return null;
    at = start + word.length;
    return { start, end: at };
  });
};
