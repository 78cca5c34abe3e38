"""Translators with small random models: nonsense, but the same each time, and different for each sentence."""

import functools
import random
from collections.abc import Sequence
from typing import Any

import pytest
import torch
from enlarged import enlarged
from torch.profiler import profile

from pellucid.config.schema import Config, DataConfig, ModelConfig, VocabularyConfig
from pellucid.folder.load import Loaded
from pellucid.model import Transformer
from pellucid.text.vocabulary import Vocabulary
from pellucid.text.vocabulary_training import train_vocabulary
from pellucid.translate.likelihood import log_probabilities
from pellucid.translate.translation import Translation
from pellucid.translator import Translator

NOUNS = ["dog", "cat", "cow", "horse", "man", "woman", "child", "houses"]
WORDS = [*NOUNS, "the", "saw", "two", "three", "four", "bigger", *",.!?\"'()"]


@functools.cache
def vocabulary(kind: str, **data: Any) -> Vocabulary:
    numbers = random.Random(3)
    lines = [" ".join(numbers.choices(WORDS, k=8)) for _ in range(200)]
    size = {"word": 100, "unigram": 48, "bytes": 304}[kind]
    config = VocabularyConfig(kind=kind.replace("bytes", "unigram"), size=size, byte_fallback=kind == "bytes")
    to = [("fr", "es")[number % 2] for number in range(200)] if data.get("languages") else None
    return train_vocabulary(lines, lines, config, DataConfig(**data), to)


# Ways to translate that differ in what the search does.
OPTIONS: list[dict[str, Any]] = [
    dict(beam=1),
    dict(beam=4, n_best=3),
    dict(beam=5, min_length=4, max_length=9, length_penalty=0.6),
    dict(beam=3, prefix="the cat"),
    dict(sample=True, n_best=2, temperature=0.7, top_k=5, seed=3),
    dict(beam=4, no_repeat_ngram_size=2, early_stopping=False, length_penalty=2.0),
    dict(sample=True, n_best=2, repetition_penalty=1.5, no_repeat_ngram_size=3),
    dict(beam=1, repetition_penalty=1.3),
]


def translator(
    kind: str = "unigram", seed: int = 0, end: float = 0.0, layers: int = 2, **data: Any
) -> Translator:
    """A random model; `end` makes its translations shorter."""
    torch.manual_seed(seed)
    chosen = vocabulary(kind, **data)
    shape = dict(width=16, heads=2, hidden=32, encoder_layers=layers, decoder_layers=layers)
    config = ModelConfig(vocabulary=chosen.source_size, dropout=0.3, tied=False, output_bias=True, **shape)  # type: ignore[arg-type]
    model = enlarged(Transformer(config))
    with torch.no_grad():
        for parameter in model.parameters():
            if parameter.dim() > 1:
                parameter.mul_(1.5)  # so that it says different things of different sentences
        assert model.decoder.projection.bias is not None
        model.decoder.projection.bias[config.end_id] = end
    return Translator(model, chosen, Config(model=config, data=DataConfig(**data)))


def loaded(translator: Translator) -> Loaded:
    """The translator as if it came from a folder."""
    return Loaded(translator.model, translator.vocabulary, translator.config, {"files": {}})


def sentences(count: int, seed: int = 1, longest: int = 12) -> list[str]:
    numbers = random.Random(seed)
    return [" ".join(numbers.choices(WORDS, k=numbers.randint(1, longest))) for _ in range(count)]


def assert_same(ours: list[Translation], theirs: list[Translation]) -> None:
    """The same tokens, and scores within 1e-4."""
    assert [each.source for each in ours] == [each.source for each in theirs]
    for our, their in zip(ours, theirs, strict=True):
        assert [each.token_ids for each in our.hypotheses] == [each.token_ids for each in their.hypotheses]
        assert [each.finished for each in our.hypotheses] == [each.finished for each in their.hypotheses]
        scores = [each.score for each in their.hypotheses]
        assert [each.score for each in our.hypotheses] == pytest.approx(scores, abs=1e-4)


def check_found(
    ours: Translator, sources: Sequence[Sequence[int]], found: list[Translation], theirs: list[list[int]]
) -> int:
    """Each translation is theirs, or is at least as probable: count those that are the same."""
    likely = log_probabilities([ours.model], sources, theirs, batch_tokens=4096)
    for each, row, log_p in zip(found, theirs, likely, strict=True):
        best = each.hypotheses[0]
        assert best.token_ids == row or best.score >= sum(log_p) / len(row) - 1e-4
    return sum(each.hypotheses[0].token_ids == row for each, row in zip(found, theirs, strict=True))


def most_memory(profiled: profile) -> int:
    """The most bytes that a profiled computation held at once."""
    assert profiled.profiler is not None and profiled.profiler.kineto_results is not None
    events = [each for each in profiled.profiler.kineto_results.events() if each.name() == "[memory]"]
    now = most = 0
    for event in sorted(events, key=lambda event: event.start_ns()):
        now += event.nbytes()
        most = max(most, now)
    return most
