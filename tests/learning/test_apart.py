"""Between two steps of a training, Ctrl-C, random numbers and threads are the caller's."""

import signal
from pathlib import Path

import pytest
import short_runs
import torch

import pellucid

SETTINGS = {"training.steps": 3, "model.dropout": 0.3}


def test_the_callers_random_numbers_have_no_part_in_a_training(tmp_path: Path) -> None:
    config = short_runs.config(tmp_path / "data", SETTINGS)
    pellucid.train(config, tmp_path / "quiet", show=False)
    for _ in pellucid.training(config, tmp_path / "drawing"):
        torch.rand(7)
        torch.manual_seed(99)
    assert short_runs.same_run(tmp_path / "quiet", tmp_path / "drawing")


def test_a_training_has_no_part_in_the_callers_random_numbers(tmp_path: Path) -> None:
    torch.manual_seed(5)
    expected = [torch.rand(1).item() for _ in range(4)]
    torch.manual_seed(5)
    drawn = [torch.rand(1).item()]
    steps = pellucid.training(short_runs.config(tmp_path / "data", SETTINGS), tmp_path / "run")
    drawn += [torch.rand(1).item() for _ in steps]
    assert drawn == expected


def test_ctrl_c_between_two_steps_is_the_callers(tmp_path: Path) -> None:
    steps = pellucid.training(short_runs.config(tmp_path / "data", SETTINGS), tmp_path / "run")
    before = signal.getsignal(signal.SIGINT)
    next(steps)
    assert signal.getsignal(signal.SIGINT) is before
    with pytest.raises(KeyboardInterrupt):
        signal.raise_signal(signal.SIGINT)
    assert [step.number for step in steps] == [2, 3]
    assert signal.getsignal(signal.SIGINT) is before


def test_threads_are_the_callers_between_two_steps_and_after_a_loop_that_is_left(tmp_path: Path) -> None:
    before, handler = torch.get_num_threads(), signal.getsignal(signal.SIGTERM)
    torch.set_num_threads(3)
    try:
        steps = pellucid.training(short_runs.config(tmp_path / "data", SETTINGS), tmp_path / "run")
        assert [next(steps) and torch.get_num_threads() for _ in range(2)] == [3, 3]
        steps.close()  # type: ignore[attr-defined]
        assert (torch.get_num_threads(), signal.getsignal(signal.SIGTERM)) == (3, handler)
    finally:
        torch.set_num_threads(before)
