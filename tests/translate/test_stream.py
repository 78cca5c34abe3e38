"""Drawn translations, and those that are said piece by piece."""

import random
from typing import Any

import pytest
import torch
from random_translator import assert_same, sentences, translator

from pellucid.text.preparation import restore
from pellucid.translate.translation import stable_beginning


def test_a_sample_depends_on_its_seed_and_not_on_its_neighbours() -> None:
    ours, lines = translator(end=-1.0), sentences(12)
    options: dict[str, Any] = dict(sample=True, top_k=20, top_p=0.9, temperature=1.3, seed=7)
    together = ours.translate(lines, **options)
    assert_same([ours.translate(line, **options) for line in lines], together)
    other = ours.translate(lines, **options | {"seed": 8})
    assert sum(our.tokens != their.tokens for our, their in zip(together, other, strict=True)) > 6


def test_a_cold_sample_is_greedy() -> None:
    ours, lines = translator(end=2.0), sentences(6)
    assert_same(ours.translate(lines, sample=True, temperature=1e-6), ours.translate(lines, beam=1))
    assert_same(ours.translate(lines, sample=True, top_k=1), ours.translate(lines, beam=1))


@pytest.mark.parametrize("kind", ["unigram", "bytes", "word"])
@pytest.mark.parametrize("preparation", ["none", "words"])
def test_a_stream_says_the_greedy_translation_piece_by_piece(kind: str, preparation: str) -> None:
    pieces = 0
    for seed in range(6):
        ours = translator(kind, seed=seed, end=1.0, preparation=preparation)
        for line in sentences(3, seed=seed):
            said = list(ours.stream(line, beam=None, n_best=None))
            assert "".join(said) == ours.translate(line, beam=1).text
            assert all(said)
            pieces += len(said)
    assert pieces > 30
    drawn: dict[str, Any] = dict(sample=True, seed=3)
    assert "".join(ours.stream("the dog", **drawn)) == ours.translate("the dog", **drawn).text


@pytest.mark.parametrize("language", ["en", "fr"])
def test_what_is_settled_is_not_changed_by_what_follows(language: str) -> None:
    numbers = random.Random(4)
    emitted = 0
    for _ in range(3000):
        words = numbers.choices(
            ["a", "b", "l'", "d'", ",", ".", "?", "!", '"', "'", "(", ")", "«", "»", "¿", "5"], k=8
        )
        whole = restore(" ".join(words), "words", language)
        for length in range(1, 8):
            beginning = stable_beginning(restore(" ".join(words[:length]), "words", language), "words")
            assert whole.startswith(beginning), (words, length)
            emitted += len(beginning)
    assert emitted > 20_000
    assert stable_beginning("caf\ufffd", "none") == "caf"


def test_no_line_feed_is_ever_said() -> None:
    """A vocabulary with bytes can say one; the text has a space there."""
    ours = translator("bytes", end=-50.0)
    line_feed = ours.vocabulary.target.piece_to_id("<0x0A>")
    assert ours.model.decoder.projection.bias is not None
    with torch.no_grad():
        ours.model.decoder.projection.bias[line_feed] = 50.0
    translation = ours.translate("the dog", max_length=4)
    assert translation.hypotheses[0].token_ids == [line_feed] * 4
    assert "\n" not in translation.text and "\n" not in "".join(ours.stream("the dog", max_length=4))
