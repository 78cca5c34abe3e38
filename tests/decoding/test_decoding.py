"""Sentences come and go while others are decoded, whatever decodes them; its memory is known before it is
used, and limits how many go together."""

import copy
import random
import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch
from enlarged import enlarged
from hypothesis import given, settings
from hypothesis import strategies as st
from random_models import configurations, random_model
from random_translator import most_memory, translator
from schedules import come_and_go, random_requests, to_the_end
from torch.profiler import ProfilerActivity, profile

from pellucid.config.schema import ModelConfig
from pellucid.decoding.captured import CapturedEngine
from pellucid.decoding.decoder import Decoder, open_session, plan
from pellucid.decoding.engine import Engine
from pellucid.decoding.ensemble import Ensemble
from pellucid.decoding.library import has_kernels
from pellucid.decoding.pytorch import TransformerDecoder
from pellucid.decoding.room import Places, Room, Stretches
from pellucid.decoding.threads import decode, decode_each
from pellucid.errors import PellucidError
from pellucid.model import Transformer
from pellucid.search.hypotheses import Found
from pellucid.search.lane import Result, raise_if_failed
from pellucid.search.options import Options
from pellucid.search.request import Request, SpecialIds
from pellucid.search.session import Session

SPECIAL = SpecialIds(2, 3, (0, 1, 2, 7))
MODELS = [translator(seed=seed, end=1.0).model for seed in (1, 2)]
DECODERS: dict[str, Callable[[Sequence[Transformer]], Decoder]] = {  # each of models, or of the first one
    "PyTorch": lambda models: TransformerDecoder(models[0]),
    "captured": lambda models: CapturedEngine(models[0]),
    "ensemble": lambda models: Ensemble([TransformerDecoder(each) for each in models]),
}
if has_kernels():
    DECODERS["engine"] = lambda models: Engine(models[0], "fp32")
    DECODERS["ensemble of engines"] = lambda models: Ensemble([Engine(each, "fp32") for each in models])
PLAIN = {
    "captured": "PyTorch",
    "engine": "PyTorch",
    "ensemble of engines": "ensemble",
}  # what finds the same in other ways
SHAPES = [  # a model's, and the tokens of a source, of a translation, and the beam, that make each term great
    (TransformerDecoder, dict(vocabulary=2000, width=32, hidden=64), 20, 20, 4),
    (TransformerDecoder, dict(vocabulary=50, width=64, hidden=128), 60, 10, 4),
    (TransformerDecoder, dict(vocabulary=50, width=64, hidden=128), 10, 60, 4),
    (TransformerDecoder, dict(vocabulary=5000, width=32, hidden=64), 5, 5, 5),
    (CapturedEngine, dict(vocabulary=2000, width=16, hidden=32), 20, 30, 4),
    (CapturedEngine, dict(vocabulary=50, width=64, hidden=128), 20, 30, 4),
    (CapturedEngine, dict(vocabulary=50, width=64, hidden=64, decoder_layers=4), 3, 120, 4),  # the past
]


def check_same(found: list[Found], expected: list[Found]) -> None:
    """But for rounding, which may decide between two continuations."""
    for ours, theirs in zip(found, expected, strict=True):
        assert ours.score == pytest.approx(theirs.score, abs=1e-3)
        if ours.token_ids == theirs.token_ids:
            assert ours.log_probabilities == pytest.approx(theirs.log_probabilities, abs=1e-3)


def come_to(
    decoder: Decoder, requests: Sequence[Request], chance: random.Random
) -> Iterator[tuple[Request, Result]]:
    """Each of these requests that is not cancelled, with its result, in a room for a few at a time."""
    candidates = plan(decoder, requests, SPECIAL)[0].candidates
    room = replace(
        Room.of(requests, chance.randrange(1, 7)), candidates=candidates, forbidden=SPECIAL.forbidden
    )
    for number, result in come_and_go(decoder.open(room), SPECIAL, requests, chance).items():
        yield requests[number], result


