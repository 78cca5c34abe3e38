"""The average: of a run's last validations, with its scores and what was kept; of named checkpoints."""

import dataclasses
import json
import shutil
from pathlib import Path

import pytest
import short_runs
import torch
from command import Command

import pellucid as package
from pellucid.errors import UsageError
from pellucid.folder.checkpoint import newest_state, newest_step
from pellucid.folder.load import load_model
from pellucid.learning import saving

SETTINGS = {"training.checkpoint_every": 2, "training.keep_checkpoints": 3, "training.precision": "bf16"}


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run of six steps, validated at steps 3 and 6, with checkpoints at 2, 4 and 6; read it only."""
    folder = tmp_path_factory.mktemp("average")
    return package.train(short_runs.config(folder / "data", SETTINGS), folder / "run")


def what(folder: Path) -> str:
    return load_model(folder).manifest["provenance"]["what"]


# At the end of a run


@pytest.mark.parametrize(
    ("bleus", "kept"),
    [((10.0, 30.0, 20.0), "step 6"), ((10.0, 30.0, 40.0), "average of steps 3, 6"), ((9.0, 8.0), "step 3")],
)
def test_the_average_s_scores_and_what_was_kept_are_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, bleus: tuple[float, ...], kept: str
) -> None:
    short_runs.validated_as(monkeypatch, *bleus)
    lines, folder, config = list[str](), tmp_path / "run", short_runs.config(tmp_path / "data")
    package.train(config, folder, report=lines.append)
    scores = f"loss 2.000, perplexity 7.39, BLEU {bleus[-1]:.2f}, chrF 50.00, exact 12.50"
    assert lines[-1] == f"average of steps 3, 6: {scores}; kept as the model: {kept}"
    folders = [what(folder / name) for name in (".", "averaged", "last")]
    assert folders == [kept, "average of steps 3, 6", "step 6"]
    figures = short_runs.validation(bleus[-1]).figures()
    last = json.loads((folder / "metrics.jsonl").read_text().splitlines()[-1])
    model = last.pop("model")
    assert last == {"step": 6, "average": [3, 6], "validation": figures, "kept": kept}
    assert model == {
        "step": 6 if "6" in kept else 3,
        "validation": short_runs.validation(max(bleus)).figures(),
    }
    saved = newest_state(folder)
    assert saved and saved.state["position"]["best"] == [max(bleus), -2.0]


def test_an_end_that_is_cut_off_loses_no_step(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    found = iter([short_runs.validation()] * 2)  # of steps 3 and 6; that of the average does not end
    monkeypatch.setattr(saving, "validate", lambda *_: next(found))
    with pytest.raises((StopIteration, RuntimeError)):
        package.train(short_runs.config(tmp_path / "data"), tmp_path / "run")
    assert newest_step(tmp_path / "run") == 6


def test_a_resume_tells_the_average_once(tmp_path: Path) -> None:
    config = short_runs.config(tmp_path / "data")
    longer = dataclasses.replace(config, training=dataclasses.replace(config.training, steps=7))
    for each, resume in ((config, False), (config, True), (longer, True)):
        package.train(each, tmp_path / "run", resume=resume)
    entries = short_runs.all_metrics(tmp_path / "run")
    assert [entry["step"] for entry in entries] == [1, 2, 3, 4, 5, 6, 7, 7]
    assert [entry.get("average") for entry in entries] == [None] * 7 + [[6, 7]]


def test_weights_of_steps_that_were_lost_are_not_in_the_average(run: Path, tmp_path: Path) -> None:
    shutil.copytree(run, tmp_path / "run")
    shutil.rmtree(tmp_path / "run" / "checkpoints" / "step-6")
    config = short_runs.config(tmp_path / "data", SETTINGS | {"training.steps": 4})
    package.train(config, tmp_path / "run", resume=True)
    assert what(tmp_path / "run" / "averaged") == "average of steps 3, 4"


def test_a_resume_that_validates_elsewhere_averages_nothing_of_the_lost_steps(
    run: Path, tmp_path: Path
) -> None:
    shutil.copytree(run, tmp_path / "run")
    shutil.rmtree(tmp_path / "run" / "checkpoints" / "step-6")
    config = short_runs.config(
        tmp_path / "data", SETTINGS | {"training.steps": 7, "training.validate_every": 7}
    )
    package.train(config, tmp_path / "run", resume=True, accept=["training.validate_every"])
    assert what(tmp_path / "run" / "averaged") == "average of steps 3, 7"


# Of named checkpoints


def test_named_checkpoints_are_averaged(run: Path, tmp_path: Path, pellucid: Command) -> None:
    checkpoints = [run / "checkpoints" / f"step-{step}" for step in (2, 4)] + [run / "last"]
    outcome = pellucid("average", tmp_path / "mean", *checkpoints)
    assert outcome == (0, f"{tmp_path / 'mean'}\n", "average of step 2; step 4; step 6\n")
    parts = [package.load(folder, "cpu").model.state_dict() for folder in checkpoints]
    for name, tensor in short_runs.weights(tmp_path / "mean").items():
        assert torch.equal(tensor, (sum(part[name].double() for part in parts) / 3).float())
    provenance = load_model(tmp_path / "mean").manifest["provenance"]
    assert str(tmp_path) not in json.dumps(provenance)
    assert pellucid("translate", tmp_path / "mean", stdin=b"ab\n").code == 0
    assert "\n  what: average of step 2; step 4; step 6\n" in pellucid("inspect", tmp_path / "mean").out


def test_the_averages_of_python_and_of_a_run_are_the_same(run: Path, tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    aside = sorted((run / "averaging" / "checkpoints").iterdir())
    assert package.average(tmp_path / "empty", aside) == tmp_path / "empty"
    assert short_runs.same_weights(tmp_path / "empty", run / "averaged")
    package.average(tmp_path / "one", str(run / "last"))
    assert short_runs.same_weights(tmp_path / "one", run / "last")
    put_aside, saved = (newest_state(folder) for folder in (run / "averaging", run))
    assert put_aside and saved and put_aside.step == saved.step == 6  # not the working copy in bf16
    for name, tensor in put_aside.tensors.items():
        assert torch.equal(tensor, saved.tensors[f"model.{name}"])


def test_a_folder_that_is_not_empty_is_left_alone(run: Path, tmp_path: Path) -> None:
    (tmp_path / "full").mkdir()
    (tmp_path / "full/mine.txt").write_text("mine")
    with pytest.raises(UsageError, match="full already exists, and an average is written to a new folder"):
        package.average(tmp_path / "full", [run / "last"])
    assert [path.name for path in (tmp_path / "full").iterdir()] == ["mine.txt"]


def test_other_shapes_and_other_vocabularies_are_refused(run: Path, tmp_path: Path) -> None:
    wide = short_runs.config(tmp_path / "data", {"model.width": 32, "training.steps": 1})
    package.train(wide, tmp_path / "wide")
    words = short_runs.config(tmp_path / "words", {"training.steps": 1})
    for file in words.data.train[0]:  # as many words, other words
        Path(file).write_text(Path(file).read_text().replace("cab", "zab").replace("bac", "baz"))
    package.train(words, tmp_path / "other")
    reasons = {"wide": r"shape: width = 32 \(there 16\)", "other": "its vocabulary is different"}
    for name, reason in reasons.items():
        with pytest.raises(UsageError, match=f"{name} cannot be averaged with {run}: .*{reason}. Average"):
            package.average(tmp_path / "mean", [run, tmp_path / name])
    assert not (tmp_path / "mean").exists()
