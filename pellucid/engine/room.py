"""The memory plan of one decoding, with places for sentences and cells for keys and values."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]


@dataclass(frozen=True)
class Room:
    """The plan of the memory for one decoding. It has places, and each place holds one sentence at a time.

    sources, limits: the maximum number of tokens of a source, and of a hypothesis, at each place.
    width: the number of hypotheses of a sentence.
    candidates: how many of the likeliest tokens a step returns for each hypothesis (0: all tokens).
    forbidden: the ids that are never candidates.
    threads: how many threads may share each step.
    """

    sources: Array
    limits: Array
    width: int = 1
    candidates: int = 0
    forbidden: Sequence[int] = ()
    threads: int = 1

    @classmethod
    def of(
        cls,
        lengths: Sequence[int],
        limits: Sequence[int],
        together: int,
        width: int,
        candidates: int,
        forbidden: Sequence[int] = (),
    ) -> "Room":
        """Make a room in which these sentences are decoded in this order, `together` at a time. Place n is
        large enough for sentence n and every later sentence."""
        sources, most = (
            np.maximum.accumulate(np.array(each)[::-1])[::-1][:together] for each in (lengths, limits)
        )
        return cls(sources, most, width, candidates, forbidden)

    @property
    def rows(self) -> int:
        """Return the total number of hypotheses at all places."""
        return len(self.limits) * self.width

    @property
    def longest(self) -> int:
        """Return the largest number of tokens that a hypothesis may have."""
        return int(self.limits.max())

    @property
    def positions(self) -> int:
        """Return the largest number of tokens that a source or a hypothesis may have."""
        return max(self.longest, int(self.sources.max()))

    @cached_property
    def starts(self) -> Array:
        """Return the first row of each place in the memory of encoded sources; the last entry is the number
        of rows."""
        return sums(self.sources)

    @cached_property
    def cells(self) -> Array:
        """Return the first cell of each place; the last entry is the total number of cells. A place has a
        cell for each position of each hypothesis."""
        return sums(self.limits * self.width)


class Places:
    """The place and the current length of each sentence that is being decoded, in the order of the search."""

    def __init__(self, room: Room) -> None:
        self._free = list(range(len(room.limits)))[::-1]
        self.taken = self.lengths = np.zeros(0, np.int32)

    def join(self, count: int) -> list[int]:
        """Give a place to each of `count` more sentences; return these places."""
        joined = [self._free.pop() for _ in range(count)]
        self.taken = np.append(self.taken, np.array(joined, np.int32))
        self.lengths = np.append(self.lengths, np.zeros(count, np.int32))
        return joined

    def keep(self, sentences: Array) -> None:
        """Keep the sentences with these indices; the places of the others become free."""
        self._free += np.delete(self.taken, sentences).tolist()
        self.taken, self.lengths = self.taken[sentences], self.lengths[sentences]


def sums(counts: Iterable[int]) -> Array:
    """Return the cumulative sums, with a 0 in front: [3, 2] gives [0, 3, 5]."""
    return np.cumsum([0, *counts]).astype(np.int32)


class Rows(NamedTuple):
    """The input of a step, in int32: one row for each hypothesis. The fields have the names that kernels.c
    uses."""

    token: Array  # the last one of each
    position: Array  # of that token
    place: Array
    cell: Array  # where its keys and values are remembered
    ancestor: Array  # R x longest: the cell of each position of its past
    required: Array  # an id whose logit is asked for, or -1

    @classmethod
    def of(cls, room: Room) -> "Rows":
        """Return arrays of zeros with as many rows as a room can have."""
        shapes = [(room.rows, room.longest) if name == "ancestor" else room.rows for name in cls._fields]
        return cls._make(np.zeros(shape, np.int32) for shape in shapes)


class StepOutput(NamedTuple):
    """The output of a step, for the next token of each row. The fields have the names that kernels.c uses."""

    value: Array  # R x candidates: the highest logits of ids that are allowed
    id: Array  # R x candidates, ascending
    greatest: Array  # R, the highest logit
    total: Array  # R, the sum of exp(logit - greatest)
    asked: Array  # R, the logit of the id required
    logits: Array | None  # R x V, if all were wanted
