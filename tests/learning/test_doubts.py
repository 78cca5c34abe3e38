"""What is checked before data are read, and what is told because it is probably a mistake."""

from pathlib import Path

import pytest
import short_runs

import pellucid
from pellucid.config.toml_file import from_table, to_table
from pellucid.data.corpus import Pair, Report
from pellucid.learning.text import Text, overlap


def pairs(*texts: tuple[str, str]) -> list[Pair]:
    return [Pair(source, target, 0, line, "some.in") for line, (source, target) in enumerate(texts, 1)]


def test_validation_text_that_is_in_the_training_text_is_counted() -> None:
    training = pairs(("a", "1"), ("b", "2"), ("c", "3"), ("a", "1"), ("d", "4"))
    seen = pairs(("a", "1"), ("a", "1"), ("b", "9"), ("c", "3"), ("e", "4"), ("a", "4"))
    assert overlap(Text(training, Report(), pairs(("e", "1"), ("f", "5")), Report())) == ""
    assert overlap(Text(training, Report(), seen, Report())) == (
        "5 of the 6 validation sentences are in the training text: on new text the model is worse than its "
        "validations say"
    )


def test_one_file_on_both_sides_is_warned_of(tmp_path: Path) -> None:
    config = short_runs.config(tmp_path / "data", {"training.steps": 1})
    table = to_table(config)
    for part in ("train", "validation"):
        table["data"][part] = [[table["data"][part][0][0]] * 2]
    with pytest.warns(UserWarning) as warned:
        pellucid.train(from_table(table), tmp_path / "run")
    assert [str(each.message).partition(" pairs")[0] for each in warned] == [
        "[data] train: in 60 of 60",
        "[data] validation: in 8 of 8",
    ]
