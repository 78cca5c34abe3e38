"""The batcher: whoever comes, leaves or is late, each result is that of the sentence alone."""

import math
import random
import threading
import time
from collections.abc import Iterator
from concurrent.futures import CancelledError, Future
from dataclasses import replace
from typing import Any

import pytest
from cases import few

import pellucid
from pellucid.decoding import engine, team
from pellucid.decoding.engine import EngineDecoding
from pellucid.decoding.room import Places
from pellucid.decoding.team import Team
from pellucid.decoding.threads import decode
from pellucid.errors import PellucidError, SentenceError
from pellucid.search.hypotheses import Found
from pellucid.search.request import Request
from pellucid.serve.batcher import Batcher
from pellucid.serve.line import Accepted, Line
from pellucid.translate.call import Call
from pellucid.translator import Translator

LINES = [
    "How are you",
    "I like cats",
    "The boat is near the bank",
    "She brings water",
    "Good morning",
    "I am here",
]
RULES: list[dict[str, Any]] = [
    dict(beam=1),
    dict(),
    dict(beam=3, n_best=2, length_penalty=0.5),
    dict(beam=9, max_length=12),  # wider than usual
    dict(beam=2, max_length=70),  # longer than the room takes: by itself
    dict(sample=True, n_best=2, temperature=0.7, seed=5),
    dict(sample=True, top_k=4, seed=6),
    dict(prefix="Je", beam=2),
    dict(min_length=4, max_length=9, no_repeat_ngram_size=2),
    dict(beam=2, repetition_penalty=1.3),
]


