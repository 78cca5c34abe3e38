"""A run that was stopped or killed goes on bit for bit; with other settings or data it does not."""

import dataclasses
import os
import random
import signal
import time
import warnings
from pathlib import Path
from typing import Any

import pytest
import short_runs
from cases import few
from short_runs import SAMPLED
from trainer import start

import pellucid
from pellucid.config.toml_file import to_toml
from pellucid.data.corpus import fingerprint
from pellucid.errors import PellucidError, UsageError
from pellucid.folder import checkpoint
from pellucid.folder.checkpoint import newest_state
from pellucid.learning import saving
from pellucid.learning.ranks import Ranks
from pellucid.learning.setting_up import Position, set_up
from pellucid.learning.stop import Interrupted, StopRequest
from pellucid.learning.text import Request

# Two epochs of about ten batches, validated now and then, with dropout and subword sampling on.
SETTINGS = SAMPLED | {"training.steps": 14, "training.batch_tokens": 80, "training.validate_every": 4}


def stop(config: pellucid.Config, out: Path, after: int, **options: Any) -> None:
    """Trains until this step and stops there, as SIGTERM does."""
    with pytest.raises(Interrupted) as error:
        for step in pellucid.training(config, out, **options):
            if step.number == after - 1:
                signal.raise_signal(signal.SIGTERM)
    assert str(error.value) == f"stopped by SIGTERM at step {after}; everything is saved in {out}."


@pytest.mark.parametrize(
    "settings", few(2, [{}, {"training.accumulate": 3}, {"training.precision": "bf16"}]), ids=str
)
def test_resumed_is_uninterrupted(tmp_path: Path, settings: dict[str, Any]) -> None:
    config = short_runs.config(tmp_path / "data", SETTINGS | settings)
    pellucid.train(config, tmp_path / "whole")
    epochs = [entry["epoch"] for entry in short_runs.metrics(tmp_path / "whole")]
    end = epochs.count(0)  # the last step of an epoch
    assert settings or 4 < end < 14
    for number, after in enumerate([4] if settings else [3, end]):
        stop(config, tmp_path / "parts", after, resume=number > 0)
        saved = newest_state(tmp_path / "parts")
        assert saved and saved.step == after
    pellucid.train(config, tmp_path / "parts", resume=True)
    assert list(pellucid.training(config, tmp_path / "parts", resume=True)) == []  # which changes nothing
    assert short_runs.same_run(tmp_path / "whole", tmp_path / "parts")
    assert len(short_runs.metrics(tmp_path / "parts")) == 14


def test_a_resume_forgets_nothing_of_its_position(tmp_path: Path) -> None:
    config = short_runs.config(tmp_path / "data")
    asked = Request(config, tmp_path / "run", True, device="cpu")
    (tmp_path / "run").mkdir()
    run = set_up(asked, print, StopRequest(), Ranks())
    position = Position(2, 1, [3, 7], 9.5, 4, best=[0.5, -1.5], stale=6, validated=0.3, validations=[0.25])
    assert all(getattr(position, name) != value for name, value in vars(Position()).items())
    run.position = position
    saving.save(run)
    assert set_up(asked, print, StopRequest(), Ranks()).position == position


def test_a_state_of_another_version_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    config = short_runs.config(tmp_path / "data")
    stop(config, tmp_path / "run", 2)
    saved = newest_state(tmp_path / "run")
    assert saved
    older = dataclasses.replace(saved, state=saved.state | {"position": {"step": 2, "best_score": 1.0}})
    monkeypatch.setattr(checkpoint, "newest_state", lambda _: older)
    with pytest.raises(PellucidError, match=r"step-2: another version of Pellucid .* start_from = "):
        set_up(Request(config, tmp_path / "run", True, device="cpu"), print, StopRequest(), Ranks())


def test_the_minutes_spent_survive_a_resume(tmp_path: Path) -> None:
    config = short_runs.config(tmp_path / "data")
    stop(config, tmp_path / "run", 2)
    saved = newest_state(tmp_path / "run")
    assert saved
    spent = saved.state["position"]["seconds"]
    assert spent > 0
    longer = changed(config, "training", steps=3)
    (step,) = pellucid.training(longer, tmp_path / "run", resume=True)
    assert step.seconds > spent
    half = changed(config, "training", minutes=spent / 120)
    assert list(pellucid.training(half, tmp_path / "run", resume=True)) == []


# Refused, and let through


@pytest.fixture(scope="module")
def stopped(tmp_path_factory: pytest.TempPathFactory) -> tuple[pellucid.Config, Path]:
    """A run that stopped at step 2, which nobody may go on with: `refused` does not change it."""
    folder = tmp_path_factory.mktemp("stopped")
    config = short_runs.config(folder / "data")
    stop(config, folder / "run", 2)
    return config, folder / "run"


def changed(config: pellucid.Config, section: str, **values: Any) -> pellucid.Config:
    """The configuration with other values in a section."""
    return dataclasses.replace(config, **{section: dataclasses.replace(getattr(config, section), **values)})


def refused(config: pellucid.Config, run: Path, accept: tuple[str, ...] = ()) -> str:
    """What differs, as the refusal lists it."""
    with pytest.raises(UsageError) as error:
        pellucid.train(config, run, resume=True, accept=accept)
    first, *different, last = str(error.value).split("\n")
    assert first == "this run was started with other settings or data, so it cannot continue bit for bit:"
    assert last == (
        "Restore them, start a new run with another out, or accept them: accept = ('section.key',) "
        "(or accept = ('data',))."
    )
    return "\n".join(different)


