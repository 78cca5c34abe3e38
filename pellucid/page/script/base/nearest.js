// Which of the known words are near one.

/** At most `count` of the known words with a likeness of at least `cutoff`, 0 to 1, the most alike first. */
export const closeMatches = (word, known, count, cutoff) =>
  [...new Set(known)]
    .map((each) => [likeness(each, word), each])
    .filter(([alike]) => alike >= cutoff)
    .sort(([one], [other]) => other - one)
    .slice(0, count)
    .map(([, each]) => each);

/** The letters that two words share, in whatever order, of all their letters; an equal beginning breaks ties. */
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