@pytest.fixture(scope="module", params=["small", "large"])
def demo(request: pytest.FixtureRequest) -> Iterator[Translator]:
    """The demo model; "large": in sessions that share threads, as those of large models do."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(engine, "SHARED_FROM", 0 if request.param == "large" else engine.SHARED_FROM)
        patch.setattr(team, "PATIENCE", math.inf)
        patch.setattr(Team, "_alone_until", 0.0)
        yield pellucid.load("demo", "cpu", "int8")


@pytest.fixture
def batcher(demo: Translator) -> Iterator[Batcher]:
    batcher = made(demo)
    yield batcher
    batcher.close()
    assert not batcher.is_alive and (batcher.open, batcher.waiting) == (0, 0)


def made(demo: Translator) -> Batcher:
    typical = demo.typical("fr", {"batch_tokens": 6000})
    return Batcher(demo.decoder(typical), typical.requests, typical.special)


def call(demo: Translator, text: str, **options: Any) -> Call:
    return demo.prepare([text], "fr", options)  # type: ignore[arg-type]


def results(futures: list[Future[list[Found]]], seconds: float = 20) -> list[list[Found]]:
    return [future.result(seconds) for future in futures]


def request(demo: Translator, text: str = LINES[0], **options: Any) -> Request:
    (one,) = call(demo, text, **options).requests
    return one


def alone(demo: Translator, request: Request) -> list[Found]:
    typical = demo.typical("fr", {})
    (found,) = decode(demo.decoder(typical), [request], typical.special)
    return found


def broken(demo: Translator, monkeypatch: pytest.MonkeyPatch) -> Request:
    """A sentence with which the engine breaks, and all that begin together with it."""
    bad, join = request(demo, "I am a cat"), EngineDecoding.join

    def failing(self: EngineDecoding, requests: Any) -> int:
        if any(each.source == bad.source for each in requests):
            raise RuntimeError("broken")
        return join(self, requests)

    monkeypatch.setattr(EngineDecoding, "join", failing)
    return bad


@pytest.mark.parametrize("seed", few(1, range(3)))
def test_a_result_does_not_depend_on_who_comes_and_leaves(
    seed: int, demo: Translator, batcher: Batcher, monkeypatch: pytest.MonkeyPatch
) -> None:
    bad = broken(demo, monkeypatch)
    asked = list[tuple[list[Request], list[Future[list[Found]]]]]()
    each_kind = [request(demo, text, **rules) for text in LINES for rules in RULES]
    kinds = [replace(each, number=number) for number, each in enumerate(each_kind)]

    def client(name: str, chance: random.Random) -> None:
        for _ in range(40):
            some = chance.choices(kinds, k=chance.choice([1, 1, 2, 9]))
            if chance.random() < 0.06:
                some[-1] = bad
            futures = batcher.submit(some, name)
            asked.append((some, futures))
            time.sleep(chance.random() / 100)
            for future in futures if chance.random() < 0.2 else ():
                future.cancel()

    clients = [threading.Thread(target=client, args=(f"{n}", random.Random(seed * 10 + n))) for n in range(4)]
    for each in clients:
        each.start()
    for each in clients:
        each.join()
    right, cancelled, wrong, expected = 0, 0, 0, [alone(demo, each) for each in kinds]
    for some, futures in asked:
        try:
            assert results(futures, 60) == [expected[one.number] for one in some]
            right += 1
        except CancelledError:
            cancelled += 1
        except RuntimeError:
            assert bad in some
            wrong += 1
    assert right > 100 and cancelled > 3 and wrong
    while batcher.open or batcher.waiting:
        time.sleep(0.001)


def test_sessions_open_as_there_is_enough_for_them(demo: Translator) -> None:
    line, narrow = Line(sessions=3, apart=lambda: 4), request(demo, beam=1)
    shares = list[list[int]]()
    for _ in range(13):
        line.put(Accepted(narrow, "x"))
        shares.append([line.share(number) for number in range(4)])
    assert shares[6:8] == [[7, 0, 0, 0], [4, 4, 0, 0]] and shares[12] == [5, 5, 5, 0]
    assert [line.has_work(number) for number in range(4)] == [True, True, True, False]
    for ticket in line.take(9):
        line.leave(ticket)
    assert [line.share(number) for number in range(2)] == [4, 0] and not line.has_work(1)


def test_a_long_list_does_not_hold_up_a_single_sentence(demo: Translator, batcher: Batcher) -> None:
    many = batcher.submit([request(demo)] * 1000, "many")
    (found,) = results(batcher.submit([request(demo, LINES[1])], "single"))
    assert batcher.waiting and found == alone(demo, request(demo, LINES[1]))  # the list is not done yet
    assert results(many, 30) == [alone(demo, request(demo))] * 1000


def test_long_sentences_leave_no_row_empty(batcher: Batcher) -> None:
    room, usual = batcher.room, batcher._typical
    long = replace(usual, source=[3] * room.longest_source, max_length=room.longest)
    waiting = [usual if number % 2 else long for number in range(room.rows)]
    assert len(Places(room).join(waiting)) == room.rows // usual.options.width


def test_a_cancelled_sentence_leaves_within_a_step(demo: Translator, batcher: Batcher) -> None:
    steps = list[int]()
    arrived = threading.Event()

    def grew(ids: list[int]) -> None:
        steps.append(batcher.steps)
        arrived.set()

    (future,) = batcher.submit([request(demo, beam=1, min_length=50)], "x", grew)
    assert arrived.wait(20)
    future.cancel()
    last = steps[-1]
    while batcher.open:
        time.sleep(0.001)
    assert batcher.steps <= last + 3


def test_what_grows_ends_as_the_result(demo: Translator, batcher: Batcher) -> None:
    grown = list[list[int]]()
    batcher.submit([request(demo, LINES[2])], "other")
    time.sleep(0.002)
    ((found,),) = results(batcher.submit([request(demo, beam=1)], "x", grown.append))
    ids = found.token_ids
    assert grown == [ids[:count] for count in range(1, len(ids))]


def test_a_step_that_fails_harms_only_the_sentence_whose_fault_it_is(
    demo: Translator, batcher: Batcher, monkeypatch: pytest.MonkeyPatch
) -> None:
    bad, good = broken(demo, monkeypatch), request(demo, LINES[4])
    first, wrong, last = (batcher.submit(each, "x") for each in ([good] * 3, [good, bad], [good]))
    with pytest.raises(RuntimeError, match=r"^broken$"):
        results(wrong)
    assert results(first) == results(last) * 3 == [alone(demo, good)] * 3


def test_what_needs_too_much_memory_is_refused(demo: Translator) -> None:
    typical = demo.typical("fr", {"batch_tokens": 300, "memory": 20})
    batcher = Batcher(demo.decoder(typical), typical.requests, typical.special, memory=20)
    huge = batcher.submit([request(demo, beam=500, max_length=500)], "x")
    small = batcher.submit([request(demo)], "x")
    with pytest.raises(
        SentenceError, match=r"^sentence 1, step 0: it needs more memory than translating may"
    ):
        results(huge)
    assert results(small) == [alone(demo, request(demo))]
    batcher.close()


def test_closing_finishes_what_was_accepted(demo: Translator) -> None:
    batcher = made(demo)
    futures = (
        batcher.submit([request(demo)] * 700, "x"),
        batcher.submit([request(demo, max_length=70)] * 3, "y"),
    )
    batcher.close()
    assert [len(results(each, 0)) for each in futures] == [700, 3]
    with pytest.raises(PellucidError, match=r"^the server is stopping\.$"):
        batcher.submit([request(demo)], "x")


def test_the_speed_is_measured_when_there_is_enough_to_do(demo: Translator, batcher: Batcher) -> None:
    assert batcher.speed == float("inf")
    results(batcher.submit([request(demo)], "x"))
    assert batcher.speed == float("inf")
    results(batcher.measure())
    assert 100 < batcher.speed < 1e7
    assert batcher.cost(10, 4) > 1.5 * batcher.cost(10, 1) > 15
    assert batcher.cost(10, 4, least=1000) == 4010
