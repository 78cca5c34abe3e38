"""Training runs of a few steps on toy.py's language, with all switched on that a resume must get right."""

import json
import random
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import torch
import toy
from safetensors.torch import load_file

from pellucid.config.schema import Config
from pellucid.config.toml_file import from_table
from pellucid.learning import saving
from pellucid.learning.step import Validation
from pellucid.translate.evaluate import Scores

WORDS = ("ab", "ba", "cab", "dab", "bad", "ad", "cad", "dac")

SETTINGS: dict[str, dict[str, Any]] = {
    "vocabulary": dict(kind="word", size=50),
    "model": dict(
        width=16, heads=2, hidden=32, encoder_layers=1, decoder_layers=1, dropout=0.1, attention_dropout=0.1
    ),
    "training": dict(
        steps=6, batch_tokens=60, peak_rate=0.01, warmup_steps=4, validate_every=3, checkpoint_every=100,
        average=2, precision="fp32", threads=1,
    ),
    "translation": dict(beam=1, max_length=12),
}  # fmt: skip

# Words are cut into letters, differently in each epoch; a batch is drawn anew in each, too.
SAMPLED = {"vocabulary.kind": "unigram", "vocabulary.size": 16, "vocabulary.sampling": 0.3}


def pairs(count: int, seed: int = 1) -> list[tuple[str, str]]:
    """Sentences of two to four words, each once, with their translations."""
    chance = random.Random(seed)
    sentences: dict[str, None] = {}
    while len(sentences) < count:
        sentence = " ".join(chance.choices(WORDS, k=chance.choice((2, 3, 3, 4))))
        if toy.reverse(sentence) != sentence:  # copied targets would be warned of
            sentences[sentence] = None
    return [(sentence, toy.reverse(sentence)) for sentence in sentences]


def write(folder: Path, name: str, sentences: Sequence[tuple[str, str]]) -> list[str]:
    """A pair of files, as [data] train takes them."""
    folder.mkdir(parents=True, exist_ok=True)
    paths = [folder / f"{name}.source", folder / f"{name}.target"]
    for path, side in zip(paths, zip(*sentences, strict=True), strict=True):
        path.write_text("".join(f"{line}\n" for line in side), encoding="utf-8")
    return [str(path) for path in paths]


def config(folder: Path, settings: Mapping[str, Any] | None = None, count: int = 60) -> Config:
    """SETTINGS, with `settings` {"section.key": value} on top of them; the text is written to `folder`."""
    table = {section: dict(values) for section, values in SETTINGS.items()}
    sentences = pairs(count + 8)
    table["data"] = {
        "train": write(folder, "train", sentences[8:]),
        "validation": write(folder, "validation", sentences[:8]),
    }
    for dotted, value in (settings or {}).items():
        section, key = dotted.split(".")
        table[section][key] = value
    return from_table(table)


def metrics(run: Path) -> list[dict[str, Any]]:
    """The run's metrics, one entry a step, without seconds and cost, which alone may differ."""
    return [entry for entry in all_metrics(run) if "kept" not in entry]


def all_metrics(run: Path) -> list[dict[str, Any]]:
    """The same, and what was kept at the end."""
    entries = [json.loads(line) for line in (run / "metrics.jsonl").read_text().splitlines()]
    return [
        {name: value for name, value in entry.items() if name not in ("seconds", "cost")} for entry in entries
    ]


def weights(folder: Path) -> dict[str, torch.Tensor]:
    """The parameters in a model folder."""
    return load_file(folder / "weights.safetensors")


def same_weights(one: Path, other: Path) -> bool:
    """Whether two model folders hold the same bits."""
    left, right = weights(one), weights(other)
    return left.keys() == right.keys() and all(torch.equal(left[name], right[name]) for name in left)


def same_run(one: Path, other: Path) -> bool:
    """Whether two runs had the same losses all along and ended in the same models."""
    folders = [name for name in (".", "last", "averaged") if (one / name / "MANIFEST.json").exists()]
    return all_metrics(one) == all_metrics(other) and all(
        same_weights(one / name, other / name) for name in folders
    )


def validation(bleu: float = 0.0, loss: float = 2.0, chrf: float = 50.0, exact: float = 12.5) -> Validation:
    """A validation of eight sentences with these figures."""
    return Validation(loss, Scores(bleu, chrf, exact, 8, "signature", "signature"))


def validated_as(monkeypatch: Any, *bleus: float, losses: Sequence[float] = (2.0,)) -> None:
    """Validations find these scores and losses, one after the other, and then the last of them."""
    left = [list(bleus), list(losses)]

    def validate(*_: Any) -> Validation:
        bleu, loss = (values.pop(0) if len(values) > 1 else values[0] for values in left)
        return validation(bleu, loss)

    monkeypatch.setattr(saving, "validate", validate)
