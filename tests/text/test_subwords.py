"""Subword sampling: right at its limits, in its probabilities, and the same in every process."""

import collections
import functools
import itertools
import math
import random

import pytest

from pellucid.config.schema import DataConfig, VocabularyConfig
from pellucid.text.subwords import sample
from pellucid.text.vocabulary import Vocabulary
from pellucid.text.vocabulary_training import train_vocabulary

TEXT = ["ab ba cab dab", "bad ad cad dac", "abba dada baba cada", "ab ab abad", "dab ba dac"] * 4


@functools.cache
def learn(byte_fallback: bool = False) -> Vocabulary:
    """A small vocabulary with pieces of several letters."""
    config = VocabularyConfig(size=18 + 256 * byte_fallback, byte_fallback=byte_fallback)
    return train_vocabulary(TEXT, TEXT, config, DataConfig())


@pytest.mark.parametrize("byte_fallback", [False, True])
def test_without_chance_it_is_the_usual_segmentation(byte_fallback: bool) -> None:
    model = learn(byte_fallback).source
    for text in (*TEXT[:5], "", "  ab   xyz½ ba", "zz", "नमस्ते dab"):
        assert sample(model, model.encode(text), 60.0, random.Random(0)) == model.encode(text), text


def test_every_segmentation_is_the_same_text() -> None:
    model = learn().source
    ids = model.encode("dab cada baba")
    drawn = {tuple(sample(model, ids, 0.3, random.Random(seed))) for seed in range(50)}
    assert len(drawn) > 10
    assert {model.decode(list(ids)) for ids in drawn} == {"dab cada baba"}


def test_a_vocabulary_samples_both_sides_by_a_seed() -> None:
    made, text = learn(), "dab cada baba abba"
    ids = made.encode_source(text)
    drawn = [made.sample(ids, ids, 0.1, random.Random(seed)) for seed in (1, 2, 3, 1, 2, 3)]
    assert drawn[:3] == drawn[3:] and len({tuple(side) for sides in drawn for side in sides}) > 3
    assert {made.decode_target(side) for sides in drawn for side in sides} == {text}


def test_a_sampled_text_that_came_from_ids_is_as_one_from_words() -> None:
    """The words of a text whose characters are known are those between its spaces."""
    config = DataConfig(languages=(("en", "de"), ("en", "fr")))
    made = train_vocabulary(TEXT, TEXT, VocabularyConfig(size=20), config, ["de"] * len(TEXT))
    ids, chance = made.encode_source("ab zz baba dab", "fr"), random.Random(2)
    unknown = made.encode_source("zz", "fr")[1:-1]
    drawn = [sample(made.source, ids, 0.01, chance) for _ in range(200)]
    assert {(row[0], row[-1]) for row in drawn} == {(ids[0], ids[-1])}  # the tag and the end token
    assert all(str(unknown)[1:-1] in str(row) for row in drawn) and len(set(map(str, drawn))) > 20


def test_segmentations_have_their_probabilities() -> None:
    model, power, word = learn().source, 0.5, "▁abba"
    scores = {model.id_to_piece(token): model.get_score(token) for token in range(4, model.get_piece_size())}
    ways = {}
    for cuts in itertools.product((False, True), repeat=len(word) - 1):
        ends = [0, *(place for place, cut in enumerate(cuts, 1) if cut), len(word)]
        pieces = [word[start:end] for start, end in itertools.pairwise(ends)]
        if all(piece in scores for piece in pieces):
            weight = math.exp(power * sum(scores[piece] for piece in pieces))
            ways[tuple(model.piece_to_id(piece) for piece in pieces)] = weight
    chance, draws = random.Random(3), 20_000
    counts = collections.Counter(
        tuple(sample(model, model.encode("abba"), power, chance)) for _ in range(draws)
    )
    assert len(ways) > 3 and counts.keys() <= ways.keys()
    for way, weight in ways.items():
        expected = weight / sum(ways.values())
        assert abs(counts[way] / draws - expected) < 5 * math.sqrt(expected / draws)
