// Beam search, as pellucid/translate/search.py and beam.py have it: from what the model says of each next token to whole
// hypotheses. Each step keeps the 2 · beam best continuations; an end token counts only inside the best `beam`; the
// search is done as soon as `beam` hypotheses have ended, or at the limit. Ties go to the lower hypothesis, then the
// lower id. Beam 1 is greedy.

import { GrowingPast } from "./cache.js";

/**
 * The hypotheses for a source, best first: [{ids, logProbabilities, score, finished}]. ids: without the start token,
 * with the end token if it is finished. score: the sum of the log-probabilities / length ** length_penalty.
 */
export const searchBeam = (transformer, sourceIds, { beam, length_penalty, limit, forbidden }) => {
  const { start_id, end_id } = transformer.config;
  const sourceMask = sourceIds.map(() => true);
  const memory = transformer.remember(transformer.encode(sourceIds, sourceMask), sourceMask);
  let open = [{ ids: [], last: start_id, total: 0, logProbabilities: [], past: new GrowingPast() }];
  const collected = [];
  const collect = (hypothesis, finished) => {
    const { ids, logProbabilities, total } = hypothesis;
    collected.push({ ids, logProbabilities, score: total / ids.length ** length_penalty, finished });
  };

  for (let length = 1; open.length && length <= limit && collected.length < beam; length++) {
    for (const each of open) each.logP = logSoftmax(transformer.decode([each.last], memory, each.past).row(0));
    const candidates = bestContinuations(open, forbidden, 2 * beam);
    candidates
      .slice(0, beam)
      .filter(({ last }) => last === end_id)
      .forEach((candidate) => collect(candidate, true));
    open = candidates.filter(({ last }) => last !== end_id).slice(0, beam);
  }
  if (collected.length < beam) open.forEach((hypothesis) => collect(hypothesis, false));
  return collected.toSorted((a, b) => b.finished - a.finished || b.score - a.score).slice(0, beam);
};

/** x − log Σ exp(x). */
const logSoftmax = (x) => {
  const sum = logSumExp(x);
  if (Number.isNaN(sum)) throw new Error("the model's numbers are NaN or infinite. Use an earlier checkpoint.");
  return x.map((value) => value - sum);
};

export const logSumExp = (x) => {
  const largest = x.reduce((most, value) => Math.max(most, value), -Infinity);
  return largest + Math.log(x.reduce((sum, value) => sum + Math.exp(value - largest), 0));
};

/** The `count` continuations with the highest sums, best first; the sort keeps equal ones in order. */
const bestContinuations = (open, forbidden, count) =>
  open
    .flatMap((parent) => Array.from(parent.logP, (said, id) => ({ parent, id, said, total: parent.total + said })))
    .filter(({ id, total }) => total > -Infinity && !forbidden.has(id))
    .sort((one, other) => other.total - one.total)
    .slice(0, count)
    .map(({ parent, id, said, total }) => ({
      ids: [...parent.ids, id],
      last: id,
      total,
      logProbabilities: [...parent.logProbabilities, said],
      past: parent.past.copy(),
    }));
