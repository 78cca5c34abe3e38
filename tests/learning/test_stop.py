"""The first Ctrl-C is answered at once, whatever the training does; and it loses nothing."""

import os
import signal
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import short_runs

import pellucid
from pellucid.learning import run as run_module
from pellucid.learning import saving, setting_up
from pellucid.learning.stop import AGAIN, END, STEP, Interrupted
from pellucid.text import vocabulary_training

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
    heard, answered, write = list[bool](), threading.Event(), os.write
    monkeypatch.setattr(os, "write", lambda *what: (write(*what), answered.set()))

    def learn(**_: Any) -> None:
        os.kill(os.getpid(), signal.SIGINT)
        heard.append(answered.wait(60))  # before the vocabulary is learned

    monkeypatch.setattr(vocabulary_training.SentencePieceTrainer, "train", learn)
    with pytest.raises(KeyboardInterrupt):
        pellucid.train(short_runs.config(tmp_path / "data"), tmp_path / "run", show=False)
    assert heard == [True] and capfd.readouterr().err == NOTHING


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
