"""The text of a run: pairs held out of it, and pairs that Python gives."""

import random
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
import short_runs

import pellucid
from pellucid.config.schema import DataConfig
from pellucid.config.toml_file import from_table
from pellucid.data.sifting import HELD_OUT, ParallelText, sift, text_from
from pellucid.errors import UsageError
from pellucid.folder.load import load_model
from pellucid.learning.text import Request, check_text, read_text

TEXTS = [(f"source {number % 90}", f"target {number}") for number in range(100)]


def asked(data: dict[str, object], pairs: Sequence[Any], validation: Sequence[Any] = ()) -> Request:
    """What a training is asked for that has these pairs."""
    return Request(from_table({"data": data}), Path("run"), pairs=pairs, validation_pairs=validation)


def sifted(texts: list[tuple[str, str]], held_out: int) -> ParallelText:
    """The texts, some of them held out."""
    return sift(text_from(texts, "pairs", DataConfig(held_out=held_out)))[0]


def test_no_source_is_both_learned_and_held_out_whatever_the_order() -> None:
    texts = [*TEXTS, *((f" SOURCE  {number} ", "in capitals") for number in range(90))]
    kept, held_out = list(sifted(texts, 20)), list(sifted(texts, 20).with_fate(HELD_OUT))
    assert 18 <= len(held_out) <= 20 and len(kept) + len(held_out) == len(texts)
    chosen, learned = ({" ".join(pair.source.lower().split()) for pair in part} for part in (held_out, kept))
    assert not chosen & learned
    shuffled = sifted(random.Random(3).sample(texts, len(texts)), 20).with_fate(HELD_OUT)
    assert {pair.source for pair in shuffled} == {pair.source for pair in held_out}


def test_nothing_to_hold_out_or_to_learn_from_is_an_error() -> None:
    for texts, count in ((TEXTS[:5], 5), ([("a", "b")] * 10, 4)):
        few = f"held_out = {count}: the training text has {len(set(texts))} different source"
        with pytest.raises(UsageError, match=few):
            sifted(texts, count)
    pairs = [(source, str(number)) for source in "ab" for number in range(9)]
    with pytest.raises(UsageError, match="2 different sources, each on 9 lines or more, and all lines of a"):
        sifted(pairs, 8)


def table() -> dict[str, object]:
    """The short run's settings without files."""
    settings = {section: dict(values) for section, values in short_runs.SETTINGS.items()}
    return settings | {"data": {"held_out": 8}}


def test_pairs_from_python_train_as_a_file_of_them_does_and_are_resumed(tmp_path: Path) -> None:
    pairs, said = short_runs.pairs(60), list[str]()
    files = short_runs.write(tmp_path, "all", pairs)
    before = [Path(file).read_bytes() for file in files]
    whole = table() | {"data": {"train": files, "held_out": 8}}
    pellucid.train(whole, tmp_path / "files", show=False, report=said.append)
    assert said[0].startswith("training data: 60 pairs read, 52 kept; ") and "8 held out" in said[0]
    assert said[1].startswith("validation data: 8 pairs read, 8 kept")
    assert [Path(file).read_bytes() for file in files] == before
    steps = pellucid.training(table(), tmp_path / "pairs", pairs=iter(pairs))
    next(steps)
    steps.close()  # type: ignore[attr-defined]
    with pytest.raises(UsageError, match=r"  data pairs: SHA-256 [0-9a-f]{12} -> [0-9a-f]{12}\n"):
        pellucid.train(table(), tmp_path / "pairs", show=False, resume=True, pairs=pairs[1:])
    pellucid.train(table(), tmp_path / "pairs", show=False, resume=True, pairs=pairs)
    assert short_runs.same_run(tmp_path / "files", tmp_path / "pairs")
    assert load_model(tmp_path / "pairs").manifest["provenance"]["data"].keys() == {"pairs"}
    text = read_text(asked({}, pairs[:50], pairs[50:]))
    assert [(pair.source, pair.target) for pair in text.validation] == pairs[50:]


@pytest.mark.parametrize(
    ("data", "given", "message"),
    [
        ({"train": ["a", "b"]}, TEXTS, "pairs and files in [data] are both given."),
        (
            {"train": ["a", "b"], "validation": ["c", "d"], "held_out": 5},
            [],
            "[data] held_out = 5 and validation text are both given.",
        ),
        ({}, [], "[data] train is missing: name the parallel text, as in train = "),
    ],
)
def test_text_given_twice_or_not_at_all(data: dict[str, object], given: list[Any], message: str) -> None:
    with pytest.raises(UsageError) as error:
        check_text(asked(data, given))
    assert str(error.value).startswith(message)


def test_what_is_no_pair() -> None:
    for wrong in (("one",), "ab", ("a", None)):
        with pytest.raises(UsageError, match=re.escape("pairs[1] is not a source and a target text like ")):
            read_text(asked({}, [TEXTS[0], wrong]))
