// Text that is safe to show, and values that are computed once.

/** Replace control characters and lone surrogates, which cannot be seen, with �. */
export const visibleText = (text) => String(text).replace(/\p{Cc}|\p{Cs}/gu, "�");

/** The value of a key in a map; made and stored first if it is missing. */
export const madeOnce = (map, key, make) => {
  if (!map.has(key)) map.set(key, make());
  return map.get(key);
};

export const capitalised = (text) => text.charAt(0).toUpperCase() + text.slice(1);
