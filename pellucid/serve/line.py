"""Sentences that were accepted: those that wait for a session, those that it decodes, and whose they are."""

from collections.abc import Callable, Sequence
from concurrent.futures import Future, InvalidStateError
from contextlib import suppress
from dataclasses import dataclass, field
from typing import NamedTuple

from pellucid.search.hypotheses import Found
from pellucid.search.request import Request
from pellucid.search.session import Waiting


@dataclass(eq=False)
class Group:
    """Sentences that a client asked for at once, and the future of their hypotheses, in their order.

    grew: called after each step with the ids of the best hypothesis so far, in the thread that decodes.
    """

    requests: Sequence[Request]
    client: str
    grew: Callable[[list[int]], None] | None = None
    future: "Future[list[list[Found]]]" = field(default_factory=Future)
    _found: dict[int, list[Found]] = field(default_factory=dict)

    @property
    def is_settled(self) -> bool:
        """Return whether nobody waits for its sentences any more."""
        return self.future.done()

    def put(self, number: int, result: list[Found] | Exception) -> None:
        """Take the result of one sentence. An error is the result of them all."""
        with suppress(InvalidStateError):  # the future was cancelled, or has an error
            if isinstance(result, Exception):
                self.future.set_exception(result)
                return
            self._found[number] = result
            if len(self._found) == len(self.requests):
                self.future.set_result([self._found[each] for each in range(len(self.requests))])


class Member(NamedTuple):
    """A sentence of a group."""

    group: Group
    number: int

    @property
    def request(self) -> Request:
        """Return what is asked."""
        return self.group.requests[self.number]


class Line(Waiting):
    """Sentences that wait for a session, which takes them from here, and those that it has taken."""

    def __init__(self) -> None:
        super().__init__()
        self._members = dict[int, Member]()  # by ticket: those that wait, and those that are taken

    def __getitem__(self, ticket: int) -> Member:
        return self._members[ticket]

    @property
    def open(self) -> int:
        """Return how many are taken and have not left."""
        return max(0, len(self._members) - len(self))

    def put(self, member: Member) -> None:
        """Append a sentence to those of its client."""
        with self._changed:
            self._members[self.add(member.request, member.group.client)] = member

    def take(self, rows: int) -> dict[int, Request]:
        """Take the first sentences, as a session does. Forget those for which nobody waits any more."""
        taken = super().take(rows)
        gone = [ticket for ticket in taken if self[ticket].group.is_settled]
        for ticket in gone:
            self.leave(ticket)
        return {ticket: request for ticket, request in taken.items() if ticket not in gone}

    def leave(self, ticket: int) -> Member:
        """Forget a sentence that was taken, and return it."""
        return self._members.pop(ticket)

    def leave_all(self) -> list[Member]:
        """Forget all sentences that were taken, and return them."""
        with self._changed:
            return [self.leave(ticket) for ticket in [*self._members] if ticket not in self._requests]
