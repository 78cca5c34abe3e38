"""Admission: what can be done in time is accepted, what is refused is told when to come, and that is true."""

import heapq
import random
from collections import Counter, deque
from contextlib import ExitStack
from typing import Any

import pytest

from pellucid.errors import UsageError
from pellucid.serve import admission
from pellucid.serve.admission import Door, Limits, Queue, Refusal


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    now = [100.0]
    monkeypatch.setattr(admission.time, "monotonic", lambda: now[0])
    return now


def refused(door: Any, *arguments: Any) -> Refusal:
    with pytest.raises(Refusal) as raised, door.entered(*arguments):
        pass
    return raised.value


@pytest.mark.parametrize("address", ["one", "many"])
@pytest.mark.parametrize(("obedient", "patience"), [(1.0, 2.0), (0.5, 2.0), (1.0, 8.0)])
def test_who_comes_again_when_told_is_accepted(
    obedient: float, patience: float, address: str, clock: list[float]
) -> None:
    """200 clients at several times the capacity, for five minutes, of which some come again too early: of the
    others, 95% are accepted at the second time; all in time; and the model always has work."""
    chance, speed, cost = random.Random(4), 1000.0, 40.0
    queue, done_at, idle, second = Queue(lambda: speed), 100.0, 0.0, Counter[bool]()
    opened = deque[tuple[float, ExitStack]]()
    events = [(100 + number / 25, number, False) for number in range(200)]
    while clock[0] < 400:
        clock[0], number, comes_again = heapq.heappop(events)
        while opened and opened[0][0] <= clock[0]:
            opened.popleft()[1].close()
        held, client = ExitStack(), "x" if address == "one" else f"{number}"
        try:
            held.enter_context(queue.entered(client, cost, patience, number))
            idle += max(0.0, clock[0] - done_at)
            done_at = max(done_at, clock[0]) + cost / speed
            opened.append((done_at, held))
            assert done_at - clock[0] <= patience
            second[True] += comes_again
            event = done_at, number, False
        except Refusal as refusal:
            assert refusal.status == 503 and refusal.retry_after is not None
            second[False] += comes_again
            obeys = chance.random() < obedient
            event = clock[0] + (refusal.retry_after if obeys else 0.9), number, obeys
        heapq.heappush(events, (event[0] + chance.random() / 5, *event[1:]))
    assert second[True] > 3000 and second[True] / second.total() >= 0.95
    assert idle < 1


def test_an_empty_queue_takes_everything() -> None:
    queue = Queue(lambda: 10.0)
    with queue.entered("a", 1000, 1, 0):
        told = refused(queue, "b", 10, 1, 1)
    with queue.entered("b", 10, 1, 1):
        pass
    message = "more is queued than can be translated in time. Ask again after the time in Retry-After."
    assert (told.status, str(told), told.retry_after) == (503, message, 2)


def test_a_long_list_of_others_counts_only_as_much_as_ones_own() -> None:
    queue = Queue(lambda: 10.0)
    with queue.entered("a", 10_000, 1, 0), queue.entered("b", 20, 100, 1):
        assert queue.ahead("c", 5) == 15 and queue.ahead("b", 5) == 50
    assert queue.ahead("c", 5) == 5


def test_the_limits_of_a_client(clock: list[float]) -> None:
    limits = Limits(texts=5, characters=50, requests=3, client_requests_per_minute=4, client_characters=80)
    door = Door(limits)
    assert str(refused(door, "a", 6, 1)) == "the request has 6 texts, and 5 are allowed. Send less at once."
    assert str(refused(door, "a", 1, 51)).startswith("the request has 51 characters, and 50 are allowed.")
    with door.entered("a", 1, 50), door.entered("b", 1, 50):
        told = refused(door, "a", 1, 31)
        assert (told.status, str(told)) == (
            429,
            "your open requests have 81 characters. Wait for their answers.",
        )
        with door.entered("a", 1, 30):
            told = refused(door, "c", 1, 1)
            assert (told.status, str(told)) == (503, "3 requests are open, as many as the server takes.")
    assert door.open == 0
    clock[0] += 20
    with door.entered("a", 1, 1):
        told = refused(door, "a", 1, 1)
        assert (told.status, told.retry_after) == (429, 40)
        assert str(told) == "you sent 4 requests within a minute. Wait."
    clock[0] += 40
    with door.entered("a", 1, 1):
        pass


def test_a_limit_must_be_a_number_above_zero() -> None:
    with pytest.raises(UsageError, match=r"^\[limits\] texts = 0 must be a whole number, 1 or more\."):
        Limits(texts=0)
