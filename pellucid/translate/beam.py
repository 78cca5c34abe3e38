"""Beam search: choose the best continuations of each sentence's hypotheses. Equal scores have a fixed order.

Here, sums of log-probabilities are compared. Finished hypotheses are compared by `penalise` in hypotheses.py.
"""

import math

import numpy as np
import torch
from torch import Tensor

from pellucid.engine.next_tokens import NextTokens
from pellucid.translate.hypotheses import Candidates, Hypotheses

NONE = np.float32(-math.inf)


def best(likely: NextTokens, hypotheses: Hypotheses, beam: int) -> Candidates:
    """Return, for each sentence, the 2 * beam continuations with the highest sums of log-probabilities.

    Twice as many as `beam`, so that `beam` hypotheses stay open even if `beam` continuations end. If sums are
    equal, the hypothesis with the lower index comes first, then the lower token id. beam = 1 is greedy
    search. If there are fewer continuations, the rest have the sum -inf.
    """
    count, so_far = 2 * beam, hypotheses.totals.reshape(-1, 1)
    if likely.ids is None:
        so_far_R = torch.from_numpy(so_far[:, 0]).to(likely.log_p.device)
        found = best_of_each(likely.log_p, so_far_R, count)
        ids, log_p = found.cpu().numpy(), likely.log_p.gather(1, found).cpu().numpy()
    else:
        ids, log_p = likely.ids, likely.log_p
    sums = log_p + so_far
    if len(sums) > 1:  # a place may hold no hypothesis, whatever the model says there
        sums[so_far[:, 0] == NONE] = NONE
    sentences, each = hypotheses.totals.shape[0], ids.shape[1]
    ids, log_p, sums = (array.reshape(sentences, -1) for array in (ids, log_p, sums))
    if sums.shape[1] < count:
        missing = ((0, 0), (0, count - sums.shape[1]))
        ids, log_p, sums = (
            np.pad(ids, missing),
            np.pad(log_p, missing),
            np.pad(sums, missing, constant_values=NONE),
        )
    order = (-sums).argsort(axis=1, kind="stable")[:, :count]
    places = order + np.arange(0, sums.size, sums.shape[1])[:, None]
    parents = np.minimum(order // each, hypotheses.totals.shape[1] - 1)
    return Candidates(parents, ids.take(places), sums.take(places), log_p.take(places))


def best_of_each(log_p_RV: Tensor, so_far_R: Tensor, count: int) -> Tensor:
    """Return, for each row, the `count` ids with the highest log_p + so_far, in ascending order of ids (all
    ids if there are fewer). If sums are equal, the lower id is chosen."""
    if log_p_RV.shape[1] <= count:
        return torch.arange(log_p_RV.shape[1], device=log_p_RV.device).expand_as(log_p_RV)
    highest, ids = log_p_RV.topk(count + 1)
    sums, ids = highest + so_far_R[:, None], ids[:, :count].sort().values
    # topk takes any of several equal sums. Where the last sum kept equals the first dropped, sort the row.
    doubtful = (sums[:, -2] == sums[:, -1]) & (sums[:, -1] > -math.inf)
    if doubtful.any():
        all_sums = log_p_RV[doubtful] + so_far_R[doubtful, None]
        order = all_sums.sort(dim=1, descending=True, stable=True).indices
        ids[doubtful] = order[:, :count].sort().values
    return ids
