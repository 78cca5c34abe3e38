"""Decode many sentences, in as many threads as are fast: a list, or sentences that come one by one."""

import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack, suppress
from queue import Empty, SimpleQueue
from typing import Generic, Self, TypeVar

from pellucid.decoding.decoder import Decoder, plan
from pellucid.decoding.room import Room
from pellucid.errors import PellucidError
from pellucid.search.hypotheses import Found
from pellucid.search.lane import Result, raise_if_failed
from pellucid.search.request import Request, SpecialIds
from pellucid.search.session import Session, Waiting
from pellucid.seeing.watching import carried

END = -1  # in place of a ticket: there are no more sentences
T = TypeVar("T")
Item = TypeVar("Item")
NO_THREAD = "the system allows no further thread, and one is needed. Raise its limit (ulimit -u)."
AHEAD = 4  # sentences are read ahead: so many times those that are decoded at once


class Workers:
    """Threads that decode the sentences of one list, each in a session of its own. They share only the
    weights, the list and the watcher (an edit) of the thread that starts them; the engine computes without
    Python's lock, so they run in parallel."""

    def __init__(
        self, decoder: Decoder, room: Room, special: SpecialIds, waiting: Waiting, threads: int
    ) -> None:
        self._decoder, self._room, self._special, self._waiting = decoder, room, special, waiting
        self._stop, self._answers = threading.Event(), SimpleQueue[dict[int, Result] | BaseException]()
        self._wanted, self._threads = threads, list[threading.Thread]()

    def __enter__(self) -> Self:
        try:
            for _ in range(self._wanted):
                thread = threading.Thread(target=carried(self._work), daemon=True)
                thread.start()
                self._threads.append(thread)
        except RuntimeError:  # the system allows no more threads
            pass
        except BaseException:  # Ctrl-C too must leave no thread behind
            self.__exit__()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        self._waiting.close()
        for thread in self._threads:
            thread.join()

    @property
    def started(self) -> int:
        """Return the number of threads that the system allowed."""
        return len(self._threads)

    def work(self) -> None:
        """Decode in this thread until the list is closed and empty, or another thread has failed."""
        with Session(self._decoder.open(self._room), self._special, self._waiting) as session:
            while not self._stop.is_set() and (not session.is_idle or self._waiting.wait()):
                if ended := session.step().ended:
                    self._answers.put(ended)

    def answer(self) -> dict[int, Result]:
        """Wait for the results of some sentences, and return them by ticket. Raise the error of a thread that
        has failed."""
        answer = take(self._answers)
        if isinstance(answer, BaseException):
            raise answer
        return answer

    def _work(self) -> None:
        try:
            self.work()
        except BaseException as error:  # raised by `answer`, in the thread that waits
            self._stop.set()
            self._answers.put(error)


def decode(decoder: Decoder, requests: Sequence[Request], special: SpecialIds) -> list[list[Found]]:
    """Return a list of hypotheses for each request, best first. If sentences fail, raise the error of the
    first one."""
    if not requests:
        return []
    longest_first = sorted(range(len(requests)), key=lambda number: -len(requests[number].source))
    waiting = Waiting(requests[number] for number in longest_first)
    waiting.close()
    room, threads = plan(decoder, requests, special)
    results: dict[int, Result] = {}
    with Workers(decoder, room, special, waiting, threads - 1) as workers:
        workers.work()
        while len(results) < len(requests):
            results |= workers.answer()
    by_number = {number: results[ticket] for ticket, number in enumerate(longest_first)}
    return [raise_if_failed(by_number[number]) for number in range(len(requests))]


def take(queue: SimpleQueue[Item]) -> Item:
    """Wait for the next item of a queue. Look again and again: a signal, such as Ctrl-C, that comes just
    before a wait does not end it."""
    while True:
        with suppress(Empty):
            return queue.get(timeout=0.5)


class Reader(Generic[T]):
    """A thread that prepares requests ahead of those that are answered, `ahead` at most."""

    def __init__(
        self, sources: Iterable[T], prepare: Callable[[T], Request | None], waiting: Waiting, ahead: int
    ) -> None:
        self._sources, self._prepare, self._waiting = sources, prepare, waiting
        self.ahead, self._preparing = threading.Semaphore(ahead), threading.Lock()
        # Tickets, or None where there is nothing to decode; END, or an error, at the end.
        self.order = SimpleQueue[int | None | BaseException]()
        try:
            threading.Thread(target=self._read, daemon=True).start()
        except RuntimeError:
            raise PellucidError(NO_THREAD) from None

    def leave(self) -> None:
        """Let the thread end, now that the list is closed. If Python ended while it is in C++, where a
        vocabulary works, the process would be aborted."""
        with self._preparing:
            self.ahead.release()

    def _read(self) -> None:
        try:
            for source in self._sources:
                self.ahead.acquire()
                with self._preparing:
                    if self._waiting.is_closed:  # nobody wants more
                        return
                    request = self._prepare(source)
                    self.order.put(None if request is None else self._waiting.add(request))
            self.order.put(END)
        except BaseException as error:  # raised where the results are read
            self.order.put(error)


def decode_each(
    decoder: Decoder,
    sources: Iterable[T],
    prepare: Callable[[T], Request | None],
    typical: Sequence[Request],
    special: SpecialIds,
) -> Iterator[list[Found]]:
    """Yield the hypotheses of each source, in order, as soon as they and all earlier ones are there. A thread
    reads the sources, a limited number ahead.

    prepare: returns a source's request, or None if there is nothing to decode, and no hypothesis.
    typical: requests that tell how much room is needed.
    """
    room, threads = plan(decoder, typical, special)
    waiting, results = Waiting(), dict[int, Result]()
    with ExitStack() as ending:
        reader = Reader(sources, prepare, waiting, AHEAD * threads * room.places)
        ending.callback(reader.leave)
        workers = ending.enter_context(Workers(decoder, room, special, waiting, threads))
        if not workers.started:
            raise PellucidError(NO_THREAD)
        while (ticket := take(reader.order)) != END:
            if isinstance(ticket, BaseException):
                raise ticket
            while ticket is not None and ticket not in results:
                results |= workers.answer()
            yield [] if ticket is None else raise_if_failed(results.pop(ticket))
            reader.ahead.release()
