// Text that is safe to show, and values that are computed once.

/** Replace control characters and lone surrogates, which cannot be seen, with �. */
export const visibleText = (text) => String(text).replace(/\p{Cc}|\p{Cs}/gu, "�");

/** The value of a key in a map; made and stored first if it is missing. */
export const madeOnce = (map, key, make) => {
  if (!map.has(key)) map.set(key, make());
  return map.get(key);
};

const keptOf = new WeakMap(); // an object -> what was made of it, by keys

/** What is made once of an object, by a key; kept as long as the object is. */
export const madeOnceOf = (owner, key, make) => {
  const kept = madeOnce(keptOf, owner, () => new Map());
  return madeOnce(kept, key, make);
};

export const capitalised = (text) => text.charAt(0).toUpperCase() + text.slice(1);
