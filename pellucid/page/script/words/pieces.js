// Split text into pieces as SentencePiece does, and join them again. Text is split into words, into the most probable
// pieces (unigram, Kudo 2018), or by merges (bpe, Sennrich et al. 2016). As there, sums are rounded to float32.

const SPACE_SYMBOL = "▁";
const UNKNOWN_PENALTY = 10; // an unknown character's score is this much lower than the rarest piece's

/** Prepare one side of a vocabulary (source or target) for splitting text. `unspoken`: ids that no text contains. */
export const openPieces = ({ pieces, scores, unspoken, bytes }, { kind, normalization }, unknownId) => {
  const closed = new Set(unspoken);
  const ids = new Map(pieces.map((piece, id) => [piece, id]).filter(([, id]) => !closed.has(id)));
  const least = scores ? Math.min(...[...ids.values()].map((id) => scores[id])) : 0;
  const longest = Math.max(...[...ids.keys()].map((piece) => [...piece].length));
  return { pieces, ids, scores, bytes, kind, normalization, unknownId, least, longest, closed };
};

/** Return the ids of a text. Unknown letters become byte pieces, or one unknown token if there are no byte pieces. */
export const idsOfText = (side, text) => {
  const cut = { word: cutIntoWords, unigram: cutByScore, bpe: cutByMerges }[side.kind];
  const ids = [];
  let wasUnknown = false;
  for (const piece of cut(side, normalised(text, side.normalization))) {
    const id = side.ids.get(piece) ?? side.unknownId;
    const isUnknown = id === side.unknownId;
    if (isUnknown && side.bytes) for (const byte of new TextEncoder().encode(piece)) ids.push(side.bytes[byte]);
    else if (!isUnknown || !wasUnknown) ids.push(id);
    wasUnknown = isUnknown;
  }
  return ids;
};

// The control characters that the normalisation nmt_nfkc removes, and the characters that it replaces with a space.
const DROPPED = /[\x01-\x08\x0b\x0e-\x1f\x7f\x8f\x9f]/g;
const SPACES = /[\t\n\f\r\u061c\u1680\u200b\u200c\u200e\u200f\u2028\u2029\u2581\ufeff\ufffd]/g;

/** Normalise a text before it is split: each space becomes ▁, and one ▁ is added before the first word. */
const normalised = (text, normalization) => {
  const compatible = (part) => part.normalize("NFKC");
  const plain = {
    identity: () => text,
    nfkc: () => compatible(text),
    nmt_nfkc: () => text.replace(DROPPED, "").replace(SPACES, " ").split("～").map(compatible).join("～"),
  }[normalization]();
  const tidied = plain.replace(/ +/g, " ").replace(/^ /, "");
  return tidied && (SPACE_SYMBOL + tidied.replaceAll(" ", SPACE_SYMBOL)).replace(/▁+$/, "");
};

const cutIntoWords = (_, text) => text.match(/▁[^▁]*|^[^▁]+/gu) ?? [];

/** Split a text into the pieces with the highest sum of scores: find the best segmentation up to each position. */
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

/** Start with letters, and join the pair with the highest score (the first of equals) until no pair can be joined. */
const cutByMerges = ({ ids, scores }, text) => {
  const pieces = [...text];
  for (;;) {
    let [best, place] = [-Infinity, -1];
    for (let left = 0; left + 1 < pieces.length; left++) {
      const id = ids.get(pieces[left] + pieces[left + 1]);
      if (id !== undefined && scores[id] > best) [best, place] = [scores[id], left];
    }
    if (place < 0) return pieces;
    pieces.splice(place, 2, pieces[place] + pieces[place + 1]);
  }
};

/** Return the text of ids. Special tokens add nothing, an unknown token adds ⁇, and byte pieces are read as UTF-8. */
export const textOfIds = (side, ids) => {
  const bytes = []; // of the whole text, because several byte pieces may make up one character
  const write = (text) => bytes.push(...new TextEncoder().encode(text));
  for (const id of ids) {
    const byte = side.bytes ? side.bytes.indexOf(id) : -1;
    if (byte >= 0) bytes.push(byte);
    else if (id === side.unknownId) write(" ⁇ ");
    else if (!side.closed.has(id)) write(bytes.length ? side.pieces[id] : side.pieces[id].replace(/^▁/, ""));
  }
  const text = new TextDecoder("utf-8", { ignoreBOM: true }).decode(Uint8Array.from(bytes));
  return text.replaceAll(SPACE_SYMBOL, " ");
};
