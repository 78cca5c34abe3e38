"""Sentences that were accepted: those that wait for a session, and those that sessions decode."""

import threading
from collections.abc import Callable
from concurrent.futures import Future, InvalidStateError
from contextlib import suppress
from dataclasses import dataclass, field

from pellucid.search.hypotheses import Found
from pellucid.search.request import Request
from pellucid.search.session import Waiting


@dataclass(eq=False)
class Accepted:
    """A sentence that was accepted, and the future of its hypotheses, which is cancelled if nobody waits for
    them any more.

    grew: called after each step with the ids of the best hypothesis so far, in the thread that decodes.
    thread: the thread that took the sentence.
    """

    request: Request
    client: str
    grew: Callable[[list[int]], None] | None = None
    future: "Future[list[Found]]" = field(default_factory=Future)
    thread: int | None = None

    def settle(self, result: list[Found] | Exception) -> None:
        """Give it its result."""
        with suppress(InvalidStateError):  # it was cancelled
            if isinstance(result, Exception):
                self.future.set_exception(result)
            else:
                self.future.set_result(result)


class Line(Waiting):
    """Sentences that wait for sessions, each of which takes them from here in a thread of its own, and those
    that they have taken.

    sessions: how many sessions there may be.
    apart: returns how many hypotheses of its own are enough for a session.
    """

    def __init__(self, sessions: int = 1, apart: Callable[[], int] = lambda: 1) -> None:
        super().__init__()
        self._accepted = dict[int, Accepted]()  # by ticket: those that wait, and those that are taken
        self._most, self._apart, self._rows = sessions, apart, 0  # rows: hypotheses of all of them

    def __getitem__(self, ticket: int) -> Accepted:
        return self._accepted[ticket]

    @property
    def open(self) -> int:
        """Return how many are taken and have not left."""
        return max(0, len(self._accepted) - len(self))

    @property
    def sessions(self) -> int:
        """Return how many sessions decode what is here now fastest."""
        return max(1, min(self._most, self._rows // self._apart()))

    def share(self, number: int) -> int:
        """Return how many hypotheses the session with this number may have now, counted from 0."""
        sessions = self.sessions
        return -(-self._rows // sessions) if number < sessions else 0

    def has_work(self, number: int) -> bool:
        """Return whether the session with this number may take a sentence now."""
        return len(self) > 0 and number < self.sessions

    def wait_for_work(self, number: int) -> bool:
        """Wait until the session with this number may take a sentence. Return False if there will be none."""
        with self._changed:
            self._changed.wait_for(lambda: self.has_work(number) or self.is_closed)
            return self.has_work(number)

    def put(self, sentence: Accepted) -> None:
        """Append a sentence to those of its client."""
        with self._changed:
            self._rows += sentence.request.options.width
            self._accepted[self.add(sentence.request, sentence.client)] = sentence

    def take(self, rows: int) -> dict[int, Request]:
        """Take the first sentences, as a session does. Forget those for which nobody waits any more."""
        taken = super().take(rows)
        for ticket in taken:
            self[ticket].thread = threading.get_ident()
        gone = [ticket for ticket in taken if self[ticket].future.done()]
        for ticket in gone:
            self.leave(ticket)
        return {ticket: request for ticket, request in taken.items() if ticket not in gone}

    def leave(self, ticket: int) -> Accepted:
        """Forget a sentence that was taken, and return it."""
        with self._changed:
            self._rows -= self._accepted[ticket].request.options.width
            return self._accepted.pop(ticket)

    def leave_all(self) -> list[Accepted]:
        """Forget all sentences that this thread took, and return them."""
        with self._changed:
            taken = [ticket for ticket in self._accepted if ticket not in self._requests]
            return [self.leave(each) for each in taken if self[each].thread == threading.get_ident()]
