"""The hypotheses of a batch during the search, and its results.

Axes: S sentence, W hypothesis of a sentence, L position. Sentences begin at different steps, so that rows are
aligned at their ends. All of it is small, so it is NumPy on the processor, wherever the model computes.
"""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]


class Candidates(NamedTuple):
    """Continuations, S W, best first: the hypothesis that each continues, its token, the sum with it, and its
    own log-probability."""

    parents: Array
    tokens: Array
    totals: Array
    log_probabilities: Array


class Hypotheses(NamedTuple):
    """The open hypotheses of each sentence, best first; a place whose sum is -inf holds none."""

    places: Array  # S, the sentence's place in the caller's list
    lengths: Array  # S, the tokens of its hypotheses so far, without the start token
    totals: Array  # S W, the sum of the log-probabilities
    tokens: Array  # S W L+1, the start token before the others; before that anything
    log_probabilities: Array  # S W L, without the start token's
    rows: Array  # S W, the hypothesis of the step before that each one continues, counted through the batch

    @classmethod
    def at_start(cls, places: Sequence[int], start_id: int) -> "Hypotheses":
        """One hypothesis for each sentence, with the start token only."""
        count = len(places)
        nothing = np.zeros((count, 1, 0), np.float32)
        tokens = np.full((count, 1, 1), start_id)
        totals = np.zeros((count, 1), np.float32)
        return cls(
            np.array(places, int), np.zeros(count, int), totals, tokens, nothing, np.zeros((count, 1), int)
        )

    def joined_by(self, others: "Hypotheses") -> "Hypotheses":
        """Return these and, behind them, others that are at their start."""
        if not len(self.places) or not len(others.places):
            return others if len(others.places) else self
        width, length = self.log_probabilities.shape[1:]
        more = (0, 0), (0, width - 1)
        longer = (*more, (length, 0))
        totals = np.pad(others.totals, more, constant_values=np.float32(-math.inf))
        start = others.tokens[0, 0, 0]
        beside = (
            others.places,
            others.lengths,
            totals,
            np.pad(others.tokens, longer, constant_values=start),
            np.pad(others.log_probabilities, longer),
            np.pad(others.rows, more),
        )
        return Hypotheses(*(np.concatenate(both) for both in zip(self, beside, strict=True)))

    @property
    def empty(self) -> Array:
        """S W, True where there is no hypothesis."""
        return self.totals == -math.inf

    def extend(self, chosen: Candidates) -> "Hypotheses":
        """Return the candidates as hypotheses, each longer by its token."""
        sentences, width = self.totals.shape
        rows = chosen.parents + np.arange(0, sentences * width, width)[:, None]
        tokens, log_p = (
            each.reshape(sentences * width, -1).take(rows, axis=0)
            for each in (self.tokens, self.log_probabilities)
        )
        return Hypotheses(
            self.places,
            self.lengths + 1,
            chosen.totals,
            np.concatenate((tokens, chosen.tokens[..., None]), -1),
            np.concatenate((log_p, chosen.log_probabilities[..., None]), -1),
            rows,
        )

    def keep(self, kept: Array) -> "Hypotheses":
        """Keep the hypotheses at these places, S W, of each sentence."""
        return self._with(pick(each, kept) for each in self._of_each_hypothesis())

    def first(self, width: int) -> "Hypotheses":
        """Keep the first hypotheses of each sentence."""
        return self._with(each[:, :width] for each in self._of_each_hypothesis())

    def of(self, sentences: Array) -> "Hypotheses":
        """Keep the hypotheses of these sentences only, as long as the longest of them."""
        places, lengths, totals, tokens, log_p, rows = (each[sentences] for each in self)
        surplus = log_p.shape[-1] - lengths.max(initial=0)
        return Hypotheses(places, lengths, totals, tokens[..., surplus:], log_p[..., surplus:], rows)

    def without(self, gone: Array) -> "Hypotheses":
        """Remove the hypotheses that are marked in S W."""
        return self._replace(totals=np.where(gone, np.float32(-math.inf), self.totals))

    def _of_each_hypothesis(self) -> tuple[Array, ...]:
        return self.totals, self.tokens, self.log_probabilities, self.rows

    def _with(self, of_each_hypothesis: Iterable[Array]) -> "Hypotheses":
        return Hypotheses(self.places, self.lengths, *of_each_hypothesis)


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
    results = []
    for sentence, column in zip(*which.nonzero(), strict=True):
        length = int(hypotheses.lengths[sentence])
        token_ids = hypotheses.tokens[sentence, column, -length:].tolist()
        log_p = hypotheses.log_probabilities[sentence, column, -length:].tolist()
        score = penalise(float(hypotheses.totals[sentence, column]), length, length_penalty)
        results.append((int(hypotheses.places[sentence]), Found(token_ids, log_p, score, finished)))
    return results


def penalise(log_probability: float, length: int, length_penalty: float) -> float:
    """Return the score that compares hypotheses of different lengths; the length counts the end token."""
    return log_probability / length**length_penalty


def pick(array: Array, places_SW: Array) -> Array:
    """S N ... -> S W ...: for each sentence, the entries at these places."""
    return array[np.arange(len(array))[:, None], places_SW]
