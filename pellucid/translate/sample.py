"""Sampling: the next token is drawn from the model's probabilities, sharpened or cut to the likely ones."""

import hashlib
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor

from pellucid.engine.next_tokens import NextTokens
from pellucid.translate.beam import best_of_each
from pellucid.translate.hypotheses import Array, Candidates, Hypotheses, pick


@dataclass(frozen=True)
class Sampling:
    """Tokens are drawn from probabilities ** (1 / temperature), cut to the top_k likeliest and to top_p."""

    temperature: float = 1.0
    top_k: int | None = None
    top_p: float | None = None


def draw(said: NextTokens, hypotheses: Hypotheses, sampling: Sampling, chance: "Chance") -> Candidates:
    """One token for each hypothesis: where its number in [0, 1) falls among the probabilities."""
    log_p_SWV = said.log_p.unflatten(0, hypotheses.totals.shape)
    uniform_SW = chance.next(hypotheses.places).to(log_p_SWV.device)
    # At first one hypothesis stands for all that will be drawn.
    log_p = log_p_SWV.expand(-1, uniform_SW.shape[1], -1)
    parents = np.arange(log_p.shape[1]).clip(max=log_p_SWV.shape[1] - 1)
    parents = np.broadcast_to(parents, tuple(uniform_SW.shape))
    scores = log_p.flatten(0, 1).double()
    scores = (scores - scores.amax(-1, keepdim=True)) / sampling.temperature
    kept = cut(scores, sampling.top_k, sampling.top_p)
    tokens = drawn(kept, uniform_SW.flatten()).view_as(uniform_SW)
    chosen = log_p.gather(2, tokens[..., None])[..., 0].cpu().numpy()
    totals = pick(hypotheses.totals, parents) + chosen
    return Candidates(parents, tokens.cpu().numpy(), totals, chosen)


def cut(scores_RV: Tensor, top_k: int | None, top_p: float | None) -> Tensor:
    """-inf for all but the top_k highest, and then for all but the fewest that hold the probability top_p."""
    if top_k is not None and top_k < scores_RV.shape[1]:
        ids, highest = best_of_each(scores_RV, scores_RV.new_zeros(len(scores_RV)), top_k)
        scores_RV = torch.full_like(scores_RV, -math.inf).scatter(1, ids, highest)
    if top_p is not None and top_p < 1:
        ranked, order = scores_RV.sort(dim=1, descending=True, stable=True)
        probabilities = ranked.softmax(-1)
        before = probabilities.cumsum(-1) - probabilities
        scores_RV = torch.full_like(scores_RV, -math.inf).scatter(
            1, order, ranked.masked_fill(before >= top_p, -math.inf)
        )
    return scores_RV


def drawn(scores_RV: Tensor, uniform_R: Tensor) -> Tensor:
    """The id at which the sum of the probabilities first exceeds each number in [0, 1)."""
    weights = (scores_RV - scores_RV.amax(-1, keepdim=True)).exp()  # not normalised: only their ratios matter
    sums = weights.cumsum(-1)
    total = sums[:, -1]
    # Rounding must not reach the total itself, behind which there is no id.
    wanted = torch.minimum(uniform_R * total, torch.nextafter(total, torch.zeros_like(total)))
    return torch.searchsorted(sums, wanted[:, None], right=True)[:, 0].clamp(max=scores_RV.shape[1] - 1)


class Seeds:
    """A seed for each sentence, from a number, the sentence's ids, and how often the sentence came before.

    Calls that share one object draw what a single call with all their sentences draws.
    """

    def __init__(self, number: int = 0) -> None:
        self.number = number
        self._times: dict[int, int] = {}  # by a digest: a pipe may bring many long sentences

    def of(self, sources: Sequence[Sequence[int]]) -> list[int]:
        """The seeds of the next sentences."""
        sentence_seeds = []
        for ids in map(tuple, sources):
            key = _digest(ids)
            times = self._times[key] = self._times.get(key, -1) + 1
            sentence_seeds.append(_digest((self.number, times, ids)))
        return sentence_seeds


def _digest(value: tuple[Any, ...]) -> int:
    """Return 63 bits that stand for a value."""
    return int.from_bytes(hashlib.blake2b(repr(value).encode(), digest_size=8).digest()) >> 1


class Chance:
    """Numbers in [0, 1), a generator for each sentence: so they do not depend on its neighbours."""

    def __init__(self, sentence_seeds: Sequence[int], draws: int) -> None:
        self._generators = [torch.Generator().manual_seed(seed) for seed in sentence_seeds]
        self._draws = draws

    def next(self, places_S: Array) -> Tensor:
        """The next numbers of the sentences at these places, S W."""
        open_generators = [self._generators[place] for place in places_S.tolist()]
        numbers = [torch.rand(self._draws, generator=each, dtype=torch.float64) for each in open_generators]
        return torch.stack(numbers)
