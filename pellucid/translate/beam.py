"""Beam search: the best continuations of each sentence's hypotheses, in an order without chance."""

import math

import torch
from torch import Tensor

from pellucid.translate.hypotheses import Candidates, Hypotheses


def best(log_p_SWV: Tensor, hypotheses: Hypotheses, beam: int) -> Candidates:
    """Return the 2 * beam continuations with the highest sums; ties go to the lower hypothesis, then to the
    lower id.

    So `beam` hypotheses stay open even if as many end; beam 1 is greedy. Missing ones have sums of -inf.
    """
    width, count = log_p_SWV.shape[1], 2 * beam
    tokens, totals = best_of_each(log_p_SWV.flatten(0, 1), hypotheses.totals.flatten(), count)
    tokens, totals = tokens.unflatten(0, (-1, width)).flatten(1), totals.unflatten(0, (-1, width)).flatten(1)
    parents = (
        torch.arange(width, device=tokens.device)
        .repeat_interleave(tokens.shape[1] // width)
        .expand_as(tokens)
    )
    missing = max(0, count - tokens.shape[1])
    if missing:
        tokens, parents = (torch.nn.functional.pad(ids, (0, missing)) for ids in (tokens, parents))
        totals = torch.nn.functional.pad(totals, (0, missing), value=-math.inf)
    totals, order = totals.sort(dim=1, descending=True, stable=True)
    order = order[:, :count]
    return Candidates(parents.gather(1, order), tokens.gather(1, order), totals[:, :count])


def best_of_each(log_p_RV: Tensor, so_far_R: Tensor, count: int) -> tuple[Tensor, Tensor]:
    """Return the `count` ids with each row's highest sums, in ascending order, and their sums; ties go to the
    lower id."""
    if log_p_RV.shape[1] <= count:
        ids = torch.arange(log_p_RV.shape[1], device=log_p_RV.device).expand_as(log_p_RV)
        return ids, _sums(log_p_RV, so_far_R)
    highest, ids = log_p_RV.topk(count + 1)
    sums = _sums(highest, so_far_R)
    # topk takes any of several equal sums. Where the last sum kept equals the first dropped, sort the row.
    doubtful = (sums[:, -2] == sums[:, -1]) & (sums[:, -1] > -math.inf)
    ids = ids[:, :count].sort().values
    if doubtful.any():
        order = (
            _sums(log_p_RV[doubtful], so_far_R[doubtful]).sort(dim=1, descending=True, stable=True).indices
        )
        ids[doubtful] = order[:, :count].sort().values
    return ids, _sums(log_p_RV.gather(1, ids), so_far_R)


def _sums(log_p_RV: Tensor, so_far_R: Tensor) -> Tensor:
    """Add each hypothesis's total to its next log-probabilities; an empty place stays -inf for any logits."""
    empty = (so_far_R == -math.inf)[:, None]
    return (log_p_RV + so_far_R[:, None]).masked_fill(empty, -math.inf)
