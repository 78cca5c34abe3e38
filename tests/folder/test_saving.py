"""When a training saves beside its every so many steps: as its terminal closes, and by the clock."""

import os
import signal
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace

import pytest
import short_runs

import pellucid
from pellucid.learning import run as run_module
from pellucid.learning.stop import Interrupted

POSIX = pytest.mark.skipif(os.name == "nt", reason="Windows has no SIGHUP")


def saved(run: Path) -> list[int]:
    """The steps that have a checkpoint."""
    return sorted(int(path.name[5:]) for path in (run / "checkpoints").iterdir())


@POSIX
def test_a_terminal_that_closes_saves_though_it_says_so_twice(tmp_path: Path) -> None:
    config = short_runs.config(tmp_path / "data")
    pellucid.train(config, tmp_path / "whole")
    with pytest.raises(Interrupted) as error:
        for step in pellucid.training(config, tmp_path / "parts"):
            if step.number == 2:
                signal.raise_signal(signal.SIGHUP)
                signal.raise_signal(signal.SIGHUP)
    assert str(error.value) == f"stopped by SIGHUP at step 3; everything is saved in {tmp_path / 'parts'}."
    assert saved(tmp_path / "parts") == [0, 3]
    pellucid.train(config, tmp_path / "parts", resume=True)
    assert short_runs.same_run(tmp_path / "whole", tmp_path / "parts")


@POSIX
def test_nohup_is_respected(tmp_path: Path) -> None:
    config = short_runs.config(tmp_path / "data")
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        for step in pellucid.training(config, tmp_path / "run"):
            if step.number == 2:
                signal.raise_signal(signal.SIGHUP)
        assert step.number == 6 and signal.getsignal(signal.SIGHUP) == signal.SIG_IGN
    finally:
        signal.signal(signal.SIGHUP, before)


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[float]]:
    """The training's clock, in seconds: a list of one number, which a test may raise."""
    now = [0.0]
    monkeypatch.setattr(run_module, "time", SimpleNamespace(perf_counter=lambda: now[0]))
    yield now


@pytest.mark.parametrize(("minutes", "steps"), [(10.0, [0, 5, 7, 10, 12]), (0.0, [0, 5, 10, 12])])
def test_a_checkpoint_is_written_when_the_last_one_is_old(
    tmp_path: Path, clock: list[float], minutes: float, steps: list[int]
) -> None:
    settings = {"training.steps": 12, "training.checkpoint_every": 5, "training.keep_checkpoints": 20}
    config = short_runs.config(tmp_path / "data", settings | {"training.checkpoint_minutes": minutes})
    for step in pellucid.training(config, tmp_path / "run"):
        # The 5th is saved for its number, the 7th because ten minutes have passed since the 5th.
        clock[0] += {1: 301, 5: 300, 6: 300}.get(step.number, 0)
    assert saved(tmp_path / "run") == steps
