// Beam search, as in pellucid/search. Each step keeps the 2 · beam best continuations; an end token counts only if it
// is among the best `beam`. The search stops when enough hypotheses have ended, or at the length limit. If two
// continuations are equal, the earlier hypothesis wins, then the lower id. Beam 1 is greedy search.

import { GrowingPast } from "./cache.js";

/**
 * Return the hypotheses for a source, best first: [{ids, logProbabilities, score, finished}]. `ids` has no start token,
 * and an end token if finished. score: the sum of the log-probabilities / length ** length_penalty. rules: the model's
 * [translation] settings, `limit` (the largest number of tokens), `forbidden` (ids that are never chosen) and `prefix`
 * (ids that each hypothesis begins with).
 */
export const searchBeam = (transformer, sourceIds, rules) => {
  const { beam, length_penalty, limit, early_stopping } = rules;
  const { start_id, end_id } = transformer.config;
  const sourceMask = sourceIds.map(() => true);
  const memory = transformer.remember(transformer.encode(sourceIds, sourceMask), sourceMask);
  let open = [{ ids: [], last: start_id, total: 0, logProbabilities: [], past: new GrowingPast() }];
  const collected = [];
  const scoreOf = ({ ids, total }) => total / ids.length ** length_penalty;
  const collect = (hypothesis, finished) => {
    const { ids, logProbabilities } = hypothesis;
    collected.push({ ids, logProbabilities, score: scoreOf(hypothesis), finished });
    collected.sort((a, b) => b.finished - a.finished || b.score - a.score);
  };
  const isEnough = () =>
    collected.length >= beam && (early_stopping || beam === 1 || scoreOf(open[0]) <= collected[beam - 1].score);

  for (let length = 1; open.length && length <= limit && !isEnough(); length++) {
    for (const each of open) {
      const logits = transformer.decode([each.last], memory, each.past).row(0);
      each.logP = allowedNext(logits, each.ids, rules, transformer.config);
    }
    const candidates = bestContinuations(open, 2 * beam);
    candidates
      .slice(0, beam)
      .filter(({ last }) => last === end_id)
      .forEach((candidate) => collect(candidate, true));
    open = candidates.filter(({ last }) => last !== end_id).slice(0, beam);
  }
  if (collected.length < beam) open.forEach((hypothesis) => collect(hypothesis, false));
  return collected.slice(0, beam);
};

/** Return log-probabilities of the next token: −∞ for a token that the rules exclude, 0 for one that they force. */
const allowedNext = (logits, ids, rules, { start_id, end_id }) => {
  const { no_repeat_ngram_size: size, repetition_penalty: penalty, prefix } = rules;
  const only = (forced) => logits.map((_, id) => (id === forced ? 0 : -Infinity));
  if (ids.length < prefix.length) return only(prefix[ids.length]);
  if (rules.forced_end && ids.length + 1 === rules.limit) return only(end_id);
  const before = [start_id, ...ids];
  const scores = rules.beam === 1 ? logits.slice() : logSoftmax(logits);
  for (const id of new Set(before)) scores[id] *= scores[id] < 0 ? penalty : 1 / penalty;
  const logP = rules.beam === 1 ? logSoftmax(scores) : scores;
  for (const id of rules.forbidden) logP[id] = -Infinity;
  const lastOnes = before.slice(before.length + 1 - size);
  for (let place = 0; size && place + size <= before.length; place++)
    if (lastOnes.every((id, n) => id === before[place + n])) logP[before[place + size - 1]] = -Infinity;
  return logP;
};

/** Return x − log Σ exp(x). */
const logSoftmax = (x) => {
  const sum = logSumExp(x);
  if (Number.isNaN(sum)) throw new Error("the model's numbers are NaN or infinite. Use an earlier checkpoint.");
  return x.map((value) => value - sum);
};

export const logSumExp = (x) => {
  const largest = x.reduce((most, value) => Math.max(most, value), -Infinity);
  return largest + Math.log(x.reduce((sum, value) => sum + Math.exp(value - largest), 0));
};

/** Return the `count` continuations with the highest sums, best first; equal ones keep their order. */
const bestContinuations = (open, count) =>
  open
    .flatMap((parent) => Array.from(parent.logP, (said, id) => ({ parent, id, said, total: parent.total + said })))
    .filter(({ total }) => total > -Infinity)
    .sort((one, other) => other.total - one.total)
    .slice(0, count)
    .map(({ parent, id, said, total }) => ({
      ids: [...parent.ids, id],
      last: id,
      total,
      logProbabilities: [...parent.logProbabilities, said],
      past: parent.past.copy(),
    }));
