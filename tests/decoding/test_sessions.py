"""Sentences that come and go in a real decoding: the same results as alone, memory and places given back."""

import random
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, note, settings
from hypothesis import strategies as st
from random_models import configurations, random_model

from pellucid.config.schema import ModelConfig
from pellucid.decoding.captured import CapturedEngine
from pellucid.decoding.decoder import Decoder, plan
from pellucid.decoding.engine import Engine
from pellucid.decoding.pytorch import TransformerDecoder
from pellucid.decoding.room import Places, Room, Stretches
from pellucid.decoding.threads import decode, decode_each
from pellucid.errors import UsageError
from pellucid.search.lane import Result, raise_if_failed
from pellucid.search.options import Options
from pellucid.search.request import Request, SpecialIds
from pellucid.search.session import Session

SPECIAL = SpecialIds(2, 3, [0, 1, 2])
RULES = [
    Options(1),
    Options(1, no_repeat_ngram_size=2, min_length=3),
    Options(3, length_penalty=0.0),
    Options(4, early_stopping=False, length_penalty=1.5),
    Options(2, repetition_penalty=1.3, forced_end=True),
    Options(sample=True, n_best=2, temperature=0.7),
]


def random_requests(config: ModelConfig, chance: random.Random, count: int) -> list[Request]:
    requests = []
    for number in range(count):
        source = [chance.randrange(3, config.vocabulary) for _ in range(chance.choice([0, 3, 9, 40]))]
        prefix = [chance.randrange(4, config.target_size)] * chance.choice([0, 0, 2])
        options = replace(chance.choice(RULES), seed=number)
        requests.append(Request(number, chance.randrange(4, 14), prefix, [*source, 3], 0, options))
    return requests


def come_and_go(
    decoder: Decoder, requests: Sequence[Request], chance: random.Random, places: int
) -> dict[int, Result]:
    """Decode in a session with few places; cancel some at random. Return the results by number."""
    room, _ = plan(decoder, requests, SPECIAL)
    few = replace(Room.of(requests, places), candidates=room.candidates, forbidden=SPECIAL.forbidden)
    asked, results, cancelled = dict[int, int](), dict[int, Result](), set[int]()
    left = list(requests)
    with Session(decoder.open(few), SPECIAL) as session:
        while left or not session.is_idle:
            action = chance.random()
            if left and action < 0.4:
                request = left.pop()
                asked[session.add(request)] = request.number
            elif asked and action < 0.45:
                place = chance.choice([*asked])
                session.cancel(place)
                cancelled |= {asked[place]} - results.keys()
            else:
                results |= {asked[place]: result for place, result in session.step().ended.items()}
    assert results.keys() == {request.number for request in requests} - cancelled
    return results


@settings(max_examples=25, deadline=None)
@given(configurations(), st.integers(0, 1 << 30), st.sampled_from(["int8", "bf16", "fp32"]))
def test_in_the_engine_each_result_is_that_of_the_sentence_alone(
    config: ModelConfig, seed: int, precision: str
) -> None:
    """Bit for bit."""
    note(f"seed {seed}")
    chance, decoder = random.Random(seed), Engine(random_model(config, seed), precision)
    requests = random_requests(config, chance, 12)
    for number, result in come_and_go(decoder, requests, chance, chance.randrange(1, 7)).items():
        assert result == decode(decoder, [requests[number]], SPECIAL)[0]


@settings(max_examples=15, deadline=None)
@given(configurations(least=4), st.integers(0, 1 << 30), st.booleans())
def test_in_pytorch_too_but_for_rounding(config: ModelConfig, seed: int, captured: bool) -> None:
    note(f"seed {seed}")
    chance, model = random.Random(seed), random_model(config, seed, 1.0)
    decoder = CapturedEngine(model) if captured else TransformerDecoder(model)
    requests = [each for each in random_requests(config, chance, 12) if not each.options.sample]
    for number, result in come_and_go(decoder, requests, chance, chance.randrange(1, 7)).items():
        (request,) = (each for each in requests if each.number == number)
        alone = decode(decoder, [request], SPECIAL)[0]
        for ours, theirs in zip(raise_if_failed(result), alone, strict=True):
            assert ours.score == pytest.approx(theirs.score, abs=1e-3)
            if ours.token_ids == theirs.token_ids:
                assert ours.log_probabilities == pytest.approx(theirs.log_probabilities, abs=1e-3)


