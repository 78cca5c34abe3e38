"""Sentences come and go while others are decoded, whatever decodes them; its memory is known before it is
used, and limits how many go together."""

import random
import threading
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import pytest
from enlarged import enlarged
from random_translator import most_memory, translator
from torch.profiler import ProfilerActivity, profile

from pellucid.config.schema import ModelConfig
from pellucid.decoding.captured import CapturedEngine
from pellucid.decoding.decoder import Decoder, open_session, plan
from pellucid.decoding.engine import Engine
from pellucid.decoding.ensemble import Ensemble
from pellucid.decoding.library import has_kernels
from pellucid.decoding.pytorch import TransformerDecoder
from pellucid.decoding.room import Room
from pellucid.decoding.threads import decode
from pellucid.errors import PellucidError
from pellucid.model import Transformer
from pellucid.search.hypotheses import Found
from pellucid.search.lane import Result, raise_if_failed
from pellucid.search.options import Options
from pellucid.search.request import Request, SpecialIds
from pellucid.search.session import Session

SPECIAL = SpecialIds(2, 3, (0, 1, 2))
MODEL, OTHER = (translator(seed=seed, end=1.0).model for seed in (1, 2))
DECODERS: dict[str, Callable[[], Decoder]] = {
    "PyTorch": lambda: TransformerDecoder(MODEL),
    "captured": lambda: CapturedEngine(MODEL),
    "ensemble": lambda: Ensemble([TransformerDecoder(MODEL), TransformerDecoder(OTHER)]),
}
if has_kernels():
    DECODERS["engine"] = lambda: Engine(MODEL, "fp32")
    DECODERS["ensemble of engines"] = lambda: Ensemble([Engine(each, "fp32") for each in (MODEL, OTHER)])
SHAPES = [  # a model's, and the tokens of a source, of a translation, and the beam, that make each term great
    (dict(vocabulary=2000, width=32, hidden=64), 20, 20, 4),
    (dict(vocabulary=50, width=64, hidden=128), 60, 10, 4),
    (dict(vocabulary=50, width=64, hidden=128), 10, 60, 4),
    (dict(vocabulary=5000, width=32, hidden=64), 5, 5, 5),
]
RULES = [
    Options(1),
    Options(4, length_penalty=0.6),
    Options(3, no_repeat_ngram_size=2),
    Options(2, repetition_penalty=1.3),
    Options(sample=True, n_best=2, top_k=5),
]


def some(count: int, chance: random.Random) -> list[Request]:
    """Requests of every kind, of many lengths."""
    requests = []
    for number in range(count):
        source = [*chance.choices(range(4, 48), k=chance.randrange(1, 30)), 3]
        prefix, limit = chance.choices(range(4, 48), k=chance.choice((0, 0, 2))), chance.randrange(4, 20)
        requests.append(Request(number, limit, prefix, source, options=chance.choice(RULES)))
    return requests


def check_same(found: list[Found], expected: list[Found]) -> None:
    assert [each.token_ids for each in found] == [each.token_ids for each in expected]
    assert [each.score for each in found] == pytest.approx([each.score for each in expected], abs=1e-4)


def to_the_end(session: Session) -> dict[int, Result]:
    results = dict[int, Result]()
    while not session.is_idle:
        results |= session.step().ended
    return results


@pytest.mark.parametrize("kind", DECODERS)
def test_sentences_come_and_go_and_their_places_are_given_back(kind: str) -> None:
    """Each result is that of the sentence alone. In the end as many as in the beginning begin at once."""
    chance, decoder = random.Random(5), DECODERS[kind]()
    requests, results, cancelled = some(20, chance), dict[int, Result](), set[int]()
    largest = replace(requests[0], source=[*[5] * 29, 3], max_length=19, options=RULES[1])
    room = replace(Room.of([largest] * 4, 4), candidates=10, forbidden=SPECIAL.forbidden)
    with Session(decoder.open(room), SPECIAL) as session:
        for request in requests:
            place = session.add(request)
            for _ in range(chance.randrange(4)):
                results |= session.step().ended
            if chance.random() < 0.2 and place not in results:
                cancelled.add(place)
                session.cancel(place)
        results |= to_the_end(session)
        again = [session.add(largest) for _ in range(5)]
        session.step()
        assert len(session) == 4
        for place in again:
            session.cancel(place)
        assert session.is_idle and not session.step().open
    assert results.keys() == set(range(20)) - cancelled and len(cancelled) > 1
    for place, result in results.items():
        with open_session(decoder, [requests[place]], SPECIAL) as session:
            found, expected = raise_if_failed(result), raise_if_failed(to_the_end(session)[0])
        check_same(found, expected)


