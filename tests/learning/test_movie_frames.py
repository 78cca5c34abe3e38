"""The frames of the movie of learning: dense early, the model's own numbers, and the same after a stop."""

import math
import random
import signal
from pathlib import Path
from typing import Any

import pytest
import short_runs
import torch

import pellucid
from pellucid.errors import UsageError
from pellucid.folder.checkpoint import FRAMES, newest_state, whole_states
from pellucid.learning.stop import Interrupted


def frames(run: Path) -> dict[int, tuple[Any, dict[str, torch.Tensor]]]:
    """The loss and the weights of each frame, by its step."""
    states = {state.step: (state.state["loss"], state.tensors) for state in whole_states(run / FRAMES)}
    return dict(sorted(states.items()))


def test_frames_are_dense_early_and_the_same_after_a_stop(tmp_path: Path) -> None:
    seed = random.randrange(10**6)
    print("seed", seed)
    chance = random.Random(seed)
    steps, count = chance.randint(6, 16), chance.randint(2, 9)
    settings = {"training.steps": steps, "training.frames": count, "training.seed": seed}
    config = short_runs.config(tmp_path / "data", settings)
    pellucid.train(config, tmp_path / "whole")
    kept = frames(tmp_path / "whole")
    due = {math.ceil(steps * (number / (count - 1)) ** 3 - 1e-9) for number in range(count)}
    assert set(kept) == due and {0, steps} <= due
    losses = {entry["step"]: entry["plain_loss"] for entry in short_runs.metrics(tmp_path / "whole")}
    assert {step: loss for step, (loss, _) in kept.items()} == {0: None} | {s: losses[s] for s in due - {0}}

    after = chance.randint(2, steps - 1)
    with pytest.raises(Interrupted):
        for step in pellucid.training(config, tmp_path / "parts"):
            if step.number == after - 1:
                signal.raise_signal(signal.SIGTERM)
    pellucid.train(config, tmp_path / "parts", resume=True)
    again = frames(tmp_path / "parts")
    assert again.keys() == kept.keys() and short_runs.same_run(tmp_path / "whole", tmp_path / "parts")
    for step, (loss, tensors) in kept.items():
        assert again[step][0] == loss
        assert all(torch.equal(tensor, again[step][1][name]) for name, tensor in tensors.items())


def test_a_frame_is_the_model_in_half_precision(tmp_path: Path) -> None:
    config = short_runs.config(tmp_path / "data", {"training.steps": 3, "training.frames": 2})
    run = pellucid.train(config, tmp_path / "run")
    saved, (_, last) = newest_state(run), frames(run)[3]
    loaded = pellucid.load(run / FRAMES / "checkpoints" / "step-3", "cpu").model.state_dict()
    assert saved and last.keys() == loaded.keys()
    for name, tensor in last.items():
        assert tensor.dtype == torch.float16 and torch.equal(tensor, saved.tensors[f"model.{name}"].half())
        assert torch.equal(loaded[name], tensor.float())


def test_a_movie_tells_what_each_model_says(tmp_path: Path) -> None:
    settings = {"training.steps": 4, "training.frames": 3, "translation.beam": 1}
    run = pellucid.train(short_runs.config(tmp_path / "data", settings), tmp_path / "run")
    movie = pellucid.movie(run, "ab cab", target="cab ab")
    assert [frame.step for frame in movie.frames] == [0, 1, 4]
    for frame in movie.frames:
        alone = pellucid.load(run / FRAMES / "checkpoints" / f"step-{frame.step}").explain(
            "ab cab", None, "cab ab"
        )
        losses = [step.loss for step in alone.steps]
        assert [step.loss for step in frame.explanation.steps] == losses
        assert frame.probability == pytest.approx(math.exp(-sum(losses) / len(losses)))


def test_a_run_without_frames_is_told_what_to_set(tmp_path: Path) -> None:
    run = pellucid.train(short_runs.config(tmp_path / "data", {"training.steps": 1}), tmp_path / "run")
    assert not (run / FRAMES).exists()
    with pytest.raises(
        UsageError, match=r"run keeps no models for a movie. Train with \[training\] frames = 9"
    ):
        pellucid.movie(run, "ab")
