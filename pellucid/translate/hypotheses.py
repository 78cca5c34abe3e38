"""The hypotheses of a batch during the search, and its results.

Axes: S sentence, W hypothesis of a sentence, L position. All of it is small, so it is NumPy on the processor,
wherever the model computes.
"""

import dataclasses
import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]


@dataclass(frozen=True)
class Candidates:
    """Continuations, S W, best first: the hypothesis that each continues, its token, the sum with it, and its
    own log-probability."""

    parents: Array
    tokens: Array
    totals: Array
    log_probabilities: Array


@dataclass(frozen=True)
class Hypotheses:
    """The open hypotheses of each sentence, best first; a place whose sum is -inf holds none."""

    places: Array  # S, the sentence's place in the batch at the start
    totals: Array  # S W, the sum of the log-probabilities
    tokens: Array  # S W L, the start token first
    log_probabilities: Array  # S W L, without the start token's
    rows: Array  # S W, the hypothesis of the step before that each one continues, counted through the batch

    @classmethod
    def at_start(cls, sentences: int, start_id: int) -> "Hypotheses":
        """One hypothesis for each sentence, with the start token only."""
        places = np.arange(sentences)
        nothing = np.zeros((sentences, 1, 0), np.float32)
        tokens = np.full((sentences, 1, 1), start_id)
        return cls(places, np.zeros((sentences, 1), np.float32), tokens, nothing, places[:, None])

    @property
    def empty(self) -> Array:
        """S W, True where there is no hypothesis."""
        return self.totals == -math.inf

    def extend(self, chosen: Candidates) -> "Hypotheses":
        """Return the candidates as hypotheses, each longer by its token."""
        sentences, width = self.totals.shape
        first_rows = np.arange(0, sentences * width, width)[:, None]
        tokens, log_p = pick(self.tokens, chosen.parents), pick(self.log_probabilities, chosen.parents)
        return Hypotheses(
            self.places,
            chosen.totals,
            np.concatenate((tokens, chosen.tokens[..., None]), -1),
            np.concatenate((log_p, chosen.log_probabilities[..., None]), -1),
            first_rows + chosen.parents,
        )

    def keep(self, kept: Array) -> "Hypotheses":
        """Keep the hypotheses at these places, S W, of each sentence."""
        return Hypotheses(self.places, *(pick(each, kept) for each in self._of_each_hypothesis()))

    def first(self, width: int) -> "Hypotheses":
        """Keep the first hypotheses of each sentence."""
        return Hypotheses(
            self.places,
            self.totals[:, :width],
            self.tokens[:, :width],
            self.log_probabilities[:, :width],
            self.rows[:, :width],
        )

    def of(self, sentences: Array) -> "Hypotheses":
        """Keep the hypotheses of these sentences only."""
        return Hypotheses(self.places[sentences], *(each[sentences] for each in self._of_each_hypothesis()))

    def without(self, gone: Array) -> "Hypotheses":
        """Remove the hypotheses that are marked in S W."""
        return dataclasses.replace(self, totals=np.where(gone, np.float32(-math.inf), self.totals))

    def _of_each_hypothesis(self) -> tuple[Array, Array, Array, Array]:
        return self.totals, self.tokens, self.log_probabilities, self.rows


@dataclass(frozen=True)
class Found:
    """A hypothesis that came out: without the start token, and with the end token if it is finished."""

    token_ids: list[int]
    log_probabilities: list[float]
    score: float  # the sum of the log-probabilities / length ** length_penalty
    finished: bool


def extract(
    hypotheses: Hypotheses, which: Array, length_penalty: float, finished: bool
) -> list[tuple[int, Found]]:
    """Return (place in the batch, hypothesis) for those marked in S W, in order."""
    sentences, columns = which.nonzero()
    length = hypotheses.log_probabilities.shape[-1]
    places = hypotheses.places[sentences].tolist()
    tokens = hypotheses.tokens[sentences, columns, 1:].tolist()
    log_probabilities = hypotheses.log_probabilities[sentences, columns].tolist()
    totals = hypotheses.totals[sentences, columns].tolist()
    scores = [penalise(total, length, length_penalty) for total in totals]
    each = zip(places, tokens, log_probabilities, scores, strict=True)
    return [(place, Found(ids, log_p, score, finished)) for place, ids, log_p, score in each]


def penalise(log_probability: float, length: int, length_penalty: float) -> float:
    """Return the score that compares hypotheses of different lengths; the length counts the end token."""
    return log_probability / length**length_penalty


def pick(array: Array, places_SW: Array) -> Array:
    """S N ... -> S W ...: for each sentence, the entries at these places."""
    return array[np.arange(len(array))[:, None], places_SW]