@given(st.lists(st.integers(1, 9), min_size=1, max_size=40), st.integers(0, 1 << 30))
def test_no_cell_is_lost_or_given_twice(sizes: list[int], seed: int) -> None:
    chance, stretches, taken = random.Random(seed), Stretches(40), dict[int, int]()
    for size in sizes:
        if (start := stretches.take(size)) is not None:
            taken[start] = size
        if taken and chance.random() < 0.5:
            start = chance.choice([*taken])
            stretches.give_back(start, taken.pop(start))
        units = [unit for start, size in taken.items() for unit in range(start, start + size)]
        assert len(set(units)) == len(units) and all(0 <= unit < 40 for unit in units)
    for start, size in taken.items():
        stretches.give_back(start, size)
    assert stretches.take(40) == 0


def test_places_are_those_that_fit() -> None:
    requests = [Request(n, 4, (), [5] * length, 0, Options(2)) for n, length in enumerate([9, 3, 3, 20])]
    places = Places(Room.of(requests[:3], 2))
    assert places.join(requests) == [0, 1] and places.join(requests[2:]) == []
    places.keep(np.array([1]))
    assert places.join([requests[3]]) == [] and places.join([requests[2]]) == [0]
    assert places.taken.tolist() == [1, 0] and places.widths.tolist() == [2, 2]


def test_what_is_longer_than_the_room_does_not_fit_whatever_cells_are_free() -> None:
    fitting, long, longer = (Request(0, n, (), [5] * s) for n, s in [(4, 3), (4, 4), (5, 3)])
    places = Places(replace(Room.of([fitting], 1), places=3, rows=9, cells=900))
    assert places.join([long]) == places.join([longer]) == []
    assert len(places.join([fitting, long])) == 1


@pytest.mark.parametrize("kind", [Engine, TransformerDecoder])
def test_a_session_that_is_closed_takes_no_sentence(kind: type[Engine | TransformerDecoder]) -> None:
    config = ModelConfig(vocabulary=50, width=16, heads=2, hidden=32, encoder_layers=1, decoder_layers=1)
    request = Request(0, 4, (), [5, 3])
    session = Session(kind(random_model(config, 4)).open(Room.of([request], 1)), SPECIAL)
    session.close()
    with pytest.raises(
        UsageError, match=r"^the session is closed and takes no more sentences\. Open another\.$"
    ):
        session.add(request)


def test_sentences_that_come_one_by_one_are_answered_in_order() -> None:
    chance = random.Random(4)
    config = ModelConfig(vocabulary=50, width=16, heads=2, hidden=32, encoder_layers=1, decoder_layers=1)
    decoder = Engine(random_model(config, 4), "int8")
    requests = [*random_requests(config, chance, 400), *[None] * 3]
    chance.shuffle(requests)
    typical = [each for each in requests if each]
    found = [*decode_each(decoder, iter(requests), lambda each: each, typical, SPECIAL)]
    expected = dict(zip(map(id, typical), decode(decoder, typical, SPECIAL), strict=True))
    assert found == [expected.get(id(each), []) for each in requests]


def test_an_error_of_the_reader_comes_after_what_was_read() -> None:
    config = ModelConfig(vocabulary=50, width=16, heads=2, hidden=32, encoder_layers=1, decoder_layers=1)
    decoder = Engine(random_model(config, 4), "int8")

    def read() -> object:
        yield from typical
        raise OSError("the pipe broke")

    typical = random_requests(config, random.Random(5), 5)
    found = decode_each(decoder, read(), lambda each: each, typical, SPECIAL)  # type: ignore[arg-type]
    assert len([next(found) for _ in typical]) == 5
    with pytest.raises(OSError, match="the pipe broke"):
        next(found)
