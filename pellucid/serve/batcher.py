"""Decode the sentences of all clients together: in as many open sessions of a model as there are enough
sentences for, each with a thread that steps it.

What does not fit into the room of these sessions is decoded by itself, in one more thread, and so is each
sentence of a step that failed.
"""

import math
import sys
import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from dataclasses import replace

import torch

from pellucid.decoding.decoder import MOST_CANDIDATES, MOST_SHARING, Decoder, plan
from pellucid.decoding.room import Room
from pellucid.errors import PellucidError, SentenceError
from pellucid.search.hypotheses import Found
from pellucid.search.lane import Result
from pellucid.search.request import Request, SpecialIds
from pellucid.search.session import TOO_LARGE, SearchStep, Session
from pellucid.serve.line import Accepted, Line

RECENT = 10.0  # seconds of steps by which the speed is measured; earlier ones count less and less
SPARE = 4  # times the cells of typical sentences: enough if a tenth is as long as may be
TRIAL = 8, 2  # tokens of the sentences with which the speed is measured at first, and of their hypotheses


def room_for(
    decoder: Decoder, typical: Sequence[Request], special: SpecialIds, memory: int
) -> tuple[Room, int]:
    """Return the room of a session for sentences like these, and how many sessions there may be: one for each
    thread, but while only one is open, all threads share its steps. If the memory (in MB) allows that, a room
    has as many places as rows, for sentences with one hypothesis, takes wider beams, and has spare cells: a
    long sentence that waits until enough are free would hold up others."""
    room, _ = plan(decoder, typical, special)
    threads = 1 if decoder.apart == 1 else min(MOST_SHARING, torch.get_num_threads())
    room = replace(room, threads=threads)
    likeliest = min(decoder.config.target_size - 1, MOST_CANDIDATES) if room.candidates else 0
    wide = replace(room, places=room.rows, width=room.rows, cells=SPARE * room.cells, candidates=likeliest)
    room = wide if decoder.room_bytes(wide) <= memory << 20 else room
    most = 1 if decoder.apart == sys.maxsize else torch.get_num_threads()
    return room, max(1, min(most, (memory << 20) // max(1, decoder.room_bytes(room))))


class Batcher:
    """What decodes for all clients of a model.

    typical: requests that tell how much room there should be.
    memory: MB that sessions may take.

    Attributes: steps, decoded (sentences, summed over the steps), tokens (rows computed, and source tokens of
    sentences that ended) and seconds (of decoding) count from the beginning.
    """

    def __init__(
        self, decoder: Decoder, typical: Sequence[Request], special: SpecialIds, memory: int = 4000
    ) -> None:
        self._decoder, self._special, self._memory, self._typical = decoder, special, memory, typical[-1]
        self.room, self._sessions = room_for(decoder, typical, special, memory)
        self._together, self._apart = Line(self._sessions, lambda: decoder.apart), Line()
        self._counting, self.steps, self.decoded, self.tokens = threading.Lock(), 0, 0, 0
        self.seconds, self._recent = 0.0, (0.0, 0.0)  # recent: tokens and seconds
        self._read = self._said = 100.0  # tokens of sources, and of their finished translations
        together, numbers = self._decode_together, range(self._sessions)
        self._threads = [threading.Thread(target=together, args=(each,), daemon=True) for each in numbers]
        self._threads.append(threading.Thread(target=self._decode_apart, daemon=True))
        for thread in self._threads:
            thread.start()

    @property
    def is_alive(self) -> bool:
        """Return whether sentences are accepted and decoded."""
        return all(thread.is_alive() for thread in self._threads) and not self._together.is_closed

    @property
    def waiting(self) -> int:
        """Return how many sentences wait."""
        return len(self._together) + len(self._apart)

    @property
    def open(self) -> int:
        """Return how many sentences are being decoded."""
        return self._together.open + self._apart.open

    @property
    def speed(self) -> float:
        """Return how many tokens a second are computed while there is enough to do; inf if not known yet."""
        tokens, seconds = self._recent
        return tokens / seconds if seconds else math.inf

    def cost(self, tokens: float, width: int, least: int = 0) -> float:
        """Return how many tokens have to be computed for sources with so many tokens, if each hypothesis will
        be as long in proportion as those before. least: tokens that the hypotheses must have."""
        return tokens + width * max(tokens * self._said / self._read, least)

    def measure(self) -> "list[Future[list[Found]]]":
        """Begin short sentences, one more than there is room for, so that the speed is known soon."""
        read, said = TRIAL
        one = replace(self._typical, source=self._typical.source[-read:], max_length=said)
        return self.submit([one] * (1 + self._sessions * self.room.rows // one.options.width), "")

    def submit(
        self, requests: Sequence[Request], client: str, grew: Callable[[list[int]], None] | None = None
    ) -> "list[Future[list[Found]]]":
        """Accept sentences, from any thread. Return the futures of their hypotheses. To cancel one frees its
        place within a step. grew: see `Accepted`."""
        if self._together.is_closed:
            raise PellucidError("the server is stopping.")
        accepted = [Accepted(request, client, grew) for request in requests]
        for sentence in accepted:
            line = self._together if self.room.may_hold(sentence.request) else self._apart
            line.put(sentence)
        return [sentence.future for sentence in accepted]

    def close(self) -> None:
        """Finish what was accepted, and end the threads."""
        for line, threads in (self._together, self._threads[:-1]), (self._apart, self._threads[-1:]):
            line.close()
            for thread in threads:
                thread.join()

    def _decode_together(self, number: int) -> None:
        while self._together.wait_for_work(number):
            try:
                self._decode(self.room, self._together, number)
            except Exception:  # nobody knows whose fault this is: try each by itself, and the next one
                self._together.take(1)
                for sentence in self._together.leave_all():
                    self._apart.put(sentence)

    def _decode_apart(self) -> None:
        while self._apart.wait():
            for ticket in self._apart.take(1):
                self._decode_alone(self._apart[ticket])
                self._apart.leave(ticket)

    def _decode_alone(self, sentence: Accepted) -> None:
        """Decode a sentence in a room that is planned for it."""
        alone = Line()
        alone.put(sentence)
        alone.close()
        try:
            room, _ = plan(self._decoder, [sentence.request], self._special)
            if self._decoder.room_bytes(room) > self._memory << 20:
                raise SentenceError(sentence.request.number, 0, TOO_LARGE)
            self._decode(room, alone)
        except Exception as error:  # it goes to whoever waits for this sentence; the thread goes on
            sentence.settle(error)

    def _decode(self, room: Room, line: Line, number: int = 0) -> None:
        """Decode sentences of a line in one session: the first waits for more until the line is closed, any
        other ends when there is no work for it."""
        more = line.has_work if number else line.wait_for_work
        with Session(self._decoder.open(room), self._special, line) as session:
            while len(session) or more(number):
                began, tokens = time.perf_counter(), 0
                step = session.step(line.share(number))
                for ticket, result in step.ended.items():
                    tokens += self._settle(line.leave(ticket), result)
                for ticket in self._watch(step, line):
                    session.cancel(ticket)
                    line.leave(ticket)
                seconds = (time.perf_counter() - began) / line.sessions  # others decode in the same time
                self._count(len(session) + len(step.ended), tokens + session.rows, seconds, len(line) > 0)

    def _settle(self, sentence: Accepted, result: Result) -> int:
        """Give a sentence its result. Return how many tokens this step computed for it."""
        source = len(sentence.request.source)
        if not isinstance(result, SentenceError) and result[0].finished:
            with self._counting:
                self._read += source
                self._said += len(result[0].token_ids)
        sentence.settle(result)
        return source + sentence.request.options.width

    def _watch(self, step: SearchStep, line: Line) -> list[int]:
        """Tell what has grown. Return the tickets of those for which nobody waits any more."""
        gone = list[int]()
        for hypotheses in [lane.hypotheses for lane in step.open]:
            for index, ticket in enumerate(hypotheses.tickets.tolist()):
                sentence = line[ticket]
                if sentence.future.done():
                    gone.append(ticket)
                elif sentence.grew:
                    sentence.grew(hypotheses.tokens[index, 0, -hypotheses.lengths[index] :].tolist())
        return gone

    def _count(self, sentences: int, tokens: int, seconds: float, is_full: bool) -> None:
        with self._counting:
            self.steps, self.decoded = self.steps + 1, self.decoded + sentences
            self.tokens, self.seconds = self.tokens + tokens, self.seconds + seconds
            if is_full:
                kept = math.exp(-seconds / RECENT)
                self._recent = self._recent[0] * kept + tokens, self._recent[1] * kept + seconds