@pytest.mark.skipif(not has_kernels(), reason="the kernels are not built here")
@settings(max_examples=25, deadline=None)
@given(configurations(), st.integers(0, 1 << 30), st.sampled_from(["int8", "bf16", "fp32"]))
def test_in_the_engine_each_result_is_that_of_the_sentence_alone(
    config: ModelConfig, seed: int, precision: str
) -> None:
    """Bit for bit."""
    chance, decoder = random.Random(seed), Engine(random_model(config, seed), precision)
    requests = random_requests(chance, 12, config.vocabulary, config.target_size)
    for request, result in come_to(decoder, requests, chance):
        assert result == decode(decoder, [request], SPECIAL)[0]


@pytest.mark.parametrize("kind", DECODERS)
@settings(max_examples=6, deadline=None)
@given(configurations(least=4), st.integers(0, 1 << 30))
def test_elsewhere_it_is_so_too_and_that_of_another_decoder(
    kind: str, config: ModelConfig, seed: int
) -> None:
    chance, models = random.Random(seed), [random_model(config, seed + n, 1.0) for n in range(2)]
    decoder, plain = (DECODERS[each](models) for each in (kind, PLAIN.get(kind, kind)))
    requests = random_requests(chance, 12, config.vocabulary, config.target_size)
    requests = [replace(each, options=replace(each.options, sample=False)) for each in requests]
    for request, result in come_to(decoder, requests, chance):
        check_same(raise_if_failed(result), decode(plain, [request], SPECIAL)[0])
        assert not {*SPECIAL.forbidden} & {*raise_if_failed(result)[0].token_ids[len(request.prefix) :]}


