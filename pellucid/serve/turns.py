"""Sentences that wait, by client: the clients take turns, so a long list does not hold up a single one."""

import math
import time
from collections import OrderedDict
from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import dataclass, field

from pellucid.search.hypotheses import Found
from pellucid.search.request import Request


@dataclass(eq=False)
class Pending:
    """A sentence that was accepted: what is asked, by whom, and the future that gets its hypotheses.

    grew: called after each step with the ids of its best hypothesis so far, in the thread that decodes.
    """

    request: Request
    client: str
    grew: Callable[[list[int]], None] | None = None
    future: "Future[list[Found]]" = field(default_factory=Future)

    @property
    def width(self) -> int:
        """Return how many rows it takes: its hypotheses."""
        return self.request.options.width

    @property
    def is_late(self) -> bool:
        """Return whether its deadline has passed."""
        return time.monotonic() >= self.request.deadline

    def settle(self, result: list[Found] | BaseException) -> None:
        """Give the future its result or its error, unless it was cancelled."""
        if self.future.set_running_or_notify_cancel():
            if isinstance(result, BaseException):
                self.future.set_exception(result)
            else:
                self.future.set_result(result)


class Turns:
    """The sentences that wait: a list for each client, and the clients in the order of their turns."""

    def __init__(self) -> None:
        self._lists = OrderedDict[str, OrderedDict[Pending, None]]()
        self.rows = 0  # of all sentences

    def add(self, sentence: Pending) -> None:
        """Append a sentence to the list of its client. A new client has the last turn."""
        self._lists.setdefault(sentence.client, OrderedDict())[sentence] = None
        self.rows += sentence.width

    def remove(self, sentence: Pending) -> None:
        """Take a sentence from its list, if it is there."""
        mine = self._lists.get(sentence.client)
        if mine is not None and sentence in mine:
            del mine[sentence]
            self.rows -= sentence.width
            if not mine:
                del self._lists[sentence.client]

    def take(self, rows: float, most: float = math.inf) -> list[Pending]:
        """Take sentences, one of each client in turn, while they fit into so many rows."""
        taken = list[Pending]()
        while self._lists and len(taken) < most:
            client, mine = next(iter(self._lists.items()))
            sentence = next(iter(mine))
            rows -= sentence.width
            if rows < 0:
                break
            taken.append(sentence)
            self.remove(sentence)
            if mine:
                self._lists.move_to_end(client)
        return taken
