// Text as it can be shown, and things made once.

/** Control characters and half pairs cannot be seen: a � stands for each. */
export const visibleText = (text) => String(text).replace(/\p{Cc}|\p{Cs}/gu, "�");

/** What a map has under a key; made where it has nothing yet. */
export const madeOnce = (map, key, make) => {
  if (!map.has(key)) map.set(key, make());
  return map.get(key);
};

export const capitalised = (text) => text.charAt(0).toUpperCase() + text.slice(1);
