"""Decode the sentences of all clients together: one open session of a model, and one thread that steps it.

A sentence waits in the list of its client. Before each step the thread takes sentences from these lists, as
many as there is room for; after it, sentences that are finished get their results. What does not fit into the
room of the session is decoded by itself, in a session of its own that takes its steps in between.
"""

import math
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future
from dataclasses import replace
from functools import partial

import torch

from pellucid.decoding.decoder import MOST_SHARING, Decoder, plan
from pellucid.decoding.room import Room, cells_of
from pellucid.errors import PellucidError, SentenceError
from pellucid.search.hypotheses import Found
from pellucid.search.lane import Result
from pellucid.search.request import Request, SpecialIds
from pellucid.search.session import JOIN_AT, TOO_LARGE
from pellucid.serve.table import Table
from pellucid.serve.turns import Pending, Turns

RECENT, SLOW = (
    256,
    1 / 16,
)  # steps by which the speed is measured; without the slowest, in which it was held up
LATE = "it could not be translated before its deadline."
TRIAL = 4  # tokens of each sentence with which the speed is measured at first


class Late(PellucidError):
    """The deadline of a sentence has passed."""


class Closed(PellucidError):
    """The batcher takes no more sentences."""


def room_for(decoder: Decoder, typical: Sequence[Request], special: SpecialIds, memory: int) -> Room:
    """Return the room of a session for sentences like these, in which all threads share each step. It has as
    many places as rows, if the memory (in MB) allows that: sentences with one hypothesis take one row."""
    room, _ = plan(decoder, typical, special)
    threads = 1 if decoder.apart == 1 else min(MOST_SHARING, torch.get_num_threads())
    room = replace(room, threads=threads)
    wide = replace(room, places=room.rows)
    return wide if decoder.room_bytes(wide) <= memory << 20 else room


