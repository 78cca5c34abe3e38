"""A signal is answered at once, whatever the training does, and loses nothing; between two steps it is the
caller's."""

import os
import queue
import signal
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import short_runs
import torch

import pellucid
from pellucid.learning import run as run_module
from pellucid.learning import saving, setting_up
from pellucid.learning.stop import AGAIN, END, STEP, Interrupted
from pellucid.text import vocabulary_training

POSIX = pytest.mark.skipif(os.name == "nt", reason="Windows has no SIGHUP")
NOTHING = "\nstopping: there is nothing new to save.\n"


@pytest.fixture
def answer_in(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> Callable[[Any, str], list[str]]:
    """Sends a signal as this function is first called; the list gets what standard error has at once."""

    def send(module: Any, name: str) -> list[str]:
        function, answers = getattr(module, name), list[str]()

        def call(*arguments: Any, **options: Any) -> Any:
            if not answers:
                capfd.readouterr()
                try:
                    signal.raise_signal(signal.SIGINT)
                finally:
                    answers.append(capfd.readouterr().err)
            return function(*arguments, **options)

        monkeypatch.setattr(module, name, call)
        return answers

    return send


@pytest.mark.parametrize(
    ("module", "name", "stopped"), [(run_module, "figures_of", 1), (saving, "validate", 3)]
)
def test_in_a_step_and_in_a_validation(
    tmp_path: Path, answer_in: Any, module: Any, name: str, stopped: int
) -> None:
    answers, config = answer_in(module, name), short_runs.config(tmp_path / "data")
    with pytest.raises(Interrupted, match=f"stopped at step {stopped};"):
        pellucid.train(config, tmp_path / "run")
    assert answers == [f"\n{STEP}{AGAIN.format('Ctrl-C', 0)}\n"]


def test_while_the_average_is_made_the_last_step_is_saved_already(tmp_path: Path, answer_in: Any) -> None:
    answers, config = answer_in(saving, "mean"), short_runs.config(tmp_path / "data")
    pellucid.train(config, tmp_path / "run")
    assert answers == [f"\n{END}{AGAIN.format('Ctrl-C', 6)}\n"]


def test_while_data_are_read_it_ends_at_once(
    tmp_path: Path, answer_in: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    config, answers = short_runs.config(tmp_path / "data"), answer_in(setting_up, "read_text")
    with pytest.raises(KeyboardInterrupt):
        pellucid.train(config, tmp_path / "run")
    assert answers == [NOTHING] and not (tmp_path / "run").exists()
    pellucid.train(config, tmp_path / "run")  # nothing is in its way


def test_while_the_vocabulary_is_learned_it_is_answered(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    """SentencePiece runs in another thread, and cannot be interrupted itself."""
    heard, answered, write = queue.Queue[bool](), threading.Event(), os.write
    monkeypatch.setattr(os, "write", lambda *what: (write(*what), answered.set()))

    def learn(**_: Any) -> None:
        os.kill(os.getpid(), signal.SIGINT)
        heard.put(answered.wait(60))  # before the vocabulary is learned

    monkeypatch.setattr(vocabulary_training.SentencePieceTrainer, "train", learn)
    with pytest.raises(KeyboardInterrupt):
        pellucid.train(short_runs.config(tmp_path / "data"), tmp_path / "run", show=False)
    assert heard.get(timeout=60) and capfd.readouterr().err == NOTHING


def test_a_signal_at_the_end_in_the_middle_of_a_line_waits_for_the_end_of_both(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    """The display has locks that are no use to who holds them already: the answer must not ask for one."""
    display, said, config = threading.Lock(), list[str](), short_runs.config(tmp_path / "data")

    def report(line: str) -> None:
        with display:
            if line.startswith("average of "):
                signal.raise_signal(signal.SIGINT)
            said.append(line)

    pellucid.train(config, tmp_path / "run", report=report)
    assert END + AGAIN.format("Ctrl-C", 6) in capfd.readouterr().err
    assert said[-1].startswith("average of ") and (tmp_path / "run" / "averaged").exists()


@POSIX
def test_a_terminal_that_closes_saves_though_it_says_so_twice(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    config = short_runs.config(tmp_path / "data")
    pellucid.train(config, tmp_path / "whole")
    with pytest.raises(Interrupted) as error:
        for step in pellucid.training(config, tmp_path / "parts"):
            if step.number == 2:
                signal.raise_signal(signal.SIGHUP)
                signal.raise_signal(signal.SIGHUP)
    assert str(error.value) == f"stopped by SIGHUP at step 3; everything is saved in {tmp_path / 'parts'}."
    assert AGAIN.format("SIGTERM", 0) in capfd.readouterr().err
    assert error.value.exit_code == 128 + signal.SIGHUP  # as of a process that a signal ends
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


# Between two steps Ctrl-C is the caller's

THREE = {"training.steps": 3, "model.dropout": 0.3}


def test_random_numbers_that_the_caller_draws_change_nothing_in_the_training(tmp_path: Path) -> None:
    config = short_runs.config(tmp_path / "data", THREE)
    pellucid.train(config, tmp_path / "quiet", show=False)
    for _ in pellucid.training(config, tmp_path / "drawing"):
        torch.rand(1)
    assert short_runs.same_run(tmp_path / "quiet", tmp_path / "drawing")


def test_ctrl_c_is_the_callers_between_two_steps_and_after_a_loop_that_is_left_threads_too(
    tmp_path: Path,
) -> None:
    before, handler = torch.get_num_threads(), signal.getsignal(signal.SIGINT)
    torch.set_num_threads(3)
    try:
        steps = pellucid.training(short_runs.config(tmp_path / "data", THREE), tmp_path / "run")
        for number in (1, 2):
            assert next(steps).number == number and signal.getsignal(signal.SIGINT) is handler
            with pytest.raises(KeyboardInterrupt):
                signal.raise_signal(signal.SIGINT)
        terminate = signal.getsignal(signal.SIGTERM)
        steps.close()  # type: ignore[attr-defined]
        assert torch.get_num_threads() == 3 and signal.getsignal(signal.SIGINT) is handler
        assert signal.getsignal(signal.SIGTERM) is not terminate
    finally:
        torch.set_num_threads(before)
