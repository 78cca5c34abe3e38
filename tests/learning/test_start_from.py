"""Fine-tuning: what a run takes from the model that it starts from, and what it says of that model."""

import json
import re
from pathlib import Path
from typing import Any

import pytest
import short_runs
from short_runs import SETTINGS

import pellucid
from pellucid.config.schema import Config
from pellucid.config.toml_file import read
from pellucid.errors import UsageError
from pellucid.folder.load import load_model


@pytest.fixture(scope="module")
def first(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder with the model to start from, runs/fr, and its data; read it only."""
    folder = tmp_path_factory.mktemp("first")
    pellucid.train(short_runs.config(folder / "data"), folder / "runs" / "fr")
    return folder


def toml(first: Path, *lines: str) -> Path:
    """A configuration in the folder cfg, of which the lines are all beside the data and the training."""
    path = first / "cfg" / "task.toml"
    path.parent.mkdir(exist_ok=True)
    both = [
        f'{part} = ["../data/{part}.source", "../data/{part}.target"]' for part in ("train", "validation")
    ]
    training = [f"{name} = {json.dumps(value)}" for name, value in SETTINGS["training"].items()]
    path.write_text("\n".join(["[data]", *both, "[training]", *training, *lines]) + "\n")
    return path


def start(first: Path, *lines: str) -> Path:
    """One that starts from the model, written as from its own folder."""
    return toml(first, 'start_from = "../runs/fr"', *lines)


def test_what_is_not_said_is_taken_from_the_folder(first: Path, tmp_path: Path) -> None:
    theirs = load_model(first / "runs" / "fr").config
    ours = read(start(first))
    assert ours.model == theirs.model and ours.vocabulary == theirs.vocabulary
    assert ours.training.start_from == str(first / "runs" / "fr")
    ours = read(start(first, "[model]", "dropout = 0.4", "[vocabulary]", "sampling = 0.3"))
    assert (ours.model.dropout, ours.model.attention_dropout, ours.vocabulary.sampling) == (0.4, 0.1, 0.3)
    pellucid.train(read(start(first)), tmp_path / "run")
    assert load_model(tmp_path / "run").config.model == theirs.model


@pytest.mark.parametrize(
    ("setting", "said"),
    [
        ({"vocabulary.size": 1234}, "its model was made with other settings of text: size = 1234 ("),
        ({"vocabulary.byte_fallback": True}, "other settings of text: byte_fallback = True (there False). "),
        ({"vocabulary.model": "/x.model"}, "other settings of text: model = ('x.model',) (there ()). "),
        ({"data.preparation": "words"}, "other settings of text: preparation = words (there none). "),
        ({"model.preset": "tiny"}, "has another shape: width = 128 (there 16), heads = 4 (there 2), "),
    ],
)
def test_what_is_said_must_agree(first: Path, tmp_path: Path, setting: dict[str, Any], said: str) -> None:
    with pytest.raises(UsageError, match=re.escape(said)):
        pellucid.train(read(start(first), setting), tmp_path / "run")


def fine_tuning(first: Path, **training: Any) -> Config:
    """The configuration of a run that starts from the model."""
    changes = {f"training.{name}": value for name, value in training.items()}
    return read(start(first), changes)


def test_the_model_is_validated_before_it_learns_and_may_stay_the_best(first: Path, tmp_path: Path) -> None:
    said: list[str] = []
    worse = fine_tuning(first, peak_rate=5.0, steps=3, average=0, validation_metric="loss")
    steps = list(pellucid.training(worse, tmp_path / "run", report=said.append))
    (before,) = [entry for entry in short_runs.metrics(tmp_path / "run") if entry["step"] == 0]
    found = before["validation"]
    provenance = load_model(first / "runs" / "fr").manifest["provenance"]
    assert found["loss"] == pytest.approx(provenance["scores"]["validation"]["loss"], rel=1e-5)
    (line,) = [line for line in said if line.startswith("validation at step 0")]
    assert line.startswith(f"validation at step 0, of fr: loss {found['loss']:.3f}, ")
    assert f"BLEU {found['bleu']:.2f}, chrF {found['chrf']:.2f}" in line
    assert steps[-1].validation and steps[-1].validation.loss > found["loss"] and not steps[-1].best
    assert short_runs.same_weights(tmp_path / "run", first / "runs" / "fr")
    assert load_model(tmp_path / "run").manifest["provenance"]["steps"] == 0


def test_a_resume_is_the_uninterrupted_run(first: Path, tmp_path: Path) -> None:
    pellucid.train(fine_tuning(first), tmp_path / "whole")
    for after in (1, 4):  # the first stop is before anything was saved but step 0
        config = fine_tuning(first, checkpoint_every=4)
        for step in pellucid.training(config, tmp_path / "parts", resume=True):
            if step.number == after:
                break
    pellucid.train(fine_tuning(first), tmp_path / "parts", resume=True)
    assert [entry["step"] for entry in short_runs.metrics(tmp_path / "parts")] == [0, 1, 2, 3, 4, 5, 6]
    assert short_runs.same_run(tmp_path / "whole", tmp_path / "parts")
