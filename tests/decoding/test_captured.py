"""Steps of fixed shapes, as a GPU repeats them: here without its graphs, beside plain decoding."""

from typing import Any

import pytest
import torch
from random_translator import OPTIONS, assert_same, sentences, translator

from pellucid.decoding.captured import CapturedEngine, State, rounded
from pellucid.decoding.library import CHOICE
from pellucid.decoding.room import Room
from pellucid.decoding.serving import Serving
from pellucid.errors import PellucidError
from pellucid.translator import Translator


def on_captured_steps(ours: Translator, monkeypatch: pytest.MonkeyPatch) -> CapturedEngine:
    """Let a translator decode as if it were on a GPU."""
    engine = CapturedEngine(ours.model)
    monkeypatch.setattr(Serving, "decoder", lambda self, requests: engine)
    return engine


@pytest.mark.parametrize("options", [*OPTIONS, dict(beam=2, batch_tokens=120), dict(beam=24)], ids=str)
def test_they_find_what_plain_decoding_finds(
    options: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also where a beam is so wide that all tokens of the vocabulary are its candidates."""
    ours, texts = translator(seed=1, end=1.0), sentences(70 if options.get("beam") != 24 else 3)
    monkeypatch.setenv(CHOICE, "none")
    expected = ours.translate(texts, **options)
    on_captured_steps(ours, monkeypatch)
    assert_same(expected, ours.translate(texts, **options))
    assert_same(expected, ours.translate(texts, **options))  # in sessions that were used before


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16], ids=str)
def test_in_short_types_the_likeliest_words_stay(dtype: torch.dtype, monkeypatch: pytest.MonkeyPatch) -> None:
    ours, texts = translator(seed=1, end=1.0), sentences(20)
    expected = ours.translate(texts, beam=1)
    short = Translator(ours.model, ours.vocabulary, ours.config)
    short.model.to(dtype)
    on_captured_steps(short, monkeypatch)
    same = [
        one.text == other.text for one, other in zip(expected, short.translate(texts, beam=1), strict=True)
    ]
    assert sum(same) >= 15


def test_a_model_that_is_broken_spoils_no_later_call(monkeypatch: pytest.MonkeyPatch) -> None:
    ours, text = translator(seed=1, end=1.0), sentences(1)[0]
    engine = on_captured_steps(ours, monkeypatch)
    expected, weight = ours.translate(text), ours.model.decoder.layers[0].self_attention.value.weight
    assert isinstance(weight, torch.Tensor)
    before = weight.detach().clone()
    with torch.no_grad():
        weight.fill_(torch.nan)
    with pytest.raises(PellucidError, match=r"sentence 1, step 1: .* not numbers"):
        ours.translate(text)
    with torch.no_grad():
        weight.copy_(before)
    (session,) = engine._kept.values()
    session._past._pairs.fill_(torch.nan)  # as a model leaves it that is broken at a later step
    assert_same([expected], [ours.translate(text)])


def test_few_shapes_serve_many_calls(monkeypatch: pytest.MonkeyPatch) -> None:
    made, make = [], State.__init__
    monkeypatch.setattr(State, "__init__", lambda *about: made.append(about) or make(*about))
    ours = translator(seed=1, end=1.0)
    on_captured_steps(ours, monkeypatch)
    for count in (1, 5, 6, 7, 8, 1):
        ours.translate_ids([[5] * 3 + [3]] * count, beam=2)
    assert len(made) == 2
    for _ in range(3):
        ours.translate_ids([[5] * 3 + [3]], beam=3)
    assert len(made) == 3  # the oldest made room for it
    room = Room(3, rows=6, width=3, cells=260, longest_source=17, longest=54, candidates=8)
    assert rounded(room) == Room(4, rows=12, width=3, cells=0, longest_source=32, longest=64, candidates=8)
