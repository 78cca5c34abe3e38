"""What is checked before data are read, and what is told because it is probably a mistake."""

from pathlib import Path
from typing import Any

import pytest
import short_runs

import pellucid
from pellucid.config.toml_file import from_table, to_table
from pellucid.data.corpus import Pair, Report
from pellucid.errors import UsageError
from pellucid.learning import setting_up
from pellucid.learning.text import Text, overlap


@pytest.fixture
def no_data(monkeypatch: pytest.MonkeyPatch) -> None:
    """Makes it a failure to read or to hash data."""

    def fail(*_: Any) -> Any:
        raise AssertionError("data were read")

    monkeypatch.setattr(setting_up, "read_text", fail)
    monkeypatch.setattr(setting_up, "fingerprints", fail)


@pytest.mark.usefixtures("no_data")
@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"device": "gpu"}, "device = 'gpu' is not the name of a device"),
        ({"device": "cuda:99"}, "device = 'cuda:99' cannot be used: "),
    ],
)
def test_what_can_be_known_is_checked_before_data(tmp_path: Path, options: Any, said: str) -> None:
    config = short_runs.config(tmp_path / "data")
    with pytest.raises(UsageError) as error:
        next(pellucid.training(config, tmp_path / "run", **options))
    assert str(error.value).startswith(said)


def pairs(*texts: tuple[str, str]) -> list[Pair]:
    return [Pair(source, target, 0, line, "some.in") for line, (source, target) in enumerate(texts, 1)]


def test_validation_text_that_is_in_the_training_text_is_counted() -> None:
    training = pairs(("a", "1"), ("b", "2"), ("c", "3"), ("a", "1"), ("d", "4"))
    seen = pairs(("a", "1"), ("a", "1"), ("b", "9"), ("c", "3"), ("e", "4"), ("a", "4"))
    assert overlap(Text(training, Report(), pairs(("e", "1"), ("f", "5")), Report())) == ""
    assert overlap(Text(training, Report(), seen, Report())) == (
        "3 of the 6 validation pairs are in the training text, and so is the source of 2 more: on new text "
        "the model is worse than its validations say"
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
