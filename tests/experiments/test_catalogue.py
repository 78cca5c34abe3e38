"""The catalogue of heads: a head that was made to follow a pattern is named by it, with its numbers."""

import random
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
import tiny
import torch
from command import Command
from torch import Tensor

from pellucid.experiments.catalogue import NOTHING, _patterns, _shares, catalogue
from pellucid.reading.words import special_ids
from pellucid.seeing import trace as tracing

TEXTS = ["I like cats", "cats like cats", "I like I like", "cats cats"]


def shifted(weights: Tensor) -> Tensor:
    """Head 1 looks at the position before alone; at the first position, at itself."""
    before = torch.arange(weights.shape[-1]).sub(1).clamp(min=0)
    weights[:, 1] = torch.nn.functional.one_hot(before, weights.shape[-1])
    return weights


def test_a_head_that_looks_back_is_named_and_another_is_not(monkeypatch: pytest.MonkeyPatch) -> None:
    edit = tracing._edit

    def also(name: str, tensor: Tensor, edits: object) -> Tensor:
        tensor = edit(name, tensor, edits)  # type: ignore[arg-type]
        return shifted(tensor.clone()) if name == "encoder.layers.0.self_attention.weights" else tensor

    monkeypatch.setattr(tracing, "_edit", also)
    result = catalogue(tiny.translator(), TEXTS, "es")
    rows = {row[0]: row[1:] for row in result.tables[0].rows}
    assert len(rows) == 2 * (1 + 2 * 2)  # heads of each attention
    name, share, spread, even, example, lost = rows["encoder 0 self 1"]
    assert name == "the position before" and share == 1.0 > even and " → " in example
    assert spread == 0.0 and abs(lost) < 10
    assert rows["encoder 0 self 0"][0] == NOTHING, "random weights are even"
    assert f"Of 10 heads over {len(TEXTS)} sentences, " in result.conclusion


def test_patterns_are_those_of_loops() -> None:
    seed = random.randrange(2**32)
    print(f"seed {seed}")
    chance = random.Random(seed)
    for _ in range(20):
        ids = [chance.randrange(4, 9) for _ in range(chance.randint(1, 7))] + [3]
        aligned = torch.tensor([chance.randrange(len(ids)) for _ in ids])
        counts = Counter({token: token for token in ids})
        found = _patterns("decoder.layers.0.self_attention", ids, ids, aligned, counts, {3})
        for line, asks in enumerate(ids):
            for column, asked in enumerate(ids):
                wanted = {
                    "the position before": column == line - 1,
                    "itself": column == line,
                    "the position after": False,
                    "the same word elsewhere": asks == asked and column < line,
                    "start or end": asked == 3 and column <= line,
                    "the rarest word": asked == min(ids[:-1]) and column <= line,
                }
                assert {name: bool(each[line, column]) for name, each in found.items()} == wanted


def test_what_is_special_and_what_is_rare_is_told_by_side(monkeypatch: pytest.MonkeyPatch) -> None:
    """With a vocabulary for each side, the id of a tag of the source is a word of the target."""
    made, seen = tiny.translator(joint=False), {}

    def patterns(part: str, *further: Any) -> dict[str, Tensor]:
        seen[part] = further[3:]
        return _patterns(part, *further)

    monkeypatch.setattr("pellucid.experiments.catalogue._patterns", patterns)
    source, target = made.vocabulary.encode_source("I like cats", "es"), [4, 4, 5, 3]
    _shares(made, [(source, target)])
    own = {"encoder.layers.0.self_attention": (Counter(source), special_ids(made.vocabulary))}
    own["decoder.layers.0.cross_attention"] = own["encoder.layers.0.self_attention"]
    own["decoder.layers.0.self_attention"] = (Counter(target), special_ids(made.vocabulary, target=True))
    assert {part: seen[part] for part in own} == own


def test_the_command_line(pellucid: Command, tmp_path: Path) -> None:
    file = tmp_path / "text.en"
    file.write_text("I like cats\nHow are you\n", "utf-8")
    said = pellucid("experiment", "heads", "demo", "--text", file, "--to", "es")
    assert said.code == 0 and "Of 24 heads over 2 sentences, " in " ".join(said.out.split()), said.err
    wrong = pellucid("experiment", "layers", "demo", "--text", file)
    assert wrong.code == 2 and "--text FILE belongs to `experiment heads MODEL`" in wrong.err
    file.write_text("I like cats\n", "utf-8")
    assert (
        "fewer than 2 sentences" in pellucid("experiment", "heads", "demo", "--text", file, "--to", "es").err
    )
