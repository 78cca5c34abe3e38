"""The memory plan of one decoding, with places for sentences and cells for keys and values."""

from bisect import bisect
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from pellucid.search.request import Request

Array = NDArray[Any]


@dataclass(frozen=True)
class Room:
    """The plan of the memory for one session: what its sentences may have at once.

    places: sentences.
    rows: hypotheses; `width`: those of one sentence, at most.
    cells: tokens of sources, and of hypotheses as long as they may become.
    longest_source, longest: the most tokens of one source, and of one hypothesis.
    candidates: how many of the likeliest tokens a step returns for each hypothesis at most.
    forbidden: the ids that are never candidates.
    threads: how many threads may share each step.
    """

    places: int
    rows: int
    width: int
    cells: int
    longest_source: int
    longest: int
    candidates: int = 0
    forbidden: Sequence[int] = ()
    threads: int = 1

    @classmethod
    def of(cls, requests: Sequence[Request], together: int) -> "Room":
        """Make a room for `together` of these sentences at a time, whichever these are."""
        counts = [one.options.width for one in requests], map(cells_of, requests)
        widths, cells = (sorted(each, reverse=True)[:together] for each in counts)
        longest_source = max(len(one.source) for one in requests)
        longest = max(one.max_length for one in requests)
        return cls(len(cells), sum(widths), widths[0], sum(cells), longest_source, longest)

    def may_hold(self, request: Request) -> bool:
        """Return whether a sentence, its hypotheses and their number are not too large for this room."""
        is_short = len(request.source) <= self.longest_source and request.max_length <= self.longest
        return is_short and request.options.width <= self.width and cells_of(request) <= self.cells

    @property
    def positions(self) -> int:
        """Return the largest number of tokens that a source or a hypothesis may have."""
        return max(self.longest, self.longest_source)


class Stretches:
    """The free stretches of a memory of `size` units, each with its beginning and its length, in order."""

    def __init__(self, size: int) -> None:
        self._free = [(0, size)]

    def take(self, count: int) -> int | None:
        """Take `count` units in the first stretch that is long enough. Return where, or None if none is."""
        for number, (start, length) in enumerate(self._free):
            if length >= count:
                self._free[number : number + 1] = [(start + count, length - count)] * (length > count)
                return start
        return None

    def give_back(self, start: int, count: int) -> None:
        """Make units free again, in one stretch with free neighbours."""
        number = bisect(self._free, (start,))
        first = last = number
        if number and sum(self._free[number - 1]) == start:
            first, (start, before) = number - 1, self._free[number - 1]
            count += before
        if number < len(self._free) and self._free[number][0] == start + count:
            last, count = number + 1, count + self._free[number][1]
        self._free[first:last] = [(start, count)]


class Places:
    """Where the open sentences are in the memory, in the order of the search.

    taken: the place of each.
    lengths: the tokens of its hypotheses so far.
    widths: the number of its hypotheses.
    starts: of every place, the first cell of its source, and that of its hypotheses.
    """

    def __init__(self, room: Room) -> None:
        self._free = list(range(room.places))[::-1]
        self._room, self._stretches = room, Stretches(room.cells)
        self._taken: dict[int, tuple[int, int]] = {}  # by place: its first cell, and how many it has
        self.starts = np.zeros((room.places, 2), np.int32)
        self.taken = self.lengths = self.widths = np.zeros(0, np.int32)

    def join(self, requests: Sequence[Request]) -> list[int]:
        """Give places to the first of these sentences, as many as fit; return the places."""
        joined, widths, rows = list[int](), self.widths.tolist(), int(self.widths.sum())
        for request in requests:
            widths.append(request.options.width)
            rows, cells = rows + widths[-1], cells_of(request)
            fits = self._free and rows <= self._room.rows and self._room.may_hold(request)
            start = self._stretches.take(cells) if fits else None
            if start is None:
                break
            joined.append(self._free.pop())
            self._taken[joined[-1]] = start, cells
            self.starts[joined[-1]] = start, start + len(request.source)
        self.taken = np.append(self.taken, np.array(joined, np.int32))
        self.lengths = np.append(self.lengths, np.zeros(len(joined), np.int32))
        self.widths = np.array(widths[: len(self.taken)], np.int32)
        return joined

    def keep(self, sentences: Array) -> None:
        """Keep the sentences with these indices; the places of the others become free."""
        for place in np.delete(self.taken, sentences).tolist():
            self._stretches.give_back(*self._taken[place])
            self._free.append(place)
        self.taken, self.lengths = self.taken[sentences], self.lengths[sentences]
        self.widths = self.widths[sentences]


def cells_of(request: Request) -> int:
    """Return how many cells a sentence needs."""
    return len(request.source) + request.max_length * request.options.width


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
