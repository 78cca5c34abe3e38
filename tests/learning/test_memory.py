"""Out of memory (FAULTS 11): a batch that does not fit is split, and elsewhere it is an error in one line."""

import os
import re
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import short_runs
import torch
from command import Command
from learners import Line, batch, learner, learnt, model
from torch import Tensor, nn

import pellucid
from pellucid.config.toml_file import to_toml
from pellucid.data.batch import Batch
from pellucid.errors import is_out_of_memory
from pellucid.folder import checkpoint
from pellucid.learning import workers
from pellucid.learning.learner import Learner
from pellucid.learning.loss import Loss, loss_of
from pellucid.learning.memory import DoesNotFit, halves, model_memory, split_further, split_message
from pellucid.model import Dropout, Transformer

ON_CPU = (
    "[enforce fail at alloc_cpu.cpp:127] . DefaultCPUAllocator: can't allocate memory: you tried to allocate "
    "1556676608 bytes. Error code 12 (Cannot allocate memory)"
)
WITHOUT_DROPOUT = {"model.dropout": 0.0, "model.attention_dropout": 0.0}


@pytest.mark.parametrize(
    ("error", "is_memory"),
    [
        (MemoryError(), True),
        (torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 20.00 GiB."), True),
        (RuntimeError(ON_CPU), True),
        (RuntimeError("CUDA error: CUBLAS_STATUS_ALLOC_FAILED when calling `cublasCreate(handle)`"), True),
        (RuntimeError("mat1 and mat2 shapes cannot be multiplied"), False),
        (ValueError("out of memory"), False),
    ],
)
def test_what_means_out_of_memory(error: BaseException, is_memory: bool) -> None:
    assert is_out_of_memory(error) is is_memory


@pytest.fixture
def room_for(monkeypatch: pytest.MonkeyPatch) -> Callable[[int], None]:
    """Lets memory end after the backward pass of a batch of more rows than this, when all its gradients are
    added up already."""

    class Full:
        def __float__(self) -> float:
            raise RuntimeError(ON_CPU)

    def limit(rows: int) -> None:
        def limited(model: Transformer, part: Batch, *how: float) -> Loss:
            loss = loss_of(model, part, *how)
            return replace(loss, plain=Full()) if len(part.origins) > rows else loss  # type: ignore[arg-type]

        monkeypatch.setattr(workers, "loss_of", limited)

    return limit


def moments(taught: Learner) -> list[Tensor]:
    """The first moments of AdamW, which after one step are the gradient (times 1 - beta)."""
    return [taught.optimizer.state[parameter]["exp_avg"] for parameter in learnt(taught.model).values()]


@pytest.mark.parametrize(("rows", "parts"), [(3, 3), (1, 6)])
def test_a_split_step_is_the_whole_one(room_for: Callable[[int], None], rows: int, parts: int) -> None:
    batches = [batch(2, 3, 4, 5), batch(6, 7)]
    whole, split = learner(), learner()
    one = whole.learn(batches, 1)
    room_for(rows)
    other = split.learn(batches, 1)
    assert (one.split, other.split) == (0, parts) and one.tokens == other.tokens
    assert other.loss == pytest.approx(one.loss, rel=1e-6)
    assert other.gradient_norm == pytest.approx(one.gradient_norm, rel=1e-6)
    for mine, theirs in zip(moments(split), moments(whole), strict=True):
        torch.testing.assert_close(mine, theirs, rtol=1e-4, atol=1e-7)


def test_what_was_tried_before_leaves_no_trace_not_even_in_dropout(room_for: Callable[[int], None]) -> None:
    ends: list[tuple[list[Tensor], Tensor]] = []
    whole = batch(4, 4, 4, 4)
    for batches in ([whole], halves(whole)):
        taught = learner()
        for part in taught.model.modules():
            if isinstance(part, Dropout):
                part.rate = 0.5
        torch.manual_seed(3)
        room_for(2)
        taught.learn(batches, 1)
        ends.append((moments(taught), torch.get_rng_state()))
    assert torch.equal(ends[0][1], ends[1][1])
    assert all(torch.equal(mine, theirs) for mine, theirs in zip(ends[0][0], ends[1][0], strict=True))


def test_the_workers_forget_half_a_gradient_too(room_for: Callable[[int], None]) -> None:
    taught, line = learner(), Line()
    taught.workers._connections = [line]  # type: ignore[list-item]
    room_for(2)
    taught.learn([batch(4, 4, 4, 4, 4, 4)], 1)  # three rows for each process, and then two and one
    assert [task for task, *_ in line.sent] == ["add", "collect", "add", "add", "collect"]


def test_the_advice_is_of_one_batch_and_of_the_longer_side() -> None:
    for longest, advised in ((3, 50), (60, 60)):
        advice = split_message(5, [batch(3, 3), batch(3)], 4, 100, longest)  # of 100 tokens each
        resume = f" resume with [training] batch_tokens = {advised}, and accept training.batch_tokens."
        assert advice.endswith(resume)
    long = replace(batch(3), target_mask=torch.ones(1, 40, dtype=torch.bool))
    with pytest.raises(DoesNotFit, match=r"max_length = 30, "):
        split_further([long], long, model(), "fp32")


def test_a_run_goes_on_tells_it_once_and_counts_it(tmp_path: Path, room_for: Callable[[int], None]) -> None:
    config, said = short_runs.config(tmp_path / "data", WITHOUT_DROPOUT), list[str]()
    whole = list(pellucid.training(config, tmp_path / "whole"))
    room_for(4)
    steps = list(pellucid.training(config, tmp_path / "split", report=said.append))
    counts = [step.update.split for step in steps]
    assert sum(count > 0 for count in counts) > 1 and [step.update.split for step in whole] == [0] * 6
    assert [entry["split"] for entry in short_runs.metrics(tmp_path / "split")] == counts
    for one, other in zip(whole, steps, strict=True):
        assert other.update.loss == pytest.approx(one.update.loss, rel=1e-4)
    (line,) = [line for line in said if "memory" in line]
    assert re.match(
        r"step \d did not fit into memory: its batch of \d+ × \d tokens was split, and "
        r"the step was computed in \d parts\. .* resume with \[training\] batch_tokens = \d+, and accept ",
        line,
    )


def test_a_pair_that_does_not_fit_ends_the_run_which_then_goes_on_without_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings = WITHOUT_DROPOUT | {"training.batch_tokens": 20, "model.width": 4}
    config = short_runs.config(tmp_path / "data", settings)

    def limited(model: Transformer, part: Batch, *how: float) -> Loss:
        if part.source.shape[1] == 5:  # four words and the end token
            raise MemoryError
        return loss_of(model, part, *how)

    monkeypatch.setattr(workers, "loss_of", limited)
    with pytest.raises(DoesNotFit) as error:
        pellucid.train(config, tmp_path / "run")
    assert re.sub(r":\d+ alone", ":1 alone", str(error.value)).endswith(
        "source:1 alone does not fit, with 5 source and 5 target tokens. Free some memory, train a smaller "
        "model, or leave out such long pairs: resume with [data] max_length = 3, resume = True and accept = "
        "('data.max_length',) (a prepared text must be prepared anew with it)."
    )
    saved = checkpoint.newest_state(tmp_path / "run")
    assert saved and saved.step == len(short_runs.metrics(tmp_path / "run")) > 0
    shorter = short_runs.config(tmp_path / "data", settings | {"data.max_length": 3})
    rest = pellucid.training(shorter, tmp_path / "run", resume=True, accept=("data.max_length",))
    assert [step.number for step in rest] == list(range(saved.step + 1, 7))


def test_where_the_model_does_not_fit_no_pair_is_blamed(room_for: Callable[[int], None]) -> None:
    taught = learner()
    room_for(0)
    with pytest.raises(DoesNotFit) as error:
        taught.learn([batch(3, 3)], 1)
    assert str(error.value) == (
        "out of memory: the model takes 0 MB with gradients and AdamW's moments, and not even a pair of 4 "
        "source and 4 target tokens fits beside it. Free some memory, or train a smaller model: lower "
        "[model] width, hidden or layers, or [vocabulary] size."
    )
    large = nn.Linear(10**4, 10**4, bias=False, device="meta")
    assert model_memory(large, "fp32") == "1,600 MB with gradients and AdamW's moments"
    assert model_memory(large, "bf16").startswith("1,600 MB ")


def out_of_memory(*_: Any, **__: Any) -> Any:
    raise RuntimeError(ON_CPU)


def test_any_command_says_it_in_one_line(monkeypatch: pytest.MonkeyPatch, pellucid: Command) -> None:
    monkeypatch.setattr("pellucid.translator.load", out_of_memory)
    outcome = pellucid("translate", "demo")
    message = "pellucid: out of memory. Give the command less at once, or free some memory.\n"
    assert outcome == (1, "", message)


LIMITED = """
import resource, sys
import sacrebleu, torch, torch._dynamo
from pellucid.cli import main

used = int(next(line for line in open("/proc/self/status") if line.startswith("VmSize")).split()[1]) * 1024
resource.setrlimit(resource.RLIMIT_AS, (used + 900 * 2**20, used + 900 * 2**20))
sys.exit(main(["train", *sys.argv[1:]]))
"""


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
@pytest.mark.slow
def test_under_a_real_limit_of_memory(tmp_path: Path) -> None:
    """900 MB are left of the 2 GB or so that the whole batch of 4,000 tokens takes."""
    settings = WITHOUT_DROPOUT | {"model.hidden": 65_536, "training.steps": 1, "training.batch_tokens": 4000}
    path, run = tmp_path / "toy.toml", tmp_path / "run"
    path.write_text(to_toml(short_runs.config(tmp_path / "data", settings, count=800)), "utf-8")
    command = [sys.executable, "-c", LIMITED, str(path), "--out", str(run)]
    environment = os.environ | {"PYTHONPATH": str(Path(__file__).parents[2])}
    outcome = subprocess.run(command, env=environment, capture_output=True, text=True)
    assert outcome.returncode == 0, outcome.stderr
    assert outcome.stderr.count("step 1 did not fit into memory: its batch of 800 × 5 tokens") == 1
    assert short_runs.metrics(run)[0]["split"] > 1