@pytest.mark.parametrize("kind", DECODERS)
def test_sentences_that_do_not_fit_wait(kind: str) -> None:
    decoder = DECODERS[kind]()
    for memory in (2, 4):
        options = Options(memory=memory)
        requests = [Request(n, 60, source=[4] * 20, options=options) for n in range(120)]
        room, _ = plan(decoder, requests, SPECIAL)
        larger = replace(Room.of(requests, (8 * room.places + 7) // 7), candidates=room.candidates)
        assert decoder.room_bytes(room) <= memory << 20 < decoder.room_bytes(larger)
        with open_session(decoder, requests, SPECIAL) as session:
            session.step()
            assert len(session) == room.places < 120


@pytest.mark.parametrize("kind", DECODERS)
@pytest.mark.parametrize(
    "larger", [dict(source=[5] * 40), dict(max_length=60), dict(options=Options(2))], ids=str
)
def test_a_sentence_that_a_room_was_not_made_for_is_an_error(kind: str, larger: dict[str, Any]) -> None:
    """Even where its cells are free: the work space is as large as the longest sentence."""
    decoder = DECODERS[kind]()
    usual = [Request(n, 9, source=[*[5] * 9, 3], options=Options(1)) for n in range(8)]
    room, _ = plan(decoder, usual, SPECIAL)
    with Session(decoder.open(room), SPECIAL) as session:
        session.add(replace(usual[0], **larger))
        session.add(usual[1])
        with pytest.raises(PellucidError, match=r"^sentence 1, step 0: it needs more memory"):
            raise_if_failed(session.step().ended[0])
        raise_if_failed(to_the_end(session)[1])


@pytest.fixture
def training() -> Iterator[None]:
    MODEL.train()
    yield
    MODEL.eval()


@pytest.mark.parametrize("kind", DECODERS)
def test_a_session_that_is_closed_or_fails_gives_all_back(
    kind: str, training: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Closing it twice does no harm: later sessions share no memory. The model may train meanwhile."""
    decoder, requests = DECODERS[kind](), [Request(0, 9, source=[4, 5, 3]), Request(1, 9, source=[6, 3])]
    expected, running = decode(decoder, requests, SPECIAL), threading.active_count()
    session = open_session(decoder, requests, SPECIAL)
    with pytest.raises(KeyboardInterrupt), monkeypatch.context() as patch, session:
        session.step()
        patch.setattr(session._decoding, "step", interrupted)
        session.step()
    one = open_session(decoder, requests[:1], SPECIAL)
    session.close()
    two = open_session(decoder, requests[1:], SPECIAL)
    assert threading.active_count() == running and MODEL.training
    for each in (one, two):
        each.step()
    for each, right in zip((one, two), expected, strict=True):
        with each:
            check_same(raise_if_failed(to_the_end(each)[0]), right)
    assert MODEL.training


def interrupted(*_: Any) -> Any:
    raise KeyboardInterrupt


@pytest.mark.parametrize("joining", [False, True], ids=["together", "joining"])
@pytest.mark.parametrize(("shape", "length", "limit", "beam"), SHAPES)
def test_what_sentences_take_is_no_more_than_was_said(
    shape: dict[str, Any], length: int, limit: int, beam: int, joining: bool
) -> None:
    """Whether all begin at once, or others join, and take the places of those that have ended."""
    config = ModelConfig(heads=4, encoder_layers=2, decoder_layers=2, **shape)
    decoder, options = TransformerDecoder(enlarged(Transformer(config))), Options(beam, min_length=limit - 1)
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
