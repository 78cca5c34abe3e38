"""A corpus that a small model learns in seconds, for experiments that train."""

import random

import toy

from pellucid.config.toml_file import from_table
from pellucid.data.corpus import Pair
from pellucid.experiments.corpus import Corpus, corpus_of

# Toy's language with fewer letters, and before each translation one of two words at random. However long it
# learns, a model that cannot see this word loses log 2 there; one that sees it loses nothing.
LETTERS, RANDOM = "abcdefgh", ("x", "y")


CONFIG = from_table(
    {
        "vocabulary": {"kind": "word", "size": 40},
        "model": {
            "width": 32, "heads": 4, "hidden": 64, "encoder_layers": 1, "decoder_layers": 1, "dropout": 0.0
        },
        "training": {
            "batch_tokens": 512, "peak_rate": 0.01, "warmup_steps": 50,
            "precision": "fp32", "label_smoothing": 0.0,
        },
        "translation": {"max_length": 20},
    }
)  # fmt: skip


def sentences(count: int, seed: int) -> list[Pair]:
    chance = random.Random(seed)
    sources = [" ".join(chance.choices(LETTERS, k=chance.randint(2, 4))) for _ in range(count)]
    return [
        Pair(source, f"{chance.choice(RANDOM)} {toy.reverse(source)}", 0, line, "toy")
        for line, source in enumerate(sources, 1)
    ]


def lessons(training: int = 1500, others: int = 60) -> Corpus:
    return corpus_of(CONFIG, sentences(training, 1), sentences(others, 2), sentences(others, 3))
