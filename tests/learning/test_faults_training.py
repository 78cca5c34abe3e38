"""What goes wrong in training: numbers, disks, folders, data and settings, each with its message."""

import contextlib
import dataclasses
import math
import os
import shutil
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import short_runs
from full_disk import disk_full_after

import pellucid
from pellucid.data.batch import Batch
from pellucid.errors import PellucidError
from pellucid.folder.checkpoint import newest_state
from pellucid.learning import workers
from pellucid.learning.learner import Learner
from pellucid.learning.loss import Loss, loss_of
from pellucid.model import Transformer


def failing(config: pellucid.Config | str | Path, out: Path, **options: Any) -> PellucidError:
    """How the training ends, which is not well."""
    with pytest.raises(PellucidError) as error:
        pellucid.train(config, out, **options)
    return error.value


# Numbers that are not finite


@pytest.fixture
def poisoned(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., list[Batch]]]:
    """Makes the loss of some steps not a number, and gives the batches that were learnt."""
    original = Learner.learn

    def poison(*steps: int) -> list[Batch]:
        batches: list[Batch] = []

        def learn(self: Learner, taken: list[Batch], step: int, done: float) -> Any:
            batches.extend(taken)

            def poisoned_loss(model: Transformer, batch: Batch, *how: float) -> Loss:
                loss = loss_of(model, batch, *how)
                return replace(loss, smoothed=loss.smoothed + math.nan) if step in steps else loss

            monkeypatch.setattr(workers, "loss_of", poisoned_loss)
            return original(self, taken, step, done)

        monkeypatch.setattr(Learner, "learn", learn)
        return batches

    yield poison


def test_some_steps_that_are_not_finite_are_left_out(
    tmp_path: Path, poisoned: Callable[..., list[Batch]]
) -> None:
    config = short_runs.config(tmp_path / "data", {"training.max_skipped": 2})
    poisoned(2, 3, 5)
    skipped = [step.update.skipped for step in pellucid.training(config, tmp_path / "run")]
    assert skipped == [False, True, True, False, True, False]
    metrics = short_runs.metrics(tmp_path / "run")
    assert [entry["loss"] == "nan" for entry in metrics] == skipped
    saved = newest_state(tmp_path / "run")
    assert saved and float(saved.tensors["optimizer.step.encoder.layers.0.feed_forward.inner.weight"]) == 3


def test_too_many_in_a_row_stop_it_with_the_lines(
    tmp_path: Path, poisoned: Callable[..., list[Batch]]
) -> None:
    settings = {"training.max_skipped": 2, "training.checkpoint_every": 1, "training.validate_every": 100}
    config = short_runs.config(tmp_path / "data", settings)
    batches = poisoned(*range(3, 100))
    error = failing(config, tmp_path / "run")
    lines = ", ".join(batches[-1].origins[:3])
    assert len(batches) == 5 and lines.startswith(f"{tmp_path / 'data' / 'train.source'}:")
    assert error.exit_code == 1
    assert f"finite in 3 steps in a row, the last of them step 5 with the lines {lines}, ... " in str(error)
    saved = newest_state(tmp_path / "run")
    assert saved and saved.step == 4 and all(tensor.isfinite().all() for tensor in saved.tensors.values())


# Folders and disks


def test_a_folder_that_cannot_be_is_an_error_before_the_first_step(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    for below in (".", "some/run"):
        out = tmp_path / "file" / below
        assert str(failing(short_runs.config(tmp_path / "data"), out)).startswith(
            f"{out}: cannot be written: "
        )
    assert (tmp_path / "file").read_text() == "in the way"


@pytest.mark.parametrize("step", [1, 3])
def test_a_folder_that_vanishes_is_an_error(tmp_path: Path, step: int) -> None:
    config = short_runs.config(tmp_path / "data", {"training.checkpoint_every": 2})
    with pytest.raises(PellucidError, match="cannot be written"):
        for done in pellucid.training(config, tmp_path / "run"):
            if done.number == step:
                shutil.rmtree(tmp_path / "run")


@pytest.mark.skipif(os.name == "nt", reason="needs limits of Unix")
@pytest.mark.parametrize(("after", "file"), [(2, "averaging/"), (3, "metrics.jsonl: ")])
def test_a_full_disk_keeps_the_old_checkpoint(tmp_path: Path, after: int, file: str) -> None:
    config = short_runs.config(tmp_path / "data", {"training.checkpoint_every": 2})
    run = tmp_path / "run"
    pellucid.train(config, tmp_path / "whole")
    with contextlib.ExitStack() as stack, pytest.raises(PellucidError) as error:
        for step in pellucid.training(config, run):
            if step.number == after:
                stack.enter_context(disk_full_after(100))
    assert str(error.value).startswith(f"{run}/{file}") and "cannot be written: " in str(error.value)
    assert "File too large" in str(error.value) and "What was saved before is intact." in str(error.value)
    saved = newest_state(run)
    assert saved and saved.step == 2
    pellucid.train(config, run, resume=True)
    assert short_runs.same_run(tmp_path / "whole", run)


def test_a_second_trainer_is_refused(tmp_path: Path) -> None:
    config = short_runs.config(tmp_path / "data")
    first = pellucid.training(config, tmp_path / "run")
    next(first)
    before = (tmp_path / "run" / "metrics.jsonl").read_text()
    for resume in (False, True):
        refusal = f"{tmp_path / 'run'}: another training run is using this folder. "
        assert str(failing(config, tmp_path / "run", resume=resume)).startswith(refusal)
    assert (tmp_path / "run" / "metrics.jsonl").read_text() == before
    assert len(list(first)) == 5
    pellucid.train(config, tmp_path / "run", resume=True)  # now it may


def test_a_pair_that_no_batch_can_hold(tmp_path: Path) -> None:
    config = short_runs.config(tmp_path / "data", {"training.batch_tokens": 4, "training.steps": 1})
    config = dataclasses.replace(config, data=dataclasses.replace(config.data, validation=()))
    assert "batch_tokens = 4 is less than the longest pair's 5" in str(failing(config, tmp_path / "run"))
    more = dataclasses.replace(config, training=dataclasses.replace(config.training, batch_tokens=5))
    pellucid.train(more, tmp_path / "run")  # without --resume: nothing was left behind


def test_sampling_never_makes_a_pair_that_no_batch_can_hold(tmp_path: Path) -> None:
    # Nearly every segmentation is as likely as any other, so most are longer than the usual one.
    settings = short_runs.SAMPLED | {"vocabulary.sampling": 0.01, "training.validate_every": 1000}
    config = short_runs.config(tmp_path / "data", settings | {"training.steps": 1})
    pellucid.train(config, tmp_path / "first")
    vocabulary = pellucid.load(tmp_path / "first").vocabulary
    longest = max(len(vocabulary.encode_source(source)) for source, _ in short_runs.pairs(68))
    training = dataclasses.replace(config.training, batch_tokens=longest, steps=70)  # more than an epoch
    config = dataclasses.replace(config, training=training)
    assert len(list(pellucid.training(config, tmp_path / "run"))) == 70
