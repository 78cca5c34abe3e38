"""The hypotheses of a batch while it is searched, and those that came out.

Axes: S sentence, W hypothesis of a sentence, L position, V vocabulary.
"""

import dataclasses
import math
from dataclasses import dataclass

import torch
from torch import Tensor


@dataclass(frozen=True)
class Candidates:
    """Continuations, S W, best first: of which hypothesis, by which token, and the sum with it."""

    parents: Tensor
    tokens: Tensor
    totals: Tensor


@dataclass(frozen=True)
class Hypotheses:
    """The open hypotheses of each sentence, best first; where the sum is -inf there is none."""

    places: Tensor  # S, the sentence's place in the batch as it was at first
    totals: Tensor  # S W, the sum of the log-probabilities
    tokens: Tensor  # S W L, the start token first
    log_probabilities: Tensor  # S W L, without the start token's
    rows: Tensor  # S W, which hypothesis of the step before each one continues, counted through the batch

    @classmethod
    def at_start(cls, sentences: int, start_id: int, device: torch.device) -> "Hypotheses":
        """One hypothesis a sentence, which has said nothing."""
        places = torch.arange(sentences, device=device)
        tokens = torch.full((sentences, 1, 1), start_id, device=device)
        nothing = torch.zeros(sentences, 1, 0, device=device)
        return cls(places, torch.zeros(sentences, 1, device=device), tokens, nothing, places[:, None])

    @property
    def empty(self) -> Tensor:
        """S W, where there is no hypothesis."""
        return self.totals == -math.inf

    def extend(self, chosen: Candidates, log_p_SWV: Tensor, ids_SWV: Tensor | None = None) -> "Hypotheses":
        """Each candidate as a hypothesis that is longer by its token; with ids, a token is a place in them."""
        sentences, width, size = log_p_SWV.shape
        first_rows = torch.arange(sentences, device=chosen.parents.device)[:, None] * width
        places = chosen.parents * size + chosen.tokens
        said = log_p_SWV.flatten(1).gather(1, places)
        tokens = chosen.tokens if ids_SWV is None else ids_SWV.flatten(1).gather(1, places)
        return Hypotheses(
            self.places,
            chosen.totals,
            torch.cat((pick(self.tokens, chosen.parents), tokens[..., None]), -1),
            torch.cat((pick(self.log_probabilities, chosen.parents), said[..., None]), -1),
            first_rows + chosen.parents,
        )

    def keep(self, kept: Tensor) -> "Hypotheses":
        """Those at these places, S W, of each sentence."""
        return Hypotheses(self.places, *(pick(each, kept) for each in self._of_each_hypothesis()))

    def of(self, sentences: Tensor) -> "Hypotheses":
        """Those of these sentences only."""
        return Hypotheses(self.places[sentences], *(each[sentences] for each in self._of_each_hypothesis()))

    def without(self, gone: Tensor) -> "Hypotheses":
        """With those marked in S W gone."""
        return dataclasses.replace(self, totals=self.totals.masked_fill(gone, -math.inf))

    def _of_each_hypothesis(self) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        return self.totals, self.tokens, self.log_probabilities, self.rows


@dataclass(frozen=True)
class Found:
    """A hypothesis that came out: without the start token, and with the end token if it is finished."""

    token_ids: list[int]
    log_probabilities: list[float]
    score: float  # the sum of the log-probabilities / length ** length_penalty
    finished: bool


def found(
    hypotheses: Hypotheses, which: Tensor, length_penalty: float, finished: bool
) -> list[tuple[int, Found]]:
    """(place in the batch, hypothesis) for those marked in S W, in order."""
    sentences, columns = which.nonzero(as_tuple=True)
    length = hypotheses.log_probabilities.shape[-1]
    places = hypotheses.places[sentences].tolist()
    tokens = hypotheses.tokens[sentences, columns, 1:].tolist()
    log_probabilities = hypotheses.log_probabilities[sentences, columns].tolist()
    scores = [total / length**length_penalty for total in hypotheses.totals[sentences, columns].tolist()]
    each = zip(places, tokens, log_probabilities, scores, strict=True)
    return [(place, Found(ids, said, score, finished)) for place, ids, said, score in each]


def pick(tensor: Tensor, places_SW: Tensor) -> Tensor:
    """S N ... -> S W ...: for each sentence, the entries at these places."""
    sentences = torch.arange(len(tensor), device=tensor.device)[:, None]
    return tensor[sentences, places_SW]
