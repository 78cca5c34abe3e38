"""Sentences come and go: whatever the order, each result is that of the sentence alone."""

import math
import random
import threading
from dataclasses import replace
from types import SimpleNamespace

import pytest
from hypothesis import given, note, settings
from hypothesis import strategies as st
from schedules import come_and_go, random_requests, to_the_end
from tables import SPECIAL, Table, TableDecoding, random_table, ruled

from pellucid.errors import SentenceError, UsageError
from pellucid.search import lane
from pellucid.search.lane import Result, raise_if_failed
from pellucid.search.options import Options
from pellucid.search.request import Request
from pellucid.search.session import Session, Waiting


def alone(table: Table, request: Request) -> Result:
    with Session(TableDecoding(table), SPECIAL) as session:
        return to_the_end(session, [request])[0]


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 1 << 40))
def test_a_result_does_not_depend_on_who_comes_and_goes(seed: int) -> None:
    note(f"seed {seed}")
    chance = random.Random(seed)
    table = random_table(seed % 5, 9, end=1.0, whole=chance.random() < 0.3)
    decoding = TableDecoding(table, rows=chance.randrange(4, 20))
    requests = random_requests(chance, 12, 9, 9)
    results = come_and_go(decoding, SPECIAL, requests, chance)
    assert not decoding.requests and not decoding.said and not decoding.is_open
    assert results == {number: alone(table, requests[number]) for number in results}


def test_a_free_place_is_taken_at_the_next_step_in_the_order_of_the_sentences() -> None:
    """But if several are wanted, two of sixteen are taken together, and what does not fit is the next."""
    decoding = TableDecoding(random_table(1, 9, end=-99.0), 16, fitting=2)
    session, one = Session(decoding, SPECIAL), lambda number: Request(number, 99, options=Options(1))
    for number in range(16):
        session.add(one(number))
        session.step()
        assert len(session) == number + 1
    for place in range(3):
        session.cancel(place)
        session.add(one(16 + 2 * place))
        session.add(one(17 + 2 * place))
    assert len(session) == 13
    session.step()
    assert len(session) == 15
    session.step()
    assert len(session) == 15
    session.cancel(3)
    session.step()
    assert [each.number for each in decoding.requests] == [*range(4, 20)]


def test_another_session_may_take_a_sentence_first(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Waiting, "__len__", lambda self: 1)  # as it was a moment before
    assert Session(TableDecoding(random_table(1, 9)), SPECIAL).step() == ({}, ())


def test_clients_take_turns() -> None:
    """What was given back comes first; what was cancelled takes no turn; of two hypotheses there is one
    sentence at a time, but one at least."""
    waiting, kept = Waiting(), dict[int, str]()

    def add(clients: str, width: int = 1) -> None:
        for client in clients:
            kept[waiting.add(ruled([Request(0, 9)], width)[0], client)] = client

    def take(rows: int) -> str:
        return "".join(kept[ticket] for ticket in waiting.take(rows))

    add("aaaabbc")
    assert waiting.cancel(1) and not waiting.cancel(1)
    taken = waiting.take(3)
    assert [kept[ticket] for ticket in taken] == ["a", "b", "c"]
    waiting.give_back({ticket: taken[ticket] for ticket in [*taken][1:]})
    assert (take(3), take(1), take(0)) == ("bcb", "a", "")
    add("ca", 2)
    assert (len(waiting), take(2), take(1), take(9), take(9)) == (3, "c", "a", "a", "")
    for _ in range(100):
        add("xyz")
        add("x" * 9)
        for ticket in [*kept][-9:]:
            waiting.cancel(ticket)
        assert sorted(take(3)) == ["x", "y", "z"] and not len(waiting)
    assert len(waiting._order) + len(waiting._turns) < 30


def test_all_that_wait_for_sentences_go_on_when_the_list_is_closed() -> None:
    waiting = Waiting()
    threads = [threading.Thread(target=waiting.wait, daemon=True) for _ in range(2)]
    for thread in threads:
        thread.start()
    while len(waiting._changed._waiters) < 2:  # type: ignore[attr-defined]
        pass
    waiting.close()
    for thread in threads:
        thread.join(20)
    assert not any(thread.is_alive() for thread in threads)


def test_at_its_deadline_a_sentence_ends_as_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    """Though others have come since, which have none."""
    table, request, now = random_table(1, 9, end=-99.0), Request(0, 9), [0.0]
    monkeypatch.setattr(lane, "time", SimpleNamespace(monotonic=lambda: now[0]))
    session = Session(TableDecoding(table), SPECIAL)
    late = session.add(replace(request, deadline=1.0))
    session.step()
    place = session.add(request)
    assert not session.step().ended
    now[0] = 1.0
    cut, *_ = raise_if_failed(session.step().ended[late])
    assert (len(cut.token_ids), cut.finished) == (3, False) and len(session) == 1
    assert len(raise_if_failed(to_the_end(session)[place])[0].token_ids) == 9
    assert session.step().ended == {}


def test_equal_options_may_be_several_objects() -> None:
    table, width = random_table(3, 9, end=1.0), 2
    one, other = (ruled([Request(0, 8)], width)[0].options for _ in range(2))
    assert one == other and one is not other
    requests = [Request(n, 8, options=options) for n, options in enumerate([one, other, one, other, one])]
    results = to_the_end(Session(TableDecoding(table), SPECIAL), requests)
    assert results == {number: alone(table, request) for number, request in enumerate(requests)}


@pytest.mark.parametrize("bad", [math.nan, math.inf, -math.inf])
@pytest.mark.parametrize("width", [1, 3])
def test_an_error_is_the_result_of_its_sentence_alone(width: int, bad: float) -> None:
    good, requests = random_table(2, 9, end=-9.0), ruled([Request(n, 5) for n in range(3)], width)
    table: Table = lambda n, said: good(n, said) * 0 + bad if (n, len(said)) == (1, 2) else good(n, said)  # noqa: E731
    results = to_the_end(Session(TableDecoding(table), SPECIAL), requests)
    with pytest.raises(SentenceError, match=r"^sentence 2, step 3: the next token's probabilities are not"):
        raise_if_failed(results.pop(1))
    assert results == {number: alone(good, requests[number]) for number in (0, 2)}


def test_a_session_that_is_closed_takes_no_sentence() -> None:
    session = Session(TableDecoding(random_table(1, 9)), SPECIAL)
    session.close()
    with pytest.raises(
        UsageError, match=r"^the session is closed and takes no more sentences\. Open another\.$"
    ):
        session.add(Request(0, 9))
