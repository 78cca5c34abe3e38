"""Sentences that were accepted: those that wait for a session, and those that it decodes."""

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
    """

    request: Request
    client: str
    grew: Callable[[list[int]], None] | None = None
    future: "Future[list[Found]]" = field(default_factory=Future)

    def settle(self, result: list[Found] | Exception) -> None:
        """Give it its result."""
        with suppress(InvalidStateError):  # it was cancelled
            if isinstance(result, Exception):
                self.future.set_exception(result)
            else:
                self.future.set_result(result)


class Line(Waiting):
    """Sentences that wait for a session, which takes them from here, and those that it has taken."""

    def __init__(self) -> None:
        super().__init__()
        self._accepted = dict[int, Accepted]()  # by ticket: those that wait, and those that are taken

    def __getitem__(self, ticket: int) -> Accepted:
        return self._accepted[ticket]

    @property
    def open(self) -> int:
        """Return how many are taken and have not left."""
        return max(0, len(self._accepted) - len(self))

    def put(self, sentence: Accepted) -> None:
        """Append a sentence to those of its client."""
        with self._changed:
            self._accepted[self.add(sentence.request, sentence.client)] = sentence

    def take(self, rows: int) -> dict[int, Request]:
        """Take the first sentences, as a session does. Forget those for which nobody waits any more."""
        taken = super().take(rows)
        gone = [ticket for ticket in taken if self[ticket].future.done()]
        for ticket in gone:
            self.leave(ticket)
        return {ticket: request for ticket, request in taken.items() if ticket not in gone}

    def leave(self, ticket: int) -> Accepted:
        """Forget a sentence that was taken, and return it."""
        return self._accepted.pop(ticket)

    def leave_all(self) -> list[Accepted]:
        """Forget all sentences that were taken, and return them."""
        with self._changed:
            return [self.leave(ticket) for ticket in [*self._accepted] if ticket not in self._requests]