@pytest.mark.parametrize("kind", DECODERS)
def test_sentences_that_do_not_fit_wait(kind: str) -> None:
    decoder = DECODERS[kind](MODELS)
    for memory in (2, 4):
        options = [Options(memory=memory + more) for more in (7, 0)]  # the least counts
        requests = [Request(n, 60, source=[4] * 20, options=options[n % 2]) for n in range(120)]
        room, _ = plan(decoder, requests, SPECIAL)
        larger = replace(Room.of(requests, (8 * room.places + 7) // 7), candidates=room.candidates)
        assert decoder.room_bytes(room) <= memory << 20 < decoder.room_bytes(larger)
        with open_session(decoder, requests, SPECIAL) as session:
            session.step()
            assert len(session) == room.places < 120
        drawn = [replace(each, options=Options(sample=True, n_best=5, memory=memory)) for each in requests]
        assert plan(decoder, drawn, SPECIAL)[0].places == 1  # to draw takes memory too


@pytest.mark.parametrize("kind", DECODERS)
@pytest.mark.parametrize(
    "larger", [dict(source=[5] * 40), dict(max_length=60), dict(options=Options(2))], ids=str
)
def test_a_sentence_that_a_room_was_not_made_for_is_an_error(kind: str, larger: dict[str, Any]) -> None:
    """Even where its cells are free: the work space is as large as the longest sentence."""
    decoder = DECODERS[kind](MODELS)
    usual = [Request(n, 9, source=[*[5] * 9, 3], options=Options(1)) for n in range(8)]
    room, _ = plan(decoder, usual, SPECIAL)
    with Session(decoder.open(room), SPECIAL) as session:
        session.add(replace(usual[6], **larger))
        session.add(usual[1])
        with pytest.raises(PellucidError, match=r"^sentence 7, step 0: it needs more memory"):
            raise_if_failed(session.step().ended[0])
        raise_if_failed(to_the_end(session)[1])


@pytest.mark.parametrize("kind", DECODERS)
def test_a_sentence_whose_source_is_not_finite_fails_alone(kind: str) -> None:
    models = copy.deepcopy(MODELS)
    for each in models:
        each.encoder.embedding.weight.data[9] = torch.nan  # type: ignore[union-attr]
    requests = [Request(n, 9, source=[token, 5, 3]) for n, token in enumerate([9, 4, 6])]
    decoder = DECODERS[kind](models)
    with open_session(decoder, requests, SPECIAL) as session:
        results = to_the_end(session)
    with pytest.raises(PellucidError, match=r"^sentence 1, step 1: the next token's probabilities are not"):
        raise_if_failed(results.pop(0))
    for number, result in results.items():
        check_same(raise_if_failed(result), decode(decoder, [requests[number]], SPECIAL)[0])


@pytest.fixture
def training() -> Iterator[None]:
    MODELS[0].train()
    yield
    MODELS[0].eval()


@pytest.mark.parametrize("kind", DECODERS)
def test_a_session_that_is_closed_or_fails_gives_all_back(
    kind: str, training: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Closing it twice does no harm: later sessions share no memory. The model may train meanwhile."""
    decoder, requests = (
        DECODERS[kind](MODELS),
        [Request(0, 9, source=[4, 5, 3]), Request(1, 9, source=[6, 3])],
    )
    expected, running = decode(decoder, requests, SPECIAL), threading.active_count()
    session = open_session(decoder, requests[:1], SPECIAL)
    with pytest.raises(KeyboardInterrupt), monkeypatch.context() as patch, session:
        session.step()
        patch.setattr(session._decoding, "step", interrupted)
        session.step()
    one = open_session(decoder, requests[:1], SPECIAL)
    session.close()
    two = open_session(decoder, requests[1:], SPECIAL)
    assert threading.active_count() == running and MODELS[0].training
    for each in (one, two):
        each.step()
    for each, right in zip((one, two), expected, strict=True):
        with each:
            check_same(raise_if_failed(to_the_end(each)[0]), right)
    assert MODELS[0].training


def interrupted(*_: Any) -> Any:
    raise KeyboardInterrupt


@pytest.mark.parametrize("joining", [False, True], ids=["together", "joining"])
@pytest.mark.parametrize(("kind", "shape", "length", "limit", "beam"), SHAPES)
def test_what_sentences_take_is_no_more_than_was_said(
    kind: Callable[[Transformer], Decoder],
    shape: dict[str, Any],
    length: int,
    limit: int,
    beam: int,
    joining: bool,
) -> None:
    """Whether all begin at once, or others join, and take the places of those that have ended."""
    config = ModelConfig(**dict(heads=4, encoder_layers=2, decoder_layers=2) | shape)
    decoder, options = kind(enlarged(Transformer(config))), Options(beam, min_length=limit - 1)
    requests = [Request(n, limit, source=[5] * (length - 1) + [3], options=options) for n in range(6)]
    room, _ = plan(decoder, requests, SPECIAL)
    with (
        profile(activities=[ProfilerActivity.CPU], profile_memory=True) as profiled,
        Session(decoder.open(room), SPECIAL) as session,
    ):
        results = dict[int, Result]()
        for request in requests * 2:
            session.add(request)
            results |= session.step().ended if joining else {}
        assert len(results | to_the_end(session)) == 12 and room.places == 6
    assert 0.2 < most_memory(profiled) / decoder.room_bytes(room) <= 1


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


@pytest.mark.skipif(not has_kernels(), reason="the kernels are not built here")
def test_sentences_that_come_one_by_one_are_answered_in_order_and_then_an_error_of_their_reader() -> None:
    chance, decoder, size = random.Random(4), Engine(MODELS[0], "int8"), MODELS[0].config.target_size
    requests = [*random_requests(chance, 400, size, size), *[None] * 3]
    chance.shuffle(requests)

    def read() -> Iterator[Request | None]:
        yield from requests
        raise OSError("the pipe broke")

    typical = [each for each in requests if each]
    found = decode_each(decoder, read(), lambda each: each, typical, SPECIAL)
    expected = dict(zip(map(id, typical), decode(decoder, typical, SPECIAL), strict=True))
    assert [next(found) for _ in requests] == [expected.get(id(each), []) for each in requests]
    with pytest.raises(OSError, match="the pipe broke"):
        next(found)
