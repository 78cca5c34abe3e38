// Prepare text for a vocabulary, and restore it, as pellucid/text/preparation.py does with the recipe "words".

// The characters that \s and \w match in Python. In JavaScript they match fewer characters.
const SPACE = "\\t-\\r\\x1c-\\x20\\x85\\xa0\\u1680\\u2000-\\u200a\\u2028\\u2029\\u202f\\u205f\\u3000";
const WORD = "\\p{L}\\p{N}_";

// Punctuation that stays in a word: don't, t-shirt, and/or, R&D, a@b.org; or in a number: 1,000.
const INSIDE_WORDS = "'-/&@.";
const INSIDE_NUMBERS = ",:";
const OPENING = "¿¡([{“„‘#";
const CLOSING = ".,;:!?…)]}”’'\"।॥%";
const SPACED_IN_FRENCH = "?!:;»%";

/** Put a space between words and punctuation. */
export const prepareWords = (text, language) => {
  const plain = text.normalize("NFC").replaceAll("’", "'");
  const marks = new RegExp(`([^${WORD}${SPACE}])\\1*`, "gu");
  const apart = plain.replace(marks, (run, mark, start) => setApart(plain, run, mark, start, language));
  return splitAtSpaces(apart).join(" ");
};

export const splitAtSpaces = (text) => text.split(new RegExp(`[${SPACE}]+`)).filter(Boolean);

/** Put spaces around punctuation unless it is inside a word. A French elision becomes a token: l' amie. */
const setApart = (text, run, mark, start, language) => {
  const before = /.?$/su.exec(text.slice(0, start))[0];
  const after = /^.?/su.exec(text.slice(start + run.length))[0];
  if (!/\p{P}/u.test(mark)) return run; // vowel signs, viramas and symbols are part of their word
  if (/\p{Nd}/u.test(before) && /\p{Nd}/u.test(after) && INSIDE_NUMBERS.includes(run)) return run;
  if (language === "fr" && run === "'" && inWord(before) && (inWord(after) || after === " ")) return "' ";
  return inWord(before) && inWord(after) && INSIDE_WORDS.includes(run) ? run : ` ${run} `;
};

const inWord = (character) => /[\p{L}\p{M}\p{N}]/u.test(character);

/** Remove the spaces between words and punctuation, as people write. */
export const joinWords = (text, language) => {
  const begins = `(?<![^${SPACE}])`;
  const ends = `(?![^${SPACE}])`;
  const oneOf = (marks) => `[${marks.replace(/[\][\\^-]/g, "\\$&")}]`;
  let joined = text.replace(new RegExp(`${begins}(["']) ([^\\n]*?) \\1${ends}`, "gu"), "$1$2$1"); // straight quotation marks
  joined = joined.replace(new RegExp(`${begins}(${oneOf(OPENING)}+) `, "gu"), "$1");
  if (language === "fr") joined = joined.replace(new RegExp(`(?<=[${WORD}])' (?=[${WORD}])`, "gu"), "'");
  const closing = [...CLOSING].filter((mark) => language !== "fr" || !SPACED_IN_FRENCH.includes(mark)).join("");
  return joined.replace(new RegExp(` (${oneOf(closing)}+)${ends}`, "gu"), "$1");
};
