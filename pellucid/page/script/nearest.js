// Which of the known words are near one, by the letters that they share in order: Python's difflib, so
// that the page offers the same words.

/** At most `count` of `known` with a likeness of at least `cutoff`, the most alike first. */
const closeMatches = (word, known, count, cutoff) =>
  [...new Set(known)]
    .map((each) => [likeness([...each], [...word]), each])
    .filter(([alike]) => alike >= cutoff)
    .sort(([a, one], [b, other]) => b - a || (one < other ? 1 : -1))
    .slice(0, count)
    .map(([, each]) => each);

/** Twice the letters in common, in order, over all letters: 1 for equal words, 0 for nothing in common. */
const likeness = (a, b) => (a.length + b.length ? (2 * lettersInCommon(a, b)) / (a.length + b.length) : 1);

/** The longest stretch in common, and what is in common on its left and on its right. */
const lettersInCommon = (a, b) => {
  let [best, atA, atB] = [0, 0, 0];
  for (let i = 0; i < a.length; i++) {
    for (let j = 0; j < b.length; j++) {
      let length = 0;
      while (i + length < a.length && j + length < b.length && a[i + length] === b[j + length]) length += 1;
      if (length > best) [best, atA, atB] = [length, i, j];
    }
  }
  if (!best) return 0;
  const left = lettersInCommon(a.slice(0, atA), b.slice(0, atB));
  return best + left + lettersInCommon(a.slice(atA + best), b.slice(atB + best));
};
