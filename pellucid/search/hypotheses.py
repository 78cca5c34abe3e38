"""The hypotheses of a batch during the search, and the results.

Axes: S sentence, W hypothesis of a sentence, L position. Sentences begin at different steps, so shorter rows
are filled up on the left: the newest token of every row is in the last column. The arrays are small, so they
are NumPy arrays on the CPU, even if the model computes on a GPU.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]
OF_SENTENCES = 5  # fields of Hypotheses that have one number a sentence; the others have one a hypothesis


class Candidates(NamedTuple):
    """Possible continuations of hypotheses, S x W, best first. Each has the index of the hypothesis that it
    continues, its next token, the sum of log-probabilities up to this token, and this token's
    log-probability."""

    parents: Array
    tokens: Array
    totals: Array
    log_probabilities: Array


class Hypotheses(NamedTuple):
    """The open hypotheses of each sentence, best first. If a sentence has fewer than W, its other slots are
    empty: their sum of log-probabilities is -inf."""

    tickets: Array  # S, by which the result of the sentence is known
    limits: Array  # S, the most tokens of a hypothesis, the end token included
    given: Array  # S, the tokens of the prefix
    finished: Array  # S, the hypotheses that ended so far
    lengths: Array  # S, the tokens of its hypotheses so far, without the start token
    totals: Array  # S W, the sum of the log-probabilities
    tokens: Array  # S W L+1, the start token before the others; before that anything
    log_probabilities: Array  # S W L, without the start token's
    rows: Array  # S W, the row in its lane, at the step before, that each one continues

    @classmethod
    def at_start(
        cls, tickets: Sequence[int], limits: Sequence[int], given: Sequence[int], start_id: int, width: int
    ) -> "Hypotheses":
        """Return one hypothesis for each sentence, the start token alone; its other slots are empty."""
        count, zeros = len(tickets), np.zeros(len(tickets), int)
        of_sentences = [np.array(each, int) for each in (tickets, limits, given, zeros, zeros)]
        totals = np.full((count, width), np.float32(-math.inf))
        totals[:, 0] = 0
        nothing, rows = np.zeros((count, width, 0), np.float32), np.arange(count * width)
        of_each = [totals, np.full((count, width, 1), start_id), nothing, rows.reshape(count, width)]
        return cls(*of_sentences, *of_each)

    def joined_by(self, others: "Hypotheses") -> "Hypotheses":
        """Return these hypotheses, followed by those of other sentences, which have just begun."""
        if not len(self.tickets):
            return others
        shape = (*others.totals.shape, self.log_probabilities.shape[2])
        tokens = np.repeat(others.tokens, shape[2] + 1, 2)  # the start token, again and again
        beside = others._replace(tokens=tokens, log_probabilities=np.zeros(shape, np.float32))
        return Hypotheses(*(np.concatenate(both) for both in zip(self, beside, strict=True)))

    @property
    def empty(self) -> Array:
        """Return a mask S x W that is True at empty slots."""
        return self.totals == -math.inf

    def extend(self, chosen: Candidates) -> "Hypotheses":
        """Return the hypotheses that these candidates make, each one token longer than its parent."""
        sentences, width = self.totals.shape
        rows = chosen.parents + np.arange(0, sentences * width, width)[:, None]
        tokens, log_p = (
            each.reshape(sentences * width, -1).take(rows, axis=0)
            for each in (self.tokens, self.log_probabilities)
        )
        tokens = np.concatenate((tokens, chosen.tokens[..., None]), -1)
        log_p = np.concatenate((log_p, chosen.log_probabilities[..., None]), -1)
        grown = [self.lengths + 1, chosen.totals, tokens, log_p, rows]
        return Hypotheses(*self[: OF_SENTENCES - 1], *grown)

    def keep(self, kept: Array) -> "Hypotheses":
        """Return, for each sentence, only the hypotheses with these indices, S x W, in this order."""
        return Hypotheses(*self[:OF_SENTENCES], *(pick(each, kept) for each in self[OF_SENTENCES:]))

    def first(self, width: int) -> "Hypotheses":
        """Return only the first `width` hypotheses of each sentence."""
        return Hypotheses(*self[:OF_SENTENCES], *(each[:, :width] for each in self[OF_SENTENCES:]))

    def of(self, sentences: Array) -> "Hypotheses":
        """Return the hypotheses of these sentences only, without positions that none of them needs."""
        kept = Hypotheses(*(each[sentences] for each in self))
        surplus = kept.log_probabilities.shape[-1] - kept.lengths.max(initial=0)
        tokens, log_p = (each[..., surplus:] for each in (kept.tokens, kept.log_probabilities))
        return kept._replace(tokens=tokens, log_probabilities=log_p)


@dataclass(frozen=True)
class Found:
    """A hypothesis in the result: its ids without the start token; the end token is the last id if the
    hypothesis is finished."""

    token_ids: list[int]
    log_probabilities: list[float]
    score: float  # the sum of the log-probabilities / length ** length_penalty
    finished: bool


def collect(
    hypotheses: Hypotheses,
    which: Array,
    length_penalty: float,
    collected: dict[int, list[Found]],
    finished: bool,
) -> None:
    """Add the hypotheses where the mask `which`, S x W, is True to those of their sentences, `collected`."""
    sentences, columns = which.nonzero()
    of_sentences = [each[sentences] for each in (hypotheses.tickets, hypotheses.lengths)]
    of_each = [
        each[sentences, columns]
        for each in (hypotheses.totals, hypotheses.tokens, hypotheses.log_probabilities)
    ]
    arrays = (each.tolist() for each in (*of_sentences, *of_each))
    for ticket, length, total, token_ids, log_p in zip(*arrays, strict=True):
        score = penalise(total, length, length_penalty)
        collected[ticket].append(Found(token_ids[-length:], log_p[-length:], score, finished))


def penalise(log_probability: float, length: int, length_penalty: float) -> float:
    """Return the score that compares hypotheses of different lengths: log_probability / length **
    length_penalty. The end token counts in the length."""
    return log_probability / length**length_penalty


def pick(array: Array, indices_SW: Array) -> Array:
    """Return, for each sentence, its entries at these indices: result[s, w] = array[s, indices_SW[s, w]]."""
    return array[np.arange(len(array))[:, None], indices_SW]