def test_other_settings_are_refused_with_what_differs(stopped: tuple[pellucid.Config, Path]) -> None:
    config, run = stopped
    other = changed(changed(config, "training", peak_rate=0.02, accumulate=2), "vocabulary", size=40)
    assert refused(changed(other, "data", languages=(("xx", "yy"),)), run) == (
        "  data.languages: [] -> [['xx', 'yy']]\n"
        "  training.accumulate: 1 -> 2\n"
        "  training.peak_rate: 0.01 -> 0.02\n"
        "  vocabulary.size: 50 -> 40"
    )
    wide = changed(config, "model", width=32, dropout=0.5)
    assert refused(wide, run, ("model.dropout",)) == "  model.width: 16 -> 32"
    with pytest.raises(
        UsageError, match="the checkpoint holds a model of another shape, so the run cannot continue"
    ):
        pellucid.train(wide, run, resume=True, accept=("model.width", "model.dropout"))
    with pytest.raises(UsageError, match=r'accept: there is no setting "training\.peak_rat"'):
        pellucid.train(config, run, resume=True, accept=["training.peak_rat"])
    with pytest.raises(UsageError, match=f"{run} holds a training run that stopped at step 2"):
        pellucid.train(config, run)


def test_other_data_is_refused_with_what_differs(
    stopped: tuple[pellucid.Config, Path], tmp_path: Path
) -> None:
    config, run = stopped
    other = short_runs.config(tmp_path / "data", count=61)
    hashes = [fingerprint(each.data.train)["train.source"][:12] for each in (config, other)]
    assert f"  data train.source: SHA-256 {hashes[0]} -> {hashes[1]}\n" in refused(other, run)
    assert "  data.validation: [[" in refused(changed(config, "data", validation=()), run)


def test_what_is_accepted_or_only_decides_the_end_may_change(tmp_path: Path) -> None:
    config = short_runs.config(tmp_path / "data")
    stop(config, tmp_path / "run", 2)
    ending = dict(steps=4, minutes=5.0, checkpoint_every=1, keep_checkpoints=3, patience=9)
    other = changed(short_runs.config(tmp_path / "more", count=70), "training", peak_rate=0.02, **ending)
    other = changed(other, "data", validation=())
    accept = ("training.peak_rate", "data")
    steps = list(pellucid.training(other, tmp_path / "run", resume=True, accept=accept))
    assert [step.number for step in steps] == [3, 4]
    assert steps[0].update.rate == pytest.approx(0.02 * 3 / 4)
    kept = {path.name for path in (tmp_path / "run" / "checkpoints").iterdir()}
    assert kept == {"step-2", "step-3", "step-4"}


# Real processes


def written(folder: Path, settings: dict[str, Any]) -> tuple[pellucid.Config, Path]:
    """A configuration, and its file."""
    config = short_runs.config(folder / "data", settings)
    path = folder / "toy.toml"
    path.write_text(to_toml(config), "utf-8")
    return config, path


def train_to_the_end(config: Path, out: Path) -> None:
    """Trains in a process of its own."""
    process, steps = start(config, out)
    while steps.recv() != "finished":
        pass
    process.join()


@pytest.mark.skipif(os.name == "nt", reason="signals and fork are POSIX")
def test_a_second_signal_is_immediate(tmp_path: Path) -> None:
    config, path = written(tmp_path, {"training.steps": 12})
    pellucid.train(config, tmp_path / "whole")
    (process, steps), began = start(path, tmp_path / "parts", sleep_at=5), time.monotonic()
    while steps.recv() != 5:  # and then it sleeps for a minute
        pass
    os.kill(process.pid or 0, signal.SIGTERM)
    time.sleep(0.2)
    os.kill(process.pid or 0, signal.SIGTERM)
    assert steps.recv() == "KeyboardInterrupt"
    assert time.monotonic() - began < 50
    train_to_the_end(path, tmp_path / "parts")
    assert short_runs.same_run(tmp_path / "whole", tmp_path / "parts")


@pytest.mark.skipif(os.name == "nt", reason="signals and fork are POSIX")
def test_eight_kills_at_random_moments_lose_nothing(tmp_path: Path) -> None:
    settings = SETTINGS | {"training.steps": 24, "training.checkpoint_every": 1, "training.validate_every": 4}
    config, path = written(tmp_path, settings)
    pellucid.train(config, tmp_path / "whole")
    chance = random.Random(11)
    for _ in range(8):
        process, steps = start(path, tmp_path / "parts")
        last = [steps.recv() for _ in range(chance.randint(1, 2))][-1]
        time.sleep(chance.uniform(0.0, 0.05))
        process.kill()
        process.join()
        assert process.exitcode == -signal.SIGKILL
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # a checkpoint that was never finished is passed over
            saved = newest_state(tmp_path / "parts")
        assert saved and last <= saved.step < 24
    train_to_the_end(path, tmp_path / "parts")
    assert short_runs.same_run(tmp_path / "whole", tmp_path / "parts")
    names = {item.name for item in (tmp_path / "parts" / "checkpoints").iterdir()}
    assert names == {"step-23", "step-24"}
