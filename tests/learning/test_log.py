"""log.txt in a run's folder: all that was said, in the order in which it was said, also after a resume."""

import re
import signal
import warnings
from pathlib import Path
from typing import Any

import pytest
import short_runs

import pellucid
from pellucid.errors import PellucidError
from pellucid.learning.adamw import Gradients
from pellucid.learning.learner import Learner
from pellucid.learning.log import validation_lines
from pellucid.learning.stop import Interrupted


def logged(run: Path) -> list[str]:
    """The lines of the log without their times, which are there."""
    lines = (run / "log.txt").read_text("utf-8").splitlines()
    assert all(re.match(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d  ", line) for line in lines)
    return [line[21:] for line in lines]


def test_all_that_is_said_is_in_the_log(tmp_path: Path) -> None:
    config, said = short_runs.config(tmp_path / "data"), list[str]()
    steps = list(pellucid.training(config, tmp_path / "run", report=said.append))
    lines = logged(tmp_path / "run")
    assert lines[:3] == said[:3] and lines[0].startswith("training data: 60 pairs read, ")
    assert lines[3].startswith("step 1/6  loss ")
    assert lines[-1] == said[-1] and "; kept as the model: " in lines[-1]
    places = [index for index, line in enumerate(lines) if line.startswith("validation at step ")]
    for place, step in zip(places, [step for step in steps if step.validation], strict=True):
        expected = list(validation_lines(step))
        assert lines[place : place + 7] == expected


def test_a_resume_goes_on_in_the_same_log(tmp_path: Path) -> None:
    config = short_runs.config(tmp_path / "data")
    with pytest.raises(Interrupted):
        for step in pellucid.training(config, tmp_path / "run"):
            if step.number == 1:
                signal.raise_signal(signal.SIGTERM)
    first = (tmp_path / "run" / "log.txt").read_bytes()
    stopped = f"stopped by SIGTERM at step 2; everything is saved in {tmp_path / 'run'}."
    assert logged(tmp_path / "run")[-1] == stopped
    pellucid.train(config, tmp_path / "run", resume=True)
    assert (tmp_path / "run" / "log.txt").read_bytes().startswith(first)
    assert "going on from step 2" in logged(tmp_path / "run")
    pellucid.train(config, tmp_path / "run", resume=True)  # no step is left
    assert logged(tmp_path / "run")[-2] == "going on from step 6"


def test_warnings_and_errors_are_in_the_log_and_shown(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    config = short_runs.config(tmp_path / "data", {"training.max_skipped": 0})
    learn = Learner.learn

    def poisoned(self: Learner, batches: Any, step: int, done: float) -> Any:
        if step == 2:
            warnings.warn("of a step", stacklevel=1)
            monkeypatch.setattr(Gradients, "norm", lambda _: float("nan"))
            monkeypatch.setattr(Learner, "_collect_gradients", lambda *_: float("nan"))
        return learn(self, batches, step, done)

    monkeypatch.setattr(Learner, "learn", poisoned)
    with pytest.warns(UserWarning) as warned, pytest.raises(PellucidError) as error:
        pellucid.train(config, tmp_path / "run")
    lines = logged(tmp_path / "run")
    told = [str(each.message) for each in warned]
    assert told == ["of a step"] and "warning: of a step" in lines
    assert lines[-1] == str(error.value)
    assert warnings.showwarning.__module__ == "warnings"
