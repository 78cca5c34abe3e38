"""A session: sentences come, are decoded together by rules of their own, and leave. This package knows
nothing about Transformers: what computes a step is a `Decoding`."""

import heapq
import itertools
import sys
import threading
from collections import defaultdict
from collections.abc import Iterable, Sequence
from contextlib import AbstractContextManager
from typing import Any, NamedTuple, Protocol

import numpy as np

from pellucid.errors import SentenceError, UsageError
from pellucid.search.hypotheses import Array
from pellucid.search.lane import FREE, Lane, Result
from pellucid.search.next_tokens import NextTokens
from pellucid.search.options import Options, rules_of
from pellucid.search.request import Request, SpecialIds

TOO_LARGE = (
    "it needs more memory than translating may take. Set a larger memory, or a smaller max_length or beam."
)
JOIN_AT = 1 / 8  # of the rows: newcomers wait until so many are free, or as many as all newcomers need


class Decoding(Protocol):
    """The interface of what decodes sentences: a model, and its memory of the sentences that are open. Each
    sentence has `width` rows, its hypotheses, which are neighbours."""

    rows: int  # the most hypotheses at once

    def join(self, requests: Sequence[Request]) -> int:
        """Encode the first of these sentences, as many as there is memory for, and return their number. Their
        rows come after the present rows."""

    def step(self, tokens: Array, required: Array | None, candidates: int) -> NextTokens:
        """Compute a step, given the last token of each row (at first the start token). Return the
        log-probabilities of the next token.

        required: the id that must come next in each row, or FREE; None: any token may come in all rows.
        candidates: how many of the likeliest tokens of each row are needed; 0: all tokens.
        """

    def select(self, rows: Array, sentences: Array | None) -> None:
        """Continue with the rows at these indices, in this order. `sentences` are the indices of the
        sentences that continue, in their order; None: all do, as before."""

    def close(self) -> None:
        """Give the memory back."""


class SearchStep(NamedTuple):
    """What a step did: the results of the sentences that ended, by ticket, and the lanes, also those that are
    empty now."""

    ended: dict[int, Result]
    open: Sequence[Lane]


class Waiting:
    """Sentences that have not begun. The clients whose sentences they are take turns, each with one: a long
    list does not hold up the single sentence of another. Several sessions may take from one list, each in a
    thread of its own."""

    def __init__(self, requests: Iterable[Request] = ()) -> None:
        self._changed, self._requests = threading.Condition(), dict(enumerate(requests))
        self._numbers = itertools.count(len(self._requests))
        self._order = [(0, ticket) for ticket in self._requests]  # a heap of turns; some may be cancelled
        self._turn, self._turns = 0, dict[str, int]()  # the present turn, and the last one of each client
        self._width = sum(request.options.width for request in self._requests.values())
        self.is_closed = False

    def __len__(self) -> int:
        return len(self._requests)

    def add(self, request: Request, client: str = "") -> int:
        """Append a sentence to those of its client. Return its ticket: a number that no other has."""
        with self._changed:
            ticket = next(self._numbers)
            self._turns[client] = turn = max(self._turn, self._turns.get(client, -1) + 1)
            self._put(turn, ticket, request)
        return ticket

    def exceeds(self, rows: int) -> bool:
        """Return whether all sentences together have more than so many hypotheses."""
        return self._width > rows

    def close(self) -> None:
        """Say that no sentence will be added any more."""
        with self._changed:
            self.is_closed = True
            self._changed.notify_all()

    def wait(self) -> bool:
        """Wait until there is a sentence to take. Return False if there will be none any more."""
        with self._changed:
            self._changed.wait_for(lambda: self._requests or self.is_closed)
            return bool(self._requests)

    def cancel(self, ticket: int) -> bool:
        """Take a sentence from the list. Return whether it was there."""
        with self._changed:
            if request := self._requests.pop(ticket, None):
                self._width -= request.options.width
        return request is not None

    def take(self, rows: int) -> dict[int, Request]:
        """Take the first sentences from the list, by ticket: as many as have so many hypotheses together, but
        one at least."""
        taken = dict[int, Request]()
        with self._changed:
            while self._order and rows > 0:
                turn, ticket = self._order[0]
                if request := self._requests.get(ticket):
                    rows -= request.options.width
                    if taken and rows < 0:
                        break
                    self._turn, taken[ticket] = max(self._turn, turn), self._requests.pop(ticket)
                    self._width -= request.options.width
                heapq.heappop(self._order)
            if len(self._order) + len(self._turns) > 3 * len(self._requests):  # forget what has passed
                self._order = sorted(each for each in self._order if each[1] in self._requests)
                self._turns = {each: turn for each, turn in self._turns.items() if turn >= self._turn}
        return taken

    def give_back(self, requests: dict[int, Request]) -> None:
        """Put sentences back to the front."""
        with self._changed:
            for ticket, request in requests.items():
                self._put(-1, ticket, request)

    def _put(self, turn: int, ticket: int, request: Request) -> None:
        self._requests[ticket] = request
        self._width += request.options.width
        heapq.heappush(self._order, (turn, ticket))
        self._changed.notify_all()


