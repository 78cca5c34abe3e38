// What else a model would say in place of a word: its most probable tokens there, each with the sentence that follows.

import { ask } from "../base/asking.js";
import { sizeOfShape } from "../base/numbers.js";
import { meaningOf } from "../base/tokens.js";
import { numbersIn, unpack } from "../runs/recorded.js";
import { placesOf } from "../words/places.js";
import { wordsIn } from "./sentences.js";

const TRIED = 8; // tokens, some of which begin the same word

/** Return the other words at a place of a translation, the most probable first: [{word, probability, text: the whole
 *  translation}]. settings: of `ask`. */
export const othersAt = async (sentence, translation, { start, word }, pair, settings) => {
  const asked = { text: sentence, ...pair };
  const { runs, blocks } = await ask("v1/explain", { ...asked, translation, page: true }, settings);
  const [{ expected, target_ids: ids, tensors }] = runs;
  const position = placesOf(translation, expected).findIndex((place) => place && place.end > start);
  if (position < 0) return [];
  const { kept, shape, block, ...place } = tensors["decoder.probabilities"];
  const numbers = numbersIn(await unpack(blocks[block]), place, sizeOfShape(shape));
  const candidates = kept.ids[position]
    .map((id, rank) => ({ id, token: kept.tokens[position][rank], probability: numbers[position * shape[2] + rank] }))
    .filter(({ id, token }) => id !== ids[position] && !meaningOf(token))
    .slice(0, TRIED);
  const prefix = candidates.map(({ id }) => [...ids.slice(0, position), id]);
  const question = { ...asked, text: candidates.map(() => sentence), prefix };
  const { translations } = await ask("v1/translate", question, settings);
  const found = new Map();
  translations.forEach(({ text }, at) => {
    const other = wordsIn(text, pair.target).find((each) => each.end > start)?.word;
    if (other && other !== word && !found.has(other))
      found.set(other, { word: other, text, probability: candidates[at].probability });
  });
  return [...found.values()];
};
