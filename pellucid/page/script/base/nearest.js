// Find the known words that are most similar to a word.

/** Return the `count` most similar known words, most similar first. Similarity, from 0 to 1, is at least `cutoff`. */
export const closeMatches = (word, known, count, cutoff) =>
  [...new Set(known)]
    .map((each) => [likeness(each, word), each])
    .filter(([alike]) => alike >= cutoff)
    .sort(([one], [other]) => other - one)
    .slice(0, count)
    .map(([, each]) => each);

/** Return the share of letters that two words have in common, in any order; an equal beginning breaks ties. */
const likeness = (one, other) => {
  const left = [...other];
  let [shared, alike] = [0, 0];
  for (const letter of one) {
    const place = left.indexOf(letter);
    if (place < 0) continue;
    left.splice(place, 1);
    shared += 1;
  }
  while (alike < one.length && one[alike] === other[alike]) alike += 1;
  return (2 * shared + alike / 1000) / (one.length + other.length);
};