class Session(AbstractContextManager["Session"]):
    """An open search. Close it at its end, or use it in a `with`. One thread calls `step` and `cancel`; any
    may call `add`."""

    def __init__(self, decoding: Decoding, special: SpecialIds, waiting: Waiting | None = None) -> None:
        self._decoding, self._special = decoding, special
        self._waiting = Waiting() if waiting is None else waiting
        self._is_closed = False
        self._lanes: list[Lane] = []  # one for each kind of rules

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Give the memory of the decoding back. What is still open is lost. Closing twice does no harm."""
        if not self._is_closed:
            self._is_closed = True
            self._decoding.close()

    def __len__(self) -> int:
        """Return the number of open sentences."""
        return sum(len(lane.requests) for lane in self._lanes)

    @property
    def rows(self) -> int:
        """Return the number of hypotheses that open sentences have."""
        return sum(lane.width * len(lane.requests) for lane in self._lanes)

    @property
    def is_idle(self) -> bool:
        """Return whether no sentence is open or waits."""
        return not self._lanes and not len(self._waiting)

    def add(self, request: Request) -> int:
        """Let a sentence wait for the next step. Return its ticket, by which its result will be known."""
        if self._is_closed:
            raise UsageError("the session is closed and takes no more sentences. Open another.")
        return self._waiting.add(request)

    def cancel(self, ticket: int) -> None:
        """Forget a sentence, open or not; it gets no result. Nothing happens if it has ended."""
        if not self._waiting.cancel(ticket) and any(ticket in lane.requests for lane in self._lanes):
            self._select([lane.drop(ticket) for lane in self._lanes], True)

    def step(self, rows: int = sys.maxsize) -> SearchStep:
        """Begin sentences that wait, as far as there is room, and while open ones have fewer than so many
        hypotheses; continue each open one by one token."""
        ended = self._join(rows - self.rows) if len(self._waiting) and self.rows < rows else {}
        lanes = self._lanes
        if not lanes:
            return SearchStep(ended, ())
        last, required = [lane.last for lane in lanes], [lane.required() for lane in lanes]
        likely = self._decoding.step(self._spread(last), self._spread(required), self._candidates)
        for lane, given in zip(lanes, required, strict=True):
            ended |= lane.step(likely.rows(lane.rows) if len(lanes) > 1 else likely, given)
        if ended or self._is_wide:
            self._select([lane.continued for lane in lanes], bool(ended))
        return SearchStep(ended, lanes)

    def _join(self, most: int) -> dict[int, Result]:
        """Begin as many of the waiting sentences as there is room for, with so many hypotheses at most; while
        others are open, only several at once, because those that begin together are encoded together. Return
        an error for a sentence that no room is large enough for."""
        rows = self._decoding.rows
        free = rows - self.rows
        if not free or (self._lanes and free < rows * JOIN_AT and self._waiting.exceeds(free)):
            return {}
        taken = self._waiting.take(min(free, most))
        joined = dict(itertools.islice(taken.items(), self._decoding.join([*taken.values()])))
        self._waiting.give_back({ticket: taken[ticket] for ticket in taken if ticket not in joined})
        if not joined:
            if not taken or self._lanes:
                return {}
            (ticket, request), *_ = taken.items()
            self._waiting.cancel(ticket)
            return {ticket: SentenceError(request.number, 0, TOO_LARGE)}
        numbers = dict(zip(joined, itertools.count(len(self)), strict=False))
        lanes, joining = dict[int, Lane](), defaultdict[Lane, dict[int, Request]](dict)
        for ticket, request in joined.items():  # in their order, in which the decoding has their rows
            same = id(request.options)  # to compare options takes longer
            lanes[same] = lane = lanes.get(same) or self._lane(request.options)
            joining[lane][ticket] = request
        for lane, some in joining.items():
            lane.join(some, [numbers[ticket] for ticket in some])
        self._lay_out()
        return {}

    def _lane(self, options: Options) -> Lane:
        """Return the lane of the sentences with these options: a new one if there is none."""
        rules = rules_of(options)
        for lane in self._lanes:
            if lane.options == rules:
                return lane
        self._lanes = [*self._lanes, Lane(rules, self._special)]
        return self._lanes[-1]

    def _select(self, rows: Sequence[Array], some_left: bool) -> None:
        """Go on with the sentences that the lanes still have, by the rows that each lane continues."""
        kept = None
        if some_left:
            kept = np.sort(np.concatenate([lane.numbers for lane in self._lanes]))
            for lane in self._lanes:
                lane.numbers = np.searchsorted(kept, lane.numbers)
            rows = [each for each in rows if len(each)] or [kept]  # no lane is left: no row is
            self._lanes = [lane for lane in self._lanes if lane.requests]
            self._lay_out()
        self._decoding.select(self._spread(rows), kept)

    def _lay_out(self) -> None:
        """Find the rows of each lane, and what all lanes need, now that sentences have come or gone."""
        needed, widths = [lane.options.candidates for lane in self._lanes], np.zeros(len(self), int)
        self._candidates = max(needed, default=0) if all(needed) else 0
        self._is_wide = any(lane.width > 1 for lane in self._lanes)
        for lane in self._lanes:
            widths[lane.numbers] = lane.width
        starts = np.cumsum(widths) - widths
        for lane in self._lanes:
            lane.rows = (starts[lane.numbers][:, None] + np.arange(lane.width)).ravel()

    def _spread(self, of_lanes: Sequence[Array | None]) -> Any:
        """Return one array for all rows from an array for each lane, or from None, which stands for FREE in
        each of its rows; None if it stands for all."""
        if len(of_lanes) == 1 or all(each is None for each in of_lanes):
            return of_lanes[0]
        rows = np.full(sum(len(lane.rows) for lane in self._lanes), FREE)
        for lane, each in zip(self._lanes, of_lanes, strict=True):
            if each is not None:
                rows[lane.rows] = each
        return rows
