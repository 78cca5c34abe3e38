"""A step divided among processes is the same update, it repeats, and a lost process loses nothing."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import short_runs
import torch
from learners import Line, batch, learner

import pellucid
from pellucid.errors import PellucidError
from pellucid.learning.learner import Learner

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="workers need inherited open files")
LENGTHS = (2, 3, 4, 2, 3, 4, 2)


@pytest.fixture
def divided() -> Iterator[Callable[..., Learner]]:
    """Makes learners with two workers, by three threads of torch, and ends their workers."""
    made = list[Learner]()

    def make(**settings: Any) -> Learner:
        torch.set_num_threads(3)
        made.append(learner(**settings))
        made[-1].start_workers()
        return made[-1]

    yield make
    for each in made:
        each.close()
    torch.set_num_threads(1)


@pytest.mark.parametrize(("precision", "tolerance"), [("fp32", 1e-5), ("bf16", 2e-2)])
def test_the_update_of_shares_is_that_of_the_whole(
    precision: str, tolerance: float, divided: Callable[..., Learner]
) -> None:
    alone, shared = learner(precision=precision), divided(precision=precision)
    for step, rows in enumerate((5, 2, 1), start=1):  # fewer rows than processes too
        batches = [batch(*LENGTHS[:rows]), batch(*LENGTHS[: rows + 1])]
        one, other = alone.learn(batches, step), shared.learn(batches, step)
        assert other.tokens == one.tokens and other.loss == pytest.approx(one.loss, rel=tolerance)
        assert other.gradient_norm == pytest.approx(one.gradient_norm, rel=tolerance)
    assert torch.get_num_threads() == 3
    if precision == "fp32":
        for ours, theirs in zip(alone.model.parameters(), shared.model.parameters(), strict=True):
            torch.testing.assert_close(ours, theirs, atol=1e-3, rtol=0)


def test_workers_compute_no_gradient_of_what_is_frozen(divided: Callable[..., Learner]) -> None:
    learning = divided(frozen=("encoder.*",))
    before = learning.model.encoder.layers[0].feed_forward.inner.weight.clone()
    learning.learn([batch(*LENGTHS)], 1)
    names = [name for name, _ in learning.model.named_parameters()]
    for gradients in learning.workers._gradients:  # type: ignore[union-attr]
        there = {name for name, each in zip(names, gradients, strict=True) if each.any()}
        assert there and not any(name.startswith("encoder.") for name in there)
    assert torch.equal(learning.model.encoder.layers[0].feed_forward.inner.weight, before)


def test_each_worker_has_its_own_dropout_in_each_step_the_same_in_a_resume() -> None:
    workers, lines, seeds = learner().workers, [Line(), Line()], []
    workers._connections = lines  # type: ignore[assignment]
    for step in (1, 2, 1):
        workers.begin(step)
        workers.add(batch(*LENGTHS), 20, True)
        seeds.append([line.sent[-1][3] for line in lines])
    assert seeds[0] == seeds[2] and len({*seeds[0], *seeds[1]}) == 4


def test_a_resumed_run_with_workers_is_the_same_bit_for_bit(tmp_path: Path) -> None:
    settings = {"training.threads": 2, "training.precision": "fp32", "training.checkpoint_every": 2}
    config = short_runs.config(tmp_path / "data", settings)
    losses = [step.update.loss for step in pellucid.training(config, tmp_path / "whole", device="cpu")]
    for step in pellucid.training(config, tmp_path / "parts", device="cpu"):
        if step.number == 2:
            break
    list(pellucid.training(config, tmp_path / "parts", resume=True, device="cpu"))
    assert len(losses) == 6 and short_runs.same_run(tmp_path / "whole", tmp_path / "parts")


def test_a_killed_worker_ends_the_run_with_a_remedy(divided: Callable[..., Learner]) -> None:
    taught = divided()
    process = taught.workers._processes[0]
    assert taught.workers.threads == 1  # of three, for three processes
    assert os.getsid(process.pid) != os.getsid(0)  # Ctrl-C in a terminal reaches the training alone
    os.kill(process.pid, signal.SIGKILL)
    with pytest.raises(PellucidError) as error:
        for step in (1, 2):
            taught.learn([batch(*LENGTHS)], step)
    assert str(error.value) == (
        "a worker process of the training has ended: something stopped it, perhaps because memory was full. "
        "Resume from the last checkpoint with resume = True; with [training] threads = 1 and "
        "accept = ('training.threads',) no worker process is needed."
    )
    taught.close()
    assert process.returncode == -signal.SIGKILL


def test_a_signal_to_all_processes_ends_no_worker(divided: Callable[..., Learner]) -> None:
    taught = divided()
    taught.learn([batch(*LENGTHS)], 1)  # they have begun
    for process in taught.workers._processes:
        process.terminate()  # as a system does that ends a service
    assert taught.learn([batch(*LENGTHS)], 2).loss > 0
    taught.close()
    assert all(process.returncode == 0 for process in taught.workers._processes)


def test_workers_end_with_a_killed_training(tmp_path: Path) -> None:
    code = (
        "import torch, learners; torch.set_num_threads(2); "
        "taught = learners.learner(); taught.start_workers(); "
        "print(taught.workers._processes[0].pid, flush=True); input()"
    )
    paths = os.pathsep.join(map(str, (Path(__file__).parents[2], Path(__file__).parents[1])))
    command, pipe = [sys.executable, "-c", code], subprocess.PIPE
    environment = os.environ | {"PYTHONPATH": paths}
    process = subprocess.Popen(command, env=environment, stdin=pipe, stdout=pipe, text=True)
    assert process.stdout is not None
    worker = int(process.stdout.readline())
    process.kill()
    process.communicate()
    with pytest.raises(ProcessLookupError):
        for _ in range(200):
            os.kill(worker, 0)
            time.sleep(0.05)


def test_a_worker_without_memory_has_the_batch_split(
    monkeypatch: pytest.MonkeyPatch, divided: Callable[..., Learner]
) -> None:
    taught, whole, refused = divided(), learner(), list[Any]()
    answer = taught.workers._answer

    def refuse_once(connection: Any) -> Any:
        found = answer(connection)
        refused.append(found)
        return None if len(refused) == 1 else found

    monkeypatch.setattr(taught.workers, "_answer", refuse_once)
    lesson = batch(*LENGTHS[:6])
    update, expected = taught.learn([lesson], 1), whole.learn([lesson], 1)
    assert update.split == 2 and update.gradient_norm == pytest.approx(expected.gradient_norm, rel=1e-5)
