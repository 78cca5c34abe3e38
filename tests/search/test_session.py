"""Sentences come and go: whatever the order, each result is that of the sentence alone."""

import random
import time
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, note, settings
from hypothesis import strategies as st
from tables import SPECIAL, TableDecoding, random_table, ruled

from pellucid.search.lane import Result, raise_if_failed
from pellucid.search.request import Request
from pellucid.search.session import Session

RULES: list[dict[str, Any]] = [
    dict(width=1),
    dict(width=1, no_repeat_ngram_size=2),
    dict(width=2, length_penalty=0.0),
    dict(width=3, min_length=2),
    dict(width=3, early_stopping=False, repetition_penalty=1.3),
    dict(width=5, sample=True, n_best=2, seed=3),
    dict(width=5, sample=True, top_k=3, seed=4),
]


def random_request(number: int, chance: random.Random) -> Request:
    prefix = [chance.randrange(4, 9) for _ in range(chance.choice([0, 0, 1, 3]))]
    request = Request(number, chance.randrange(4, 9), prefix, [chance.randrange(4, 9), 3], len(prefix) > 2)
    return ruled([request], **chance.choice(RULES))[0]


def alone(table: Any, request: Request) -> Result:
    with Session(TableDecoding(table), SPECIAL) as session:
        place, results = session.add(request), dict[int, Result]()
        while not session.is_idle:
            results |= session.step().ended
    return results[place]


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 1 << 40))
def test_a_result_does_not_depend_on_who_comes_and_goes(seed: int) -> None:
    note(f"seed {seed}")
    chance = random.Random(seed)
    table = random_table(seed % 5, 9, end=1.0, whole=chance.random() < 0.3)
    decoding = TableDecoding(table, places=chance.randrange(1, 9))
    asked, cancelled, results = dict[int, Request](), set[int](), dict[int, Result]()
    with Session(decoding, SPECIAL) as session:
        for number in range(60):
            action = chance.random()
            if action < 0.5 and number < 50:
                request = random_request(number, chance)
                asked[session.add(request)] = request
            elif action < 0.6 and asked:
                place = chance.choice([*asked])
                session.cancel(place)
                if place not in results:
                    cancelled.add(place)
            else:
                results |= session.step().ended
                assert len(session) == len(decoding.requests) <= decoding.places
        while not session.is_idle:
            results |= session.step().ended
    assert not decoding.requests and not decoding.said and not decoding.is_open
    assert results.keys() == asked.keys() - cancelled
    assert results == {place: alone(table, asked[place]) for place in results}


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
    results = dict[int, Result]()
    while not session.is_idle:
        results |= session.step().ended
    assert len(raise_if_failed(results[place])[0].token_ids) == 9
    assert session.step().ended == {}


@pytest.mark.parametrize("width", [1, 3])
def test_an_error_is_the_result_of_its_sentence_alone(width: int) -> None:
    good = random_table(2, 9, end=1.0)
    requests = ruled([Request(n, 5) for n in range(3)], width)
    session = Session(TableDecoding(lambda n, said: good(n, said) * (float("nan") if n == 1 else 1)), SPECIAL)
    results = dict[int, Result]()
    places = [session.add(request) for request in requests]
    while not session.is_idle:
        results |= session.step().ended
    with pytest.raises(
        ValueError, match=r"^sentence 2, step 1: the next token's probabilities are not numbers"
    ):
        raise_if_failed(results[places[1]])
    assert [results[places[n]] for n in (0, 2)] == [alone(good, requests[n]) for n in (0, 2)]
