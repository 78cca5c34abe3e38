// Captions have letters above and below the line: the table of tensors writes them as <sup> and <sub>.

import { element } from "./elements.js";

/** Such words as nodes; nothing else in them becomes an element. */
export const withScripts = (text) => {
  const parts = text.split(/<(su[bp])>(.*?)<\/\1>/);
  return parts.flatMap((part, place) => {
    if (place % 3 === 1) return [];
    return place % 3 === 2 ? [element(parts[place - 1], {}, part)] : part ? [part] : [];
  });
};

/** The same words without their markup, for what is read aloud or copied. */
export const withoutScripts = (text) => text.replace(/<sup>T<\/sup>/g, "ᵀ").replace(/<\/?su[bp]>/g, "");
