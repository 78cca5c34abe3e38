"""The output of a step: the log-probability of the next token of each row (hypothesis).

A step may give it for all tokens or, to save time, for the likeliest only; both kinds have the same methods,
which `AllTokens` explains.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

Array = NDArray[Any]
NONE = -math.inf


@dataclass(frozen=True)
class AllTokens:
    """The log-probabilities of all V tokens, rows x V, and a function that returns their logits during this
    step."""

    log_p: Tensor
    logits: Callable[[], Tensor]

    @classmethod
    def of_logits(cls, logits: Tensor) -> "AllTokens":
        """Convert logits, rows x V, to log-probabilities by log softmax."""
        with torch.no_grad():
            return cls(logits.float().log_softmax(-1), logits.float)

    def rows(self, some: Array) -> "AllTokens":
        """Return the same for some of the rows."""
        return AllTokens(self.log_p[some], lambda: self.logits()[some])

    @property
    def all(self) -> "AllTokens":
        """The log-probabilities of all tokens."""
        return self

    def highest(self) -> Array:
        """Return the highest log-probability of each row."""
        return self.log_p.amax(-1).cpu().numpy()

    def left_out(self) -> Array:
        """Return, for each row, an upper bound of the log-probabilities left out: -inf, none is left out."""
        return np.full(len(self.log_p), NONE)

    def forbid(self, tokens: Sequence[int]) -> None:
        """Set the log-probabilities of these tokens to -inf in all rows, in place."""
        self.log_p[:, list(tokens)] = NONE

    def exclude(self, rows: Array, tokens: Array | int) -> None:
        """Set the log-probabilities of these tokens, one for each of these rows, to -inf, in place."""
        self.log_p[rows, tokens] = NONE

    def required(self, rows: Array, tokens: Array) -> Any:
        """Return the log-probability of the token that each of these rows must continue with."""
        return self.log_p[rows, tokens]

    def force(self, rows: Array, tokens: Array, log_p: Any) -> None:
        """Leave only one token in each of these rows, with this log-probability, in place."""
        self.log_p[rows] = NONE
        self.log_p[rows, tokens] = log_p

    def candidates(self, so_far_R: Array, count: int) -> tuple[Array, Array]:
        """Return, for each row, the `count` ids with the highest log_p + so_far, in ascending order of ids,
        and their log-probabilities."""
        ids = best_of_each(self.log_p, torch.from_numpy(so_far_R).to(self.log_p.device), count)
        return ids.cpu().numpy(), self.log_p.gather(1, ids).cpu().numpy()


@dataclass(frozen=True)
class LikeliestTokens:
    """The log-probabilities of the C likeliest tokens that are never forbidden, rows x C.

    ids: their ids, rows x C, ascending.
    asked: for each row, the log-probability of the token that must come next, if there is one.
    others: a function that computes the step again, and returns those of all tokens: if the likeliest are not
        enough.
    """

    log_p: Array
    ids: Array
    asked: Array
    others: Callable[[], AllTokens]

    def rows(self, some: Array) -> "LikeliestTokens":
        here = self.log_p[some], self.ids[some], self.asked[some]
        return LikeliestTokens(*here, lambda: self.all.rows(some))

    @cached_property
    def all(self) -> AllTokens:
        return self.others()

    def highest(self) -> Array:
        return self.log_p.max(-1)

    def left_out(self) -> Array:
        return self.log_p.min(-1)

    def forbid(self, tokens: Sequence[int]) -> None:
        """Do nothing: tokens that are never produced are not among the likeliest."""

    def exclude(self, rows: Array, tokens: Array | int) -> None:
        found, places = (self.ids[rows] == np.reshape(tokens, (-1, 1))).nonzero()
        self.log_p[rows[found], places] = NONE

    def required(self, rows: Array, tokens: Array) -> Any:
        return self.asked[rows]

    def force(self, rows: Array, tokens: Array, log_p: Any) -> None:
        self.log_p[rows] = NONE
        self.ids[rows, 0], self.log_p[rows, 0] = tokens, log_p

    def candidates(self, so_far_R: Array, count: int) -> tuple[Array, Array]:
        return self.ids, self.log_p


NextTokens = AllTokens | LikeliestTokens


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
