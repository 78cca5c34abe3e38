// Text that is safe to show, and values that are computed once.

/** Replace invisible characters (control characters and lone surrogates) with �. */
export const visibleText = (text) => String(text).replace(/\p{Cc}|\p{Cs}/gu, "�");

/** Return the value of a key in a map; if it is missing, make and store it first. */
export const madeOnce = (map, key, make) => {
  if (!map.has(key)) map.set(key, make());
  return map.get(key);
};

const keptOf = new WeakMap(); // an object -> a map of the values computed from it

/** Return a value that is computed once for an object and a key, and kept as long as the object exists. */
export const madeOnceOf = (owner, key, make) => {
  const kept = madeOnce(keptOf, owner, () => new Map());
  return madeOnce(kept, key, make);
};

export const capitalised = (text) => text.charAt(0).toUpperCase() + text.slice(1);
