// Text to the pieces of a SentencePiece model and back: its normalisation, and how it cuts: by words, or by the most
// probable pieces (unigram, Kudo 2018). Sums are rounded to float32, as there.

const SPACE_SYMBOL = "▁";
const UNKNOWN_PENALTY = 10; // of a character outside the vocabulary, below the rarest piece

/** A side of a vocabulary, ready to cut text: its pieces, their scores, and which of them text can never spell. */
export const openPieces = ({ pieces, scores, unspoken }, { kind, normalization }, unknownId) => {
  const closed = new Set(unspoken);
  const ids = new Map(pieces.map((piece, id) => [piece, id]).filter(([, id]) => !closed.has(id)));
  const least = scores ? Math.min(...[...ids.values()].map((id) => scores[id])) : 0;
  const longest = Math.max(...[...ids.keys()].map((piece) => [...piece].length));
  return { pieces, ids, scores, kind, normalization, unknownId, least, longest, closed };
};

/** The ids of a text. Letters without a piece, one or several, become one unknown token. */
export const idsOfText = (side, text) => {
  const cut = side.kind === "word" ? cutIntoWords : cutByScore;
  const ids = cut(side, normalised(text, side.normalization)).map((piece) => side.ids.get(piece) ?? side.unknownId);
  return ids.filter((id, at) => id !== side.unknownId || ids[at - 1] !== id);
};

// What nmt_nfkc makes of control characters, and of what is or hides a space.
const DROPPED = /[\x01-\x08\x0b\x0e-\x1f\x7f\x8f\x9f]/g;
const SPACES = /[\t\n\f\r\u061c\u1680\u200b\u200c\u200e\u200f\u2028\u2029\u2581\ufeff\ufffd]/g;

/** The text as the model cuts it: spaces tidied and written ▁, one before the first word. */
const normalised = (text, normalization) => {
  let plain = text;
  if (normalization === "nmt_nfkc") plain = plain.replace(DROPPED, "").replace(SPACES, " ");
  // "nmt_nfkc" leaves the ～ that NFKC would make a ~.
  if (normalization !== "identity")
    plain = plain.replace(normalization === "nfkc" ? /.+/gsu : /[^～]+/gu, (part) => part.normalize("NFKC"));
  const tidied = plain.replace(/ +/g, " ").replace(/^ /, "");
  return tidied && (SPACE_SYMBOL + tidied.replaceAll(" ", SPACE_SYMBOL)).replace(/▁+$/, "");
};

const cutIntoWords = (_, text) => text.match(/▁[^▁]*|^[^▁]+/gu) ?? [];

/** The pieces with the highest sum of scores: for each place, the best way to get there. */
const cutByScore = ({ ids, scores, least, longest }, text) => {
  const letters = [...text];
  const best = letters.map(() => ({ score: -Infinity, start: -1 }));
  const consider = (start, end, score) => {
    if (best[end - 1].start < 0 || score > best[end - 1].score) best[end - 1] = { score: Math.fround(score), start };
  };
  for (let start = 0; start < letters.length; start++) {
    const before = start ? best[start - 1].score : 0;
    let piece = "";
    for (let end = start + 1; end <= Math.min(letters.length, start + longest); end++) {
      piece += letters[end - 1];
      if (ids.has(piece)) consider(start, end, before + scores[ids.get(piece)]);
    }
    if (!ids.has(letters[start])) consider(start, start + 1, before + Math.fround(least - UNKNOWN_PENALTY));
  }
  const pieces = [];
  for (let end = letters.length; end > 0; end = best[end - 1].start) {
    pieces.unshift(letters.slice(best[end - 1].start, end).join(""));
  }
  return pieces;
};

/** The text of ids: special ones say nothing, what is unknown is ⁇. */
export const textOfIds = (side, ids) => {
  let text = "";
  for (const id of ids) {
    if (id === side.unknownId) text += " ⁇ ";
    else if (!side.closed.has(id)) text += text ? side.pieces[id] : side.pieces[id].replace(/^▁/, "");
  }
  return text.replaceAll(SPACE_SYMBOL, " ");
};
