"""The first Ctrl-C is answered at once, whatever the training does; and it loses nothing."""

import os
import signal
import threading
from pathlib import Path
from queue import SimpleQueue
from typing import Any

import pytest
import short_runs

import pellucid
from pellucid.learning import run as run_module
from pellucid.learning import saving, setting_up
from pellucid.learning.stop import Interrupted
from pellucid.text import vocabulary_training

LATER = " A second Ctrl-C stops at once; the run can then go on from step {}."


def signalling(monkeypatch: pytest.MonkeyPatch, module: Any, name: str) -> None:
    """A signal comes when this function is called."""
    function = getattr(module, name)

    def call(*arguments: Any, **options: Any) -> Any:
        signal.raise_signal(signal.SIGINT)
        return function(*arguments, **options)

    monkeypatch.setattr(module, name, call)


def test_in_a_step(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    said, config = SimpleQueue[str](), short_runs.config(tmp_path / "data", {"training.checkpoint_every": 2})
    write_metrics = run_module.write_metrics

    def write(file: Any, values: Any) -> None:
        write_metrics(file, values)
        if values["step"] == 4:
            while not said.empty():
                said.get()
            signal.raise_signal(signal.SIGINT)
            assert said.get(timeout=60) == "stopping after this step." + LATER.format(2)

    monkeypatch.setattr(run_module, "write_metrics", write)
    with pytest.raises(Interrupted, match="stopped at step 4"):
        pellucid.train(config, tmp_path / "run", report=said.put)


def test_in_a_validation(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    signalling(monkeypatch, saving, "validate")
    said, config = list[str](), short_runs.config(tmp_path / "data")
    with pytest.raises(Interrupted, match="stopped at step 3"):
        pellucid.train(config, tmp_path / "run", report=said.append)
    assert said[-1] == "stopping after this step (a validation is running)." + LATER.format(0)


def test_while_data_are_read_it_ends_at_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    said, config = list[str](), short_runs.config(tmp_path / "data")
    with monkeypatch.context() as patch:
        signalling(patch, setting_up, "read_text")
        with pytest.raises(KeyboardInterrupt):
            pellucid.train(config, tmp_path / "run", report=said.append)
    assert said == ["stopping: there is nothing new to save."]
    assert not (tmp_path / "run").exists()
    pellucid.train(config, tmp_path / "run")  # nothing is in its way


def test_while_the_vocabulary_is_learned_it_is_answered(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    said, heard, config = list[str](), list[bool](), short_runs.config(tmp_path / "data")
    answered, ended = threading.Event(), threading.Event()

    def report(line: str) -> None:
        said.append(line)
        answered.set()

    def learn(**_: Any) -> None:
        os.kill(os.getpid(), signal.SIGINT)
        heard.append(answered.wait(60))  # before the vocabulary is learned
        ended.set()

    monkeypatch.setattr(vocabulary_training.SentencePieceTrainer, "train", learn)
    with pytest.raises(KeyboardInterrupt):
        pellucid.train(config, tmp_path / "run", report=report)
    assert ended.wait(60) and heard == [True]
    assert said == ["stopping: there is nothing new to save."]


def test_a_signal_at_the_end_in_the_middle_of_a_line_waits_for_the_end_of_both(tmp_path: Path) -> None:
    """The display has locks that are no use to who holds them already: the answer must not ask for one."""
    display, said, config = threading.Lock(), list[str](), short_runs.config(tmp_path / "data")

    def report(line: str) -> None:
        with display:
            said.append(line)
            if line.startswith("average of "):
                signal.raise_signal(signal.SIGINT)

    pellucid.train(config, tmp_path / "run", report=report)
    end = "the last step is done: the run ends when its last models are validated and saved."
    assert said[-1] == end + LATER.format(6) and (tmp_path / "run" / "averaged").exists()
