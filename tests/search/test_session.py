"""Sentences come and go: whatever the order, each result is that of the sentence alone."""

import math
import random
import time
from dataclasses import replace

import pytest
from hypothesis import given, note, settings
from hypothesis import strategies as st
from schedules import come_and_go, random_requests, to_the_end
from tables import SPECIAL, Table, TableDecoding, random_table, ruled

from pellucid.errors import SentenceError, UsageError
from pellucid.search.lane import Result, raise_if_failed
from pellucid.search.request import Request
from pellucid.search.session import Session


def alone(table: Table, request: Request) -> Result:
    with Session(TableDecoding(table), SPECIAL) as session:
        return to_the_end(session, [request])[0]


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 1 << 40))
def test_a_result_does_not_depend_on_who_comes_and_goes(seed: int) -> None:
    note(f"seed {seed}")
    chance = random.Random(seed)
    table = random_table(seed % 5, 9, end=1.0, whole=chance.random() < 0.3)
    decoding = TableDecoding(table, places=chance.randrange(1, 9))
    requests = random_requests(chance, 12, 9, 9)
    results = come_and_go(decoding, SPECIAL, requests, chance)
    assert not decoding.requests and not decoding.said and not decoding.is_open
    assert results == {number: alone(table, requests[number]) for number in results}


def test_a_free_place_is_taken_at_the_next_step() -> None:
    decoding = TableDecoding(random_table(1, 9, end=-99.0), places=4)
    session = Session(decoding, SPECIAL)
    for number in range(3):
        session.add(Request(number, 9))
        session.step()
        assert len(session) == number + 1
    session.cancel(1)
    session.add(Request(3, 9))
    session.add(Request(4, 9))
    session.add(Request(5, 9))
    assert len(session) == 2
    session.step()
    assert [each.number for each in decoding.requests] == [0, 2, 3, 4]


def test_at_its_deadline_a_sentence_ends_as_it_is() -> None:
    table, request = random_table(1, 9, end=-99.0), Request(0, 9)
    session = Session(TableDecoding(table), SPECIAL)
    late = session.add(replace(request, deadline=time.monotonic()))
    place = session.add(request)
    (cut,) = raise_if_failed(session.step().ended[late])[:1]
    assert (len(cut.token_ids), cut.finished) == (1, False) and len(session) == 1
    assert len(raise_if_failed(to_the_end(session)[place])[0].token_ids) == 9
    assert session.step().ended == {}


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
