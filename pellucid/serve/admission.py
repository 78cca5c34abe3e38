"""Decide at once whether a request is accepted: by what is left of a client's limits, and by the work that is
queued and the speed at which it is done."""

import math
import time
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import NamedTuple

from pellucid.config.settings import ABOVE_0, Section, number
from pellucid.errors import PellucidError

NEW = 0.5  # the part of a deadline that the queue may take for a request that comes for the first time
GRACE = 5.0  # seconds, for which a promise is kept after its time
LONGEST = 120  # seconds, at most, until a promised time
MINUTE = 60.0


class Refusal(PellucidError):
    """A request that is not answered: the status of HTTP, the reason, and when to come again, in seconds."""

    def __init__(self, status: int, message: str, retry_after: float | None = None) -> None:
        super().__init__(message)
        self.status = status
        self.retry_after = None if retry_after is None else max(1, math.ceil(retry_after))


@dataclass(frozen=True)
class Limits(Section):
    """What the server takes from its clients; each limit may be changed when it is started."""

    body_bytes: int = number(1 << 20, 1, math.inf)  # of a request
    texts: int = number(1000, 1, math.inf)  # of a request
    characters: int = number(100_000, 1, math.inf)  # of the texts of a request
    seconds: float = number(30.0, ABOVE_0, math.inf)  # until a request must be answered
    requests: int = number(1000, 1, math.inf)  # that are open at once, of all clients
    client_requests_per_minute: int = number(600, 1, math.inf)
    client_characters: int = number(200_000, 1, math.inf)  # of a client's open requests


class Door:
    """The limits of each client, and of all together."""

    def __init__(self, limits: Limits) -> None:
        self._limits, self.open, self.characters = limits, 0, 0  # characters: since the start
        self._came = dict[str, deque[float]]()  # when each client asked, in the last minute
        self._characters = dict[str, int]()

    @contextmanager
    def entered(self, client: str, texts: int, characters: int) -> Iterator[None]:
        """Count a request as open until the block ends. Raise an error if a limit does not allow it."""
        limits = self._limits
        for name, count in (("texts", texts), ("characters", characters)):
            if count > (most := getattr(limits, name)):
                raise Refusal(
                    413, f"the request has {count} {name}, and {most} are allowed. Send less at once."
                )
        self._check_rate(client)
        held = self._characters.get(client, 0) + characters
        if held > limits.client_characters:
            raise Refusal(429, f"your open requests have {held} characters. Wait for their answers.", 1)
        if self.open >= limits.requests:
            raise Refusal(503, f"{self.open} requests are open, as many as the server takes.", 1)
        self.open, self._characters[client] = self.open + 1, held
        try:
            yield
            self.characters += characters
        finally:
            self.open, self._characters[client] = self.open - 1, self._characters[client] - characters
            if not self._characters[client]:
                del self._characters[client]

    def _check_rate(self, client: str) -> None:
        now, most = time.monotonic(), self._limits.client_requests_per_minute
        for each, times in [*self._came.items()] if len(self._came) > self._limits.requests else ():
            if times[-1] < now - MINUTE:
                del self._came[each]
        came = self._came.setdefault(client, deque())
        while came and came[0] <= now - MINUTE:
            came.popleft()
        if len(came) >= most:
            raise Refusal(429, f"you sent {most} requests within a minute. Wait.", came[0] + MINUTE - now)
        came.append(now)


class Promise(NamedTuple):
    """A request that was told to come again: what it asks, its work in tokens, and when it may come."""

    key: int
    cost: float
    begin: float
    end: float


class Queue:
    """The work that a model has accepted, in tokens, and what it has promised to accept later.

    A request that is refused is told when to come again: when what is queued now, and what was promised
    before to others, will be done. Half of the time is kept for those who come again, so that they find it.
    """

    def __init__(self, speed: Callable[[], float]) -> None:
        self._speed = speed  # tokens per second
        self._accepted, self._promised = dict[str, float](), list[Promise]()

    @contextmanager
    def entered(self, client: str, cost: float, seconds: float, key: int) -> Iterator[None]:
        """Count the work of a request until the block ends. Raise an error if it cannot be done in so many
        seconds. key: the same for the same request of the same client."""
        self._accept(client, cost, seconds, key)
        try:
            yield
        finally:
            self._accepted[client] -= cost
            if self._accepted[client] < 1:
                del self._accepted[client]

    def ahead(self, client: str, cost: float) -> float:
        """Return the work until this is done. Clients take turns, so of another client's work only as much
        comes before as there is of one's own."""
        mine = self._accepted.get(client, 0) + cost
        return mine + sum(min(mine, work) for other, work in self._accepted.items() if other != client)

    def _accept(self, client: str, cost: float, seconds: float, key: int) -> None:
        now, ahead, speed = time.monotonic(), self.ahead(client, cost), self._speed()
        self._promised = [one for one in self._promised if one.end > now]
        mine = next((one for one in self._promised if one.key == key and one.begin <= now), None)
        allowed = seconds * (NEW if mine is None else 1)
        if self._accepted and ahead / speed > allowed:
            others = sum(one.cost for one in self._promised)
            wait = math.ceil((ahead + others) / speed - allowed)
            if wait <= LONGEST:
                self._promised.append(Promise(key, cost, now + wait, now + wait + GRACE))
            message = (
                "more is queued than can be translated in time. Ask again after the time in Retry-After."
            )
            raise Refusal(503, message, min(wait, LONGEST))
        if mine is not None:
            self._promised.remove(mine)
        self._accepted[client] = self._accepted.get(client, 0) + cost
