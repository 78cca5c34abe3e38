"""A corpus that a small model learns in seconds, for experiments that train."""

import random
from typing import Any

import toy

from pellucid.config.schema import Config
from pellucid.config.toml_file import from_table
from pellucid.data.corpus import Pair
from pellucid.experiments.corpus import Corpus, corpus_of

# Toy's language with fewer letters, and before each translation one of two words at random. However long it
# learns, a model that cannot see this word loses log 2 there; one that sees it loses nothing.
LETTERS, RANDOM = "abcdefgh", ("x", "y")


def config(**training: Any) -> Config:
    settings: dict[str, Any] = {
        "vocabulary": {"kind": "word", "size": 40},
        "model": {
            "width": 32,
            "heads": 4,
            "hidden": 64,
            "encoder_layers": 1,
            "decoder_layers": 1,
            "dropout": 0.0,
        },
        "training": {"batch_tokens": 512, "peak_rate": 0.01, "warmup_steps": 50, "precision": "fp32"},
        "translation": {"max_length": 20},
    }
    settings["training"] |= {"label_smoothing": 0.0, **training}
    return from_table(settings)


def sentences(count: int, seed: int) -> list[Pair]:
    chance = random.Random(seed)
    sources = [" ".join(chance.choices(LETTERS, k=chance.randint(2, 4))) for _ in range(count)]
    return [
        Pair(source, f"{chance.choice(RANDOM)} {toy.reverse(source)}", 0, line, "toy")
        for line, source in enumerate(sources, 1)
    ]


def lessons(**training: Any) -> Corpus:
    return corpus_of(config(**training), sentences(1500, 1), sentences(60, 2), sentences(60, 3))
