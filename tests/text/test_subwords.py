"""Subword sampling: right at its limits, in its probabilities, and the same in every process."""

import collections
import itertools
import math
import os
import random
import subprocess
import sys
from pathlib import Path

import pytest
from sentencepiece import SentencePieceProcessor

from pellucid.config.schema import DataConfig, VocabularyConfig
from pellucid.text.subwords import Sampler
from pellucid.text.vocabulary import Vocabulary
from pellucid.text.vocabulary_training import train_vocabulary

TEXT = ["ab ba cab dab", "bad ad cad dac", "abba dada baba cada", "ab ab abad", "dab ba dac"] * 4


def learn(kind: str, byte_fallback: bool = False) -> Vocabulary:
    """A small vocabulary with pieces of several letters."""
    config = VocabularyConfig(size=18 + 256 * byte_fallback, kind=kind, byte_fallback=byte_fallback)
    return train_vocabulary(TEXT, TEXT, config, DataConfig())


def sampled(model: SentencePieceProcessor, kind: str, text: str, sampling: float, seed: int = 0) -> list[int]:
    """One segmentation."""
    return Sampler(model, kind).encode(text, sampling, random.Random(seed))


@pytest.mark.parametrize("byte_fallback", [False, True])
@pytest.mark.parametrize(("kind", "sampling"), [("unigram", 60.0), ("bpe", 0.0)])
def test_without_chance_it_is_the_usual_segmentation(kind: str, sampling: float, byte_fallback: bool) -> None:
    model = learn(kind, byte_fallback).source
    for text in (*TEXT[:5], "", "  ab   xyz½ ba", "zz", "ab▁ba", "नमस्ते dab"):
        assert sampled(model, kind, text, sampling) == model.encode(text), text


@pytest.mark.parametrize("kind", ["unigram", "bpe"])
def test_every_segmentation_is_the_same_text(kind: str) -> None:
    model = learn(kind).source
    drawn = {tuple(sampled(model, kind, "dab cada baba", 0.3, seed)) for seed in range(50)}
    assert len(drawn) > 10
    assert {model.decode(list(ids)) for ids in drawn} == {"dab cada baba"}


def test_unigram_probabilities() -> None:
    model, power, word = learn("unigram").source, 0.5, "▁abba"
    scores = {model.id_to_piece(token): model.get_score(token) for token in range(4, model.get_piece_size())}
    ways = {}
    for cuts in itertools.product((False, True), repeat=len(word) - 1):
        ends = [0, *(place for place, cut in enumerate(cuts, 1) if cut), len(word)]
        pieces = [word[start:end] for start, end in itertools.pairwise(ends)]
        if all(piece in scores for piece in pieces):
            weight = math.exp(power * sum(scores[piece] for piece in pieces))
            ways[tuple(model.piece_to_id(piece) for piece in pieces)] = weight
    sampler, chance, draws = Sampler(model, "unigram"), random.Random(3), 20_000
    counts = collections.Counter(tuple(sampler.encode("abba", power, chance)) for _ in range(draws))
    assert len(ways) > 3 and counts.keys() <= ways.keys()
    for way, weight in ways.items():
        expected = weight / sum(ways.values())
        assert abs(counts[way] / draws - expected) < 5 * math.sqrt(expected / draws)


def test_bpe_dropout_of_everything_is_letters() -> None:
    model = learn("bpe").source
    assert [model.id_to_piece(token) for token in sampled(model, "bpe", "dab ba", 1.0)] == list("▁dab▁ba")


@pytest.mark.parametrize("kind", ["unigram", "bpe"])
def test_every_process_draws_the_same(kind: str, tmp_path: Path) -> None:
    vocabulary = learn(kind)
    vocabulary.save(tmp_path)
    program = f"""
from pathlib import Path
from sentencepiece import SentencePieceProcessor
from pellucid.text.vocabulary import Vocabulary
model = SentencePieceProcessor(model_file={str(tmp_path / "vocabulary.model")!r})
vocabulary = Vocabulary(model, model, kind={kind!r})
print([vocabulary.encode_source("dab cada baba", sampling=0.3, seed=seed) for seed in range(20)])
"""
    paths = os.pathsep.join([str(Path(__file__).parents[2]), os.environ.get("PYTHONPATH", "")])
    environment = os.environ | {"PYTHONPATH": paths}
    command = [sys.executable, "-c", program]
    output = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    ours = [vocabulary.encode_source("dab cada baba", sampling=0.3, seed=seed) for seed in range(20)]
    assert output.stdout.strip() == str(ours)
