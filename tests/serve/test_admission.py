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


def test_an_empty_queue_takes_everything_and_another_less(clock: list[float]) -> None:
    """Whoever comes when told may find more work there than who comes first."""
    queue = Queue(lambda: 10.0)
    message = "more is queued than can be translated in time. Ask again after the time in Retry-After."
    with queue.entered("a", 100, 1, 0):
        assert queue.seconds == 10
        first, second = (refused(queue, each, 10, 40, key) for key, each in enumerate("bc", 1))
        assert (first.status, str(first), first.retry_after, second.retry_after) == (503, message, 2, 3)
        clock[0] += 1.5
        assert refused(queue, "b", 10, 40, 1).retry_after == 1 and refused(queue, "d", 10, 40, 3)
        clock[0] += 0.5
        with queue.entered("b", 10, 40, 1):
            assert refused(queue, "b", 10, 40, 1)  # as often as it was told
    assert not queue.accepted


def test_promises_of_which_no_use_is_made_are_forgotten(clock: list[float]) -> None:
    queue = Queue(lambda: 10.0)
    with queue.entered("a", 100, 1, 0):
        told = [refused(queue, f"{key}", 100, 40, key).retry_after for key in range(1, 9)]
        assert told == [2, 12, 22, 32, 42, 52, 62, 72]
        clock[0] += 1000
        assert refused(queue, "b", 100, 40, 1).retry_after == 2
        for key in range(1000):
            clock[0] += 20
            told = [refused(queue, "b", 100, 40, key).retry_after]
        assert told == [2] and queue._promises._used < 0.01


def test_there_is_room_beside_a_client_who_asks_for_much() -> None:
    queue = Queue(lambda: 1.0)
    with queue.entered("a", 120, 1000, 0):
        refused(queue, "a", 1, 1000, 1)
        with queue.entered("b", 60, 1000, 2):
            refused(queue, "b", 1, 1000, 3)
            with queue.entered("c", 1, 1000, 4):
                pass


def test_the_limits_of_a_client(clock: list[float]) -> None:
    door = Door(Limits(texts=5, characters=50, requests=2, client_requests_per_minute=4))
    assert (
        str(refused(door, "a", 6, 1, 0)) == "the request has 6 texts, and 5 are allowed. Send less at once."
    )
    assert str(refused(door, "a", 1, 51, 0)).startswith("the request has 51 characters, and 50 are allowed.")
    with door.entered("a", 1, 50, 0), door.entered("b", 1, 50, 0):
        told = refused(door, "c", 1, 1, 0)
        assert (told.status, str(told)) == (503, "2 requests are open, as many as the server takes.")
    assert door.open == 0
    for key in range(3):
        with door.entered("a", 1, 1, key):
            pass
    many = [refused(door, "a", 1, 1, key) for key in (4, 5, 6, 4)]
    assert [each.retry_after for each in many] == [8, 23, 38, 8]
    assert (many[0].status, str(many[0])) == (429, "you sent 4 requests within a minute. Wait.")
    clock[0] += 8
    with door.entered("a", 1, 1, 4), door.entered("b", 1, 1, 0):
        refused(door, "a", 1, 1, 7)


def test_a_limit_must_be_a_number_above_zero() -> None:
    with pytest.raises(UsageError, match=r"^\[limits\] texts = 0 must be a whole number, 1 or more\."):
        Limits(texts=0)
