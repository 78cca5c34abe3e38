"""A toy language that a small model learns in seconds: a sentence of letters, translated by reversing it."""

import random
from pathlib import Path

LETTERS = "abcdefghijklmnop"

CONFIG = """
[data]
train = ["train.source", "train.target"]
validation = ["validation.source", "validation.target"]

[vocabulary]
kind = "word"
size = 100

[model]
width = 32
heads = 4
hidden = 64
encoder_layers = 2
decoder_layers = 2
dropout = 0.0

[training]
steps = 120
batch_tokens = 512
peak_rate = 0.01
warmup_steps = 50
validate_every = 60
checkpoint_every = 60
average = 2
precision = "fp32"
threads = 1

[translation]
beam = 2
max_length = 40
"""


def sentence(random_numbers: random.Random) -> str:
    """Three to six letters."""
    return " ".join(random_numbers.choices(LETTERS, k=random_numbers.randint(3, 6)))


def reverse(text: str) -> str:
    """The translation."""
    return " ".join(reversed(text.split()))


def write(folder: Path, config: str = CONFIG) -> Path:
    """The corpus and its configuration, toy.toml, in this folder."""
    folder.mkdir(parents=True, exist_ok=True)
    random_numbers = random.Random(1)
    for part, count in {"train": 2000, "validation": 40}.items():
        sources = [sentence(random_numbers) for _ in range(count)]
        for side, lines in {"source": sources, "target": map(reverse, sources)}.items():
            (folder / f"{part}.{side}").write_text("".join(f"{line}\n" for line in lines), "utf-8")
    path = folder / "toy.toml"
    path.write_text(config, "utf-8")
    return path