class Batcher:
    """What decodes for all clients of a model.

    typical: requests that tell how much room there should be.
    memory: MB that the session may take.

    Attributes: steps, decoded (sentences, summed over the steps), tokens (rows computed and source tokens
    read) and seconds (of decoding) count from the beginning.
    """

    def __init__(
        self, decoder: Decoder, typical: Sequence[Request], special: SpecialIds, memory: int = 4000
    ) -> None:
        self._decoder, self._special, self._memory, self._typical = decoder, special, memory, typical[-1]
        self._together = Table(decoder, room_for(decoder, typical, special, memory), special)
        self._by_itself: Table | None = None
        self._waiting, self._apart, self._gone = Turns(), Turns(), deque[Pending]()
        self._changed, self._is_closed = threading.Condition(), False
        self.steps = self.decoded = self.tokens = 0
        self.seconds, self._recent = 0.0, deque[tuple[int, float]](maxlen=RECENT)
        self._read = self._said = 100.0  # tokens of sources, and of their finished translations
        self._thread = threading.Thread(target=self._run, daemon=True, name="pellucid batcher")
        self._thread.start()

    @property
    def room(self) -> Room:
        """Return the room that the session has."""
        return self._together.room

    @property
    def is_alive(self) -> bool:
        """Return whether the thread runs and takes sentences."""
        return self._thread.is_alive() and not self._is_closed

    @property
    def waiting(self) -> int:
        """Return how many rows wait."""
        return self._waiting.rows + self._apart.rows

    @property
    def open(self) -> int:
        """Return how many sentences are being decoded."""
        return len(self._together) + len(self._by_itself or ())

    @property
    def speed(self) -> float:
        """Return how many tokens a second are computed while there is enough to do; inf if not known yet."""
        by_time = sorted(self._recent, key=lambda step: step[1])
        kept = by_time[: len(by_time) - int(len(by_time) * SLOW)]
        return sum(tokens for tokens, _ in kept) / sum(seconds for _, seconds in kept) if kept else math.inf

    def cost(self, tokens: float, width: int) -> float:
        """Return how many tokens have to be computed for sources with so many tokens, if each hypothesis will
        be as long in proportion as those before."""
        return tokens * (1 + width * self._said / self._read)

    def measure(self) -> list["Future[list[Found]]"]:
        """Begin as many equal sentences as there is room for, so that the speed is known."""
        one = replace(self._typical, max_length=TRIAL)
        return self.submit([one] * (self.room.rows // one.options.width), "")

    def submit(
        self, requests: Sequence[Request], client: str, grew: Callable[[list[int]], None] | None = None
    ) -> list["Future[list[Found]]"]:
        """Accept sentences, from any thread. Return a future for each. To cancel it frees its place before
        the next step."""
        sentences = [Pending(request, client, grew) for request in requests]
        with self._changed:
            if self._is_closed:
                raise Closed("the server is stopping.")
            for sentence in sentences:
                (self._waiting if self._fits(sentence.request) else self._apart).add(sentence)
            self._changed.notify()
        for sentence in sentences:
            sentence.future.add_done_callback(partial(self._notice, sentence))
        return [sentence.future for sentence in sentences]

    def close(self) -> None:
        """Finish what was accepted, and end the thread."""
        with self._changed:
            self._is_closed = True
            self._changed.notify()
        self._thread.join()

    def _fits(self, request: Request) -> bool:
        return self.room.may_hold(request) and cells_of(request) <= self.room.cells

    def _notice(self, sentence: Pending, _: object) -> None:
        """Remember a sentence whose future was cancelled, for the thread."""
        if sentence.future.cancelled():
            with self._changed:
                self._waiting.remove(sentence)
                self._apart.remove(sentence)
                self._gone.append(sentence)

    def _run(self) -> None:
        """Take steps until the batcher is closed and everything is finished."""
        while True:
            with self._changed:
                self._changed.wait_for(lambda: self._is_closed or self.waiting or self.open)
                if not self.waiting and not self.open:
                    return
                together, apart = self._take()
                gone = [self._gone.popleft() for _ in range(len(self._gone))]
            began = time.perf_counter()
            is_full = self.waiting > 0 or self._together.rows > self.room.rows // 2
            tokens = self._step(gone, together, apart)
            self._count(tokens, time.perf_counter() - began, is_full)

    def _take(self) -> tuple[list[Pending], list[Pending]]:
        """Take sentences that there is room for: for the session only if several rows are free, because those
        that begin together are encoded together; and the next one that is decoded by itself."""
        free, wanted = self._together.free, self._waiting.rows
        together = self._waiting.take(free) if free >= min(wanted, self.room.rows * JOIN_AT) else []
        apart = [] if self._by_itself is not None else self._apart.take(math.inf, 1)
        return together, apart

    def _step(self, gone: Sequence[Pending], coming: Sequence[Pending], apart: Sequence[Pending]) -> int:
        """Forget those that are gone, begin those that come, and continue all by one token. Return how many
        tokens that computed."""
        for sentence in self._in_time(coming):
            self._together.add(sentence)
        for sentence in self._in_time(apart):
            self._begin_apart(sentence)
        tokens = sum(len(each.request.source) for each in (*coming, *apart))
        for table in filter(None, (self._together, self._by_itself)):
            tokens += table.rows
            self.decoded += len(table)
            try:
                for sentence in gone:
                    table.cancel(sentence)
                for sentence, result in table.step() if len(table) else ():
                    self._settle(sentence, result)
            except Exception as error:  # whose fault this is, nobody knows: try each by itself
                self._recover(table, error)
        if self._by_itself is not None and not len(self._by_itself):
            self._by_itself.clear()
            self._by_itself = None
        return tokens

    def _in_time(self, sentences: Sequence[Pending]) -> Iterator[Pending]:
        """Yield those whose deadline has not passed; settle the others."""
        for sentence in sentences:
            if sentence.is_late:
                sentence.settle(Late(LATE))
            else:
                yield sentence

    def _begin_apart(self, sentence: Pending) -> None:
        """Plan a session for this sentence alone, unless it needs too much memory."""
        room, _ = plan(self._decoder, [sentence.request], self._special)
        if self._decoder.room_bytes(room) > self._memory << 20:
            sentence.settle(SentenceError(sentence.request.number, 0, TOO_LARGE))
            return
        self._by_itself = Table(self._decoder, room, self._special)
        self._by_itself.add(sentence)

    def _recover(self, table: Table, error: Exception) -> None:
        """Go on after an error of a step: it is the error of a sentence that was by itself; others are
        decoded again, each by itself."""
        for sentence in table.clear():
            if table is self._by_itself:
                sentence.settle(error)
            elif not sentence.future.cancelled():
                with self._changed:
                    self._apart.add(sentence)

    def _settle(self, sentence: Pending, result: Result) -> None:
        if not isinstance(result, SentenceError) and result[0].finished:
            self._read += len(sentence.request.source)
            self._said += len(result[0].token_ids)
        sentence.settle(Late(LATE) if sentence.is_late else result)

    def _count(self, tokens: int, seconds: float, is_full: bool) -> None:
        self.steps, self.tokens, self.seconds = self.steps + 1, self.tokens + tokens, self.seconds + seconds
        if is_full:
            self._recent.append((tokens, seconds))
