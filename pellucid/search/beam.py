"""Beam search: choose the best continuations of each sentence's hypotheses. Equal scores have a fixed order.

Here, sums of log-probabilities are compared. Finished hypotheses are compared by `penalise` in hypotheses.py.
"""

import math

import numpy as np

from pellucid.search.hypotheses import Candidates, Hypotheses
from pellucid.search.next_tokens import NextTokens

NONE = np.float32(-math.inf)


def best(likely: NextTokens, hypotheses: Hypotheses, beam: int) -> Candidates:
    """Return, for each sentence, the 2 * beam continuations with the highest sums of log-probabilities.

    Twice as many as `beam`, so that `beam` hypotheses stay open even if `beam` continuations end. If sums are
    equal, the hypothesis with the lower index comes first, then the lower token id. beam = 1 is greedy
    search. If there are fewer continuations, the rest have the sum -inf.
    """
    count, so_far = 2 * beam, hypotheses.totals.reshape(-1, 1)
    ids, log_p = likely.candidates(so_far[:, 0], count)
    sums = log_p + so_far
    if len(sums) > 1:  # an empty slot stays empty, whatever the model says there
        sums[so_far[:, 0] == NONE] = NONE
    sentences, each = hypotheses.totals.shape[0], ids.shape[1]
    ids, log_p, sums = (array.reshape(sentences, -1) for array in (ids, log_p, sums))
    if sums.shape[1] < count:
        missing = ((0, 0), (0, count - sums.shape[1]))
        ids, log_p = (np.pad(each, missing) for each in (ids, log_p))
        sums = np.pad(sums, missing, constant_values=NONE)
    order = (-sums).argsort(axis=1, kind="stable")[:, :count]
    chosen = order + np.arange(0, sums.size, sums.shape[1])[:, None]
    parents = np.minimum(order // each, hypotheses.totals.shape[1] - 1)
    return Candidates(parents, ids.take(chosen), sums.take(chosen), log_p.take(chosen))
