"""A step divided among processes is the same update, it repeats, and a lost process loses nothing."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
import short_runs
import torch

import pellucid
from pellucid.config.schema import ModelConfig, TrainingConfig
from pellucid.data.batch import Batch, make_batch
from pellucid.data.corpus import Pair
from pellucid.data.examples import Example
from pellucid.errors import PellucidError
from pellucid.learning.learner import Learner
from pellucid.model import Transformer

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="workers need inherited open files")


def batch(rows: int) -> Batch:
    """Pairs of different lengths."""
    pair = Pair("", "", 0, 1, "some.in")
    ids = [[4 + (row + place) % 8 for place in range(2 + row % 3)] + [3] for row in range(rows)]
    return make_batch([Example(row, [*row[-2::-1], 3], pair) for row in ids], 2, 0)


@pytest.fixture
def threads() -> Iterator[None]:
    """Three threads of torch, and so two workers."""
    torch.set_num_threads(3)
    yield
    torch.set_num_threads(1)


def learner(workers: bool, precision: str = "fp32") -> Learner:
    torch.manual_seed(5)
    shape = ModelConfig(
        vocabulary=12, width=16, heads=2, hidden=32, encoder_layers=1, decoder_layers=1, dropout=0.0
    )
    taught = Learner(Transformer(shape), TrainingConfig(precision=precision, warmup_steps=1))
    if workers:
        taught.start_workers()
    return taught


@pytest.mark.usefixtures("threads")
@pytest.mark.parametrize(("precision", "tolerance"), [("fp32", 1e-5), ("bf16", 2e-2)])
def test_the_update_of_shares_is_that_of_the_whole(precision: str, tolerance: float) -> None:
    alone, divided = learner(False, precision), learner(True, precision)
    try:
        for step, rows in enumerate((5, 2, 1), start=1):  # fewer rows than processes too
            batches = [batch(rows), batch(rows + 1)]
            one, other = alone.learn(batches, step), divided.learn(batches, step)
            assert other.tokens == one.tokens and other.loss == pytest.approx(one.loss, rel=tolerance)
            assert other.gradient_norm == pytest.approx(one.gradient_norm, rel=tolerance)
        assert torch.get_num_threads() == 3
    finally:
        divided.close()
    if precision == "fp32":
        for ours, theirs in zip(alone.model.parameters(), divided.model.parameters(), strict=True):
            torch.testing.assert_close(ours, theirs, atol=1e-4, rtol=0)


@pytest.mark.usefixtures("threads")
def test_shares_hold_each_row_once() -> None:
    whole, divided = batch(7), learner(True)
    try:
        parts = divided.workers.shares(whole)
        assert [len(part.origins) for part in parts] == [3, 2, 2]
        assert sum(part.tokens for part in parts) == whole.tokens
        assert len(divided.workers.shares(batch(2))) == 2
    finally:
        divided.close()


def test_a_resumed_run_with_workers_is_the_same_bit_for_bit(tmp_path: Path) -> None:
    config = short_runs.config(tmp_path / "data", {"training.threads": 2, "training.precision": "fp32"})
    losses = [step.update.loss for step in pellucid.training(config, tmp_path / "whole", device="cpu")]
    for step in pellucid.training(config, tmp_path / "parts", device="cpu"):
        if step.number == 2:
            break
    list(pellucid.training(config, tmp_path / "parts", resume=True, device="cpu"))
    assert len(losses) == 6 and short_runs.same_run(tmp_path / "whole", tmp_path / "parts")


def test_a_recording_is_of_what_the_first_process_learned_from(tmp_path: Path) -> None:
    config = short_runs.config(tmp_path / "data", {"training.threads": 2})
    alone = [step.update for step in pellucid.training(config, tmp_path / "alone", device="cpu")]
    steps = list(pellucid.training(config, tmp_path / "recorded", device="cpu", record=3, only="*.logits"))
    assert [step.update for step in steps] == alone and steps[2].trace is not None


@pytest.mark.usefixtures("threads")
def test_a_killed_worker_ends_the_run_with_a_remedy() -> None:
    taught = learner(True)
    try:
        os.kill(taught.workers.process_ids[0], signal.SIGKILL)
        with pytest.raises(PellucidError, match=r"a worker process .* has ended: .* --resume"):
            for step in (1, 2):
                taught.learn([batch(6)], step)
    finally:
        taught.close()


def test_workers_end_with_a_killed_training(tmp_path: Path) -> None:
    code = (
        "import torch, test_workers as t; torch.set_num_threads(2); taught = t.learner(True); "
        "taught.learn([t.batch(4)], 1); print(taught.workers.process_ids[0], flush=True); input()"
    )
    here = Path(__file__)
    environment = os.environ | {
        "PYTHONPATH": os.pathsep.join(map(str, (here.parents[2], here.parents[1], here.parent)))
    }
    process = subprocess.Popen(
        [sys.executable, "-c", code],
        env=environment,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    worker = int(process.stdout.readline())
    process.kill()
    process.communicate()
    with pytest.raises(ProcessLookupError):
        for _ in range(200):
            os.kill(worker, 0)
            subprocess.run(["sleep", "0.05"], check=True)


@pytest.mark.usefixtures("threads")
def test_a_worker_without_memory_has_the_batch_split(monkeypatch: pytest.MonkeyPatch) -> None:
    taught, whole = learner(True), learner(False)
    try:
        answer, refused = taught.workers._answer, []

        def refuse_once(connection: object) -> object:
            found = answer(connection)  # type: ignore[arg-type]
            if not refused:
                refused.append(found)
                return MemoryError()
            return found

        monkeypatch.setattr(taught.workers, "_answer", refuse_once)
        update, expected = taught.learn([batch(6)], 1), whole.learn([batch(6)], 1)
        assert update.split == 2 and update.gradient_norm == pytest.approx(expected.gradient_norm, rel=1e-5)
    finally:
        taught.close()
