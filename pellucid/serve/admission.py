"""Decide at once whether a request is accepted: by the limits of a client, and by the work that is queued and
the speed at which it is done. Who is refused is told when to come again, and is accepted then."""

import math
import time
from collections import OrderedDict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import NamedTuple

from pellucid.config.settings import ABOVE_0, Section, number
from pellucid.errors import PellucidError

NEW, TOLD = 1 / 5, 3 / 4  # the parts of a limit that are for those who come at first, and when they were told
GRACE = 5.0  # seconds, for which a promise is kept after its time
LONGEST = 300  # seconds, at most, until a promised time
LAST = 100  # promises, by which it is known how many are made use of
MINUTE = 60.0
BUSY = "more is queued than can be translated in time. Ask again after the time in Retry-After."


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
    seconds: float = number(30.0, ABOVE_0, 86_400)  # until a request must be answered
    requests: int = number(1000, 1, math.inf)  # that are open at once, of all clients
    client_requests_per_minute: int = number(600, 1, math.inf)


class Promise(NamedTuple):
    """A request that was told to come again: its work, in seconds, and when it may come."""

    work: float
    begin: float


class Promises:
    """Requests that were refused because of one limit, and were told when to come again. They find room then:
    those that come for the first time may use only a part of what is allowed."""

    def __init__(self) -> None:
        self._told, self._work = OrderedDict[int, Promise](), 0.0
        self._used = 1.0  # the part of the promises of which use is made

    def wait(self, key: int, ahead: float, work: float, most: float, more: float = 0.0) -> float:
        """Return 0 if a request may come, or in how many seconds it may. All is measured in seconds of work.

        key: the same for the same request of the same client. ahead: what is there. work: its own. most: how
        much may be there. more: what also counts as there if it comes for the first time.
        """
        now = time.monotonic()
        while self._told and next(iter(self._told.values())).begin + GRACE < now:
            self._forget(next(iter(self._told)), used=False)
        told = self._told.get(key)
        may_come = told is not None and told.begin <= now
        over = ahead + work - most * TOLD
        if not may_come:
            over = max(over, ahead + more - most * NEW)
        if told is not None and over > 0 and not may_come:
            return told.begin - now
        if told is not None:
            self._forget(key, used=True)
        if over <= 0:
            return 0.0
        wait = min(max(1, math.ceil(over + self._used * self._work)), LONGEST)
        self._told[key] = Promise(work, now + wait)
        self._work += work
        return wait

    def _forget(self, key: int, used: bool) -> None:
        self._work -= self._told.pop(key).work
        self._used += (used - self._used) / LAST


@dataclass
class Rate:
    """How often a client asks: each request is work that takes the same time."""

    until: float = 0.0  # when the work of all is done
    promises: Promises = field(default_factory=Promises)


class Door:
    """The limits of each client, and of all together."""

    def __init__(self, limits: Limits) -> None:
        self._limits, self.open = limits, 0
        self._rates = dict[str, Rate]()

    @contextmanager
    def entered(self, client: str, texts: int, characters: int, key: int) -> Iterator[None]:
        """Count a request as open until the block ends. Raise an error if a limit does not allow it."""
        self.check_size(texts, characters)
        if self.open >= self._limits.requests:
            raise Refusal(503, f"{self.open} requests are open, as many as the server takes.", 1)
        self._check_rate(client, key)
        self.open += 1
        try:
            yield
        finally:
            self.open -= 1

    def check_size(self, texts: int, characters: int) -> None:
        """Raise an error if a request may not have so many texts or characters."""
        for name, count in (("texts", texts), ("characters", characters)):
            if count > (most := getattr(self._limits, name)):
                raise Refusal(
                    413, f"the request has {count} {name}, and {most} are allowed. Send less at once."
                )

    def _check_rate(self, client: str, key: int) -> None:
        now, each = time.monotonic(), MINUTE / self._limits.client_requests_per_minute
        if len(self._rates) > self._limits.requests:
            self._rates = {name: rate for name, rate in self._rates.items() if rate.until > now}
        rate = self._rates.setdefault(client, Rate())
        begin = max(rate.until, now)
        if wait := rate.promises.wait(key, begin + each / 2 - now, each, MINUTE / NEW):
            most = self._limits.client_requests_per_minute
            raise Refusal(429, f"you sent {most} requests within a minute. Wait.", wait)
        rate.until = begin + each


class Queue:
    """The work that a model has accepted: `accepted`, in tokens, by client."""

    def __init__(self, speed: Callable[[], float]) -> None:
        self._speed, self.accepted = speed, dict[str, float]()  # speed: tokens a second
        self._promises = Promises()

    @property
    def seconds(self) -> float:
        """Return how long the accepted work takes."""
        return sum(self.accepted.values()) / self._speed()

    @contextmanager
    def entered(self, client: str, cost: float, seconds: float, key: int) -> Iterator[None]:
        """Count the work of a request until the block ends. Raise an error if it cannot be done in so many
        seconds. What is queued of its own client counts twice, so that there is room for others."""
        mine, speed = self.accepted.get(client, 0.0), self._speed()
        most = seconds if self.accepted else math.inf
        if wait := self._promises.wait(key, self.seconds, cost / speed, most, mine / speed):
            raise Refusal(503, BUSY, wait)
        self.accepted[client] = mine + cost
        try:
            yield
        finally:
            self.accepted[client] -= cost
            if self.accepted[client] < 1:
                del self.accepted[client]
