"""The hypotheses of a batch during the search, and its results.

Axes: S sentence, W hypothesis of a sentence, L position, V vocabulary.
"""

import dataclasses
import math
from dataclasses import dataclass

import torch
from torch import Tensor


@dataclass(frozen=True)
class Candidates:
    """Continuations, S W, best first: the hypothesis that each continues, its token, and the sum with it."""

    parents: Tensor
    tokens: Tensor
    totals: Tensor


@dataclass(frozen=True)
class Hypotheses:
    """The open hypotheses of each sentence, best first; a place whose sum is -inf holds none."""

    places: Tensor  # S, the sentence's place in the batch at the start
    totals: Tensor  # S W, the sum of the log-probabilities
    tokens: Tensor  # S W L, the start token first
    log_probabilities: Tensor  # S W L, without the start token's
    rows: Tensor  # S W, the hypothesis of the step before that each one continues, counted through the batch

    @classmethod
    def at_start(cls, sentences: int, start_id: int, device: torch.device) -> "Hypotheses":
        """One hypothesis for each sentence, with the start token only."""
        places = torch.arange(sentences, device=device)
        tokens = torch.full((sentences, 1, 1), start_id, device=device)
        nothing = torch.zeros(sentences, 1, 0, device=device)
        return cls(places, torch.zeros(sentences, 1, device=device), tokens, nothing, places[:, None])

    @property
    def empty(self) -> Tensor:
        """Return bools S W: True marks a place without a hypothesis."""
        return self.totals == -math.inf

    def extend(self, chosen: Candidates, log_p_SWV: Tensor) -> "Hypotheses":
        """Return the candidates as hypotheses, each longer by its token."""
        sentences, width, size = log_p_SWV.shape
        first_rows = torch.arange(sentences, device=chosen.parents.device)[:, None] * width
        log_p = log_p_SWV.flatten(1).gather(1, chosen.parents * size + chosen.tokens)
        return Hypotheses(
            self.places,
            chosen.totals,
            torch.cat((pick(self.tokens, chosen.parents), chosen.tokens[..., None]), -1),
            torch.cat((pick(self.log_probabilities, chosen.parents), log_p[..., None]), -1),
            first_rows + chosen.parents,
        )

    def keep(self, kept: Tensor) -> "Hypotheses":
        """Keep the hypotheses at these places, S W, of each sentence."""
        return Hypotheses(self.places, *(pick(each, kept) for each in self._of_each_hypothesis()))

    def of(self, sentences: Tensor) -> "Hypotheses":
        """Keep the hypotheses of these sentences only."""
        return Hypotheses(self.places[sentences], *(each[sentences] for each in self._of_each_hypothesis()))

    def without(self, gone: Tensor) -> "Hypotheses":
        """Remove the hypotheses that are marked in S W."""
        return dataclasses.replace(self, totals=self.totals.masked_fill(gone, -math.inf))

    def _of_each_hypothesis(self) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        return self.totals, self.tokens, self.log_probabilities, self.rows


@dataclass(frozen=True)
class Found:
    """A resulting hypothesis, without the start token, and with the end token if it is finished."""

    token_ids: list[int]
    log_probabilities: list[float]
    score: float  # the sum of the log-probabilities / length ** length_penalty
    finished: bool


def extract(
    hypotheses: Hypotheses, which: Tensor, length_penalty: float, finished: bool
) -> list[tuple[int, Found]]:
    """Return (place in the batch, hypothesis) for the hypotheses that are marked in S W, in order."""
    sentences, columns = which.nonzero(as_tuple=True)
    length = hypotheses.log_probabilities.shape[-1]
    places = hypotheses.places[sentences].tolist()
    tokens = hypotheses.tokens[sentences, columns, 1:].tolist()
    log_probabilities = hypotheses.log_probabilities[sentences, columns].tolist()
    scores = [total / length**length_penalty for total in hypotheses.totals[sentences, columns].tolist()]
    each = zip(places, tokens, log_probabilities, scores, strict=True)
    return [(place, Found(ids, log_p, score, finished)) for place, ids, log_p, score in each]


def pick(tensor: Tensor, places_SW: Tensor) -> Tensor:
    """Pick the entries at these places of each sentence: S N ... -> S W ...."""
    sentences = torch.arange(len(tensor), device=tensor.device)[:, None]
    return tensor[sentences, places_SW]
