"""Decoding in PyTorch: its memory is known before it is used, and limits how many sentences go together."""

from typing import Any

import pytest
from enlarged import enlarged
from random_translator import assert_same, most_memory, sentences, translator
from torch.profiler import ProfilerActivity, profile

from pellucid.config.schema import ModelConfig
from pellucid.model import Transformer
from pellucid.translate.decoding import bytes_of, decode, share_out
from pellucid.translate.options import Options
from pellucid.translate.search import Request, Rules

SHAPES = [  # a model's, and the tokens of a source, of a translation, and the beam, that make each term great
    (dict(vocabulary=2000, width=32, hidden=64), 20, 20, 4),
    (dict(vocabulary=50, width=64, hidden=128), 60, 10, 4),
    (dict(vocabulary=50, width=64, hidden=128), 10, 60, 4),
    (dict(vocabulary=5000, width=32, hidden=64), 5, 5, 5),
]


@pytest.mark.parametrize(("shape", "length", "limit", "beam"), SHAPES)
def test_what_a_sentence_takes_is_no_more_than_was_said(
    shape: dict[str, Any], length: int, limit: int, beam: int
) -> None:
    config = ModelConfig(heads=4, encoder_layers=2, decoder_layers=2, **shape)
    model, count = enlarged(Transformer(config)), 6
    requests = [Request(n, limit, source=[5] * (length - 1) + [3]) for n in range(count)]
    rules = Rules(2, 3, (0, 1, 2), options=Options(beam, min_length=limit - 1))
    with profile(activities=[ProfilerActivity.CPU], profile_memory=True) as profiled:
        decode([model], requests, rules)
    assert 0.2 < most_memory(profiled) / (count * bytes_of(config, length, limit, beam)) <= 1


def test_sentences_that_do_not_fit_wait() -> None:
    ours, lines = translator(end=1.0), sentences(20)
    assert_same(ours.translate(lines, memory=1), ours.translate(lines))
    requests = [Request(n, 60, source=[4] * 20) for n in range(50)]
    for memory in (1, 2, 4):
        waiting, _ = share_out([ours.model], requests, Rules(2, 3, options=Options(memory=memory)))
        taken = len(waiting.take([]))
        each = bytes_of(ours.model.config, 20, 60, 5)
        assert taken * each <= memory << 20 < (taken + 1) * each


def test_a_batch_begins_when_the_one_before_has_ended() -> None:
    requests = [Request(n, 20, source=[4] * 8) for n in range(9)]
    rules = Rules(2, 3, options=Options(1, batch_tokens=40))
    waiting, threads = share_out([translator().model], requests, rules)
    assert threads == 1 and waiting.take([]) == [0, 1, 2, 3, 4] and waiting.take([2]) == []
    assert waiting.take([]) == [5, 6, 7, 8] and waiting.take([]) == []
