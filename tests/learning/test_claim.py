"""A training run's folder: taken by one run at a time, and never over files that no run wrote."""

from pathlib import Path

import foreign
import pytest
import short_runs

import pellucid
from pellucid.errors import PellucidError, UsageError
from pellucid.folder import checkpoint
from pellucid.folder.checkpoint import newest_state, save_state
from pellucid.interop.card import CARD
from pellucid.learning.claim import LOCK, WRITTEN

CONFIG = pellucid.Config(pellucid.DataConfig(train=(("train.en", "train.de"),)))


@pytest.mark.parametrize("name", [*WRITTEN, LOCK])
@pytest.mark.parametrize("kind", ["file", "folder", "link"])
def test_whatever_has_a_run_s_name_is_left_alone(tmp_path: Path, name: str, kind: str) -> None:
    foreign.put(tmp_path / "own" / name, kind)
    before = foreign.everything(tmp_path)
    for resume in (False, True):
        with pytest.raises(UsageError) as error:
            next(pellucid.training(CONFIG, tmp_path / "own", resume=resume))
        assert str(error.value) == (
            f"{tmp_path / 'own' / name} already exists, but the folder has no checkpoint of a training "
            "run: training would overwrite it. Choose another out."
        )
        assert foreign.everything(tmp_path) == before


def test_a_manifest_of_something_else_makes_no_run(tmp_path: Path) -> None:
    for step, content in {"1": "{}", "2": "my notes"}.items():
        (tmp_path / "checkpoints" / f"step-{step}").mkdir(parents=True)
        (tmp_path / "checkpoints" / f"step-{step}" / "MANIFEST.json").write_text(content)
    before = foreign.everything(tmp_path)
    with pytest.raises(UsageError, match=r"checkpoints already exists, but the folder has no checkpoint"):
        next(pellucid.training(CONFIG, tmp_path))
    assert foreign.everything(tmp_path) == before


def test_other_files_are_in_nobody_s_way(tmp_path: Path) -> None:
    (tmp_path / "run").mkdir()
    for name in ("thesis.txt", ".writable", ".part", "metrics.tmp", "checkpoint", "traces.npz"):
        (tmp_path / "run" / name).write_text(f"mine, {name}")
    before = foreign.everything(tmp_path / "run")
    settings = {"training.steps": 2, "training.validate_every": 1}
    pellucid.train(short_runs.config(tmp_path / "data", settings), tmp_path / "run")
    longer = short_runs.config(tmp_path / "data", settings | {"training.steps": 3})
    pellucid.train(longer, tmp_path / "run", resume=True)
    after = foreign.everything(tmp_path / "run")
    assert {name: after[name] for name in before} == before
    written = {Path(name).parts[0] for name in after.keys() - before.keys()}
    assert written <= {*WRITTEN, LOCK, CARD}, "a run writes a name that claim.py does not know"


def test_a_start_that_fails_leaves_no_trace(tmp_path: Path) -> None:
    (tmp_path / "there").mkdir()
    for out in ("new", "new/and deeper", "there"):
        with pytest.raises(PellucidError, match=r"train\.en: no such file"):
            pellucid.train(CONFIG, tmp_path / out)
        assert foreign.everything(tmp_path) == {"there": "folder"}


@pytest.mark.parametrize("error", [KeyboardInterrupt(), PellucidError("full")], ids=repr)
def test_a_start_that_was_cut_off_can_be_made_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, error: BaseException
) -> None:
    """Between the first model and the first checkpoint there is no checkpoint to know the run by."""
    config = short_runs.config(tmp_path / "data", {"training.steps": 2})

    def cut_off(*arguments: object, **options: object) -> None:
        raise error

    with monkeypatch.context() as patch:
        patch.setattr(checkpoint, "save_state", cut_off)
        with pytest.raises(type(error)):
            pellucid.train(config, tmp_path / "run")
    assert (tmp_path / "run" / "last" / "MANIFEST.json").exists()
    pellucid.train(config, tmp_path / "run")
    saved = newest_state(tmp_path / "run")
    assert saved and saved.step == 2


def test_recovering_removes_nothing_but_a_run_s_own(tmp_path: Path) -> None:
    """A half-written model or checkpoint goes; a folder with a file of anybody else stays."""
    save_state(tmp_path, 1, {}, {})
    ours = {f"{name}/.new/weights.safetensors" for name in (".", "last", "averaged")}
    ours |= {"checkpoints/step-2/.tmpz49w6S", "checkpoints/step-3/.manifest", "checkpoints/step-4/state.json"}
    others = {"notes/.new/weights.safetensors", "checkpoints/step-7/notes", "checkpoints/step-007/state.json"}
    for name in ours | others:
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("half")
    checkpoint.recover(tmp_path)
    assert {name for name in ours | others if (tmp_path / name).exists()} == others
    for name in (".", "last", "averaged"):
        foreign.put(tmp_path / name / ".new" / "notes")
    before = foreign.everything(tmp_path)
    checkpoint.recover(tmp_path)
    assert foreign.everything(tmp_path) == before
