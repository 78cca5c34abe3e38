"""Sampling: draw the next token from the model's probabilities, after temperature, top-k and top-p."""

import hashlib
import math
from collections.abc import Mapping

import numpy as np
import torch
from torch import Tensor

from pellucid.search.hypotheses import Array, Candidates, Hypotheses, pick
from pellucid.search.next_tokens import NextTokens, best_of_each
from pellucid.search.options import Options
from pellucid.search.request import Request

AT_ONCE = 1 << 16  # log-probabilities from which tokens are drawn at once
DRAWING = 100 * AT_ONCE  # bytes that this takes at most: copies in float64, and their order


def draw(likely: NextTokens, hypotheses: Hypotheses, options: Options, chance: "Chance") -> Candidates:
    """Draw the next token of each hypothesis at random.

    The probabilities are proportional to p ** (1 / temperature), for the top_k likeliest tokens, and of these
    for the fewest that together have at least the probability top_p.
    """
    log_p_RV, (sentences, width) = likely.all.log_p, hypotheses.totals.shape
    uniform_SW = chance.next(hypotheses.tickets).to(log_p_RV.device)
    # At a sentence's start one hypothesis stands for all that will be drawn.
    parents = np.where((hypotheses.lengths > 0)[:, None], np.arange(uniform_SW.shape[1]), 0)
    rows = torch.from_numpy(parents + np.arange(0, sentences * width, width)[:, None]).to(log_p_RV.device)
    drawn, few = [], max(1, AT_ONCE // log_p_RV.shape[1])
    for some, uniform in zip(rows.flatten().split(few), uniform_SW.flatten().split(few), strict=True):
        scores = log_p_RV[some].double()
        scores -= scores.amax(-1, keepdim=True)
        scores /= options.temperature
        drawn.append(invert(cut(scores, options.top_k, options.top_p), uniform))
    tokens = torch.cat(drawn).view_as(rows)
    chosen = log_p_RV[rows, tokens].cpu().numpy()
    totals = pick(hypotheses.totals, parents) + chosen
    return Candidates(parents, tokens.cpu().numpy(), totals, chosen)


def cut(scores_RV: Tensor, top_k: int | None, top_p: float | None) -> Tensor:
    """Return the scores with all but the likeliest tokens of each row at -inf. The top_k highest scores stay,
    and of these the fewest whose probabilities sum to at least top_p; None: no limit."""
    if top_k is not None and top_k < scores_RV.shape[1]:
        ids = best_of_each(scores_RV, scores_RV.new_zeros(len(scores_RV)), top_k)
        scores_RV = torch.full_like(scores_RV, -math.inf).scatter(1, ids, scores_RV.gather(1, ids))
    if top_p is not None and top_p < 1:
        ranked, order = scores_RV.sort(dim=1, descending=True, stable=True)
        probabilities = ranked.softmax(-1)
        before = probabilities.cumsum(-1) - probabilities
        scores_RV = torch.full_like(scores_RV, -math.inf).scatter(
            1, order, ranked.masked_fill(before >= top_p, -math.inf)
        )
    return scores_RV


def invert(scores_RV: Tensor, uniform_R: Tensor) -> Tensor:
    """Return the id that each random number in [0, 1) selects: the first at which the row's cumulative
    probability exceeds the number."""
    # Not normalised, because only their ratios matter.
    weights = (scores_RV - scores_RV.amax(-1, keepdim=True)).exp()
    sums = weights.cumsum(-1)
    total = sums[:, -1]
    # Rounding must not reach the total itself: no id comes after it.
    wanted = torch.minimum(uniform_R * total, torch.nextafter(total, torch.zeros_like(total)))
    return torch.searchsorted(sums, wanted[:, None], right=True)[:, 0].clamp(max=scores_RV.shape[1] - 1)


class Chance:
    """Random numbers in [0, 1) for each sentence. They depend only on the seed and the sentence's ids."""

    def __init__(self, requests: Mapping[int, Request], options: Options) -> None:
        self._requests, self._draws = requests, options.n_best
        self._generators: dict[int, torch.Generator] = {}  # of the sentences that are being decoded

    def next(self, tickets_S: Array) -> Tensor:
        """Return new random numbers for these sentences, S x W."""
        self._generators = {
            ticket: self._generators.get(ticket) or self._generator(ticket) for ticket in tickets_S.tolist()
        }
        each = self._generators.values()
        return torch.stack([torch.rand(self._draws, generator=one, dtype=torch.float64) for one in each])

    def _generator(self, ticket: int) -> torch.Generator:
        request = self._requests[ticket]
        key = repr((request.options.seed, *request.source)).encode()
        return torch.Generator().manual_seed(int.from_bytes(hashlib.blake2b(key, digest_size=7).digest()))
