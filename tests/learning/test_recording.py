"""Recording during training: the pass that learned, watched, and a training that does not notice."""

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import short_runs
import torch
from command import Command

import pellucid
from pellucid.config.toml_file import to_toml
from pellucid.data.batch import Batch
from pellucid.errors import UsageError
from pellucid.folder import checkpoint
from pellucid.learning import watched_step
from pellucid.learning.learner import Learner
from pellucid.learning.loss import cross_entropy
from pellucid.learning.run import Step

RECORDED = (1, 4, 6)


def trained(folder: Path, out: str, settings: dict[str, Any] | None = None, **options: Any) -> list[Step]:
    return list(pellucid.training(short_runs.config(folder / "data", settings), folder / out, **options))


@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"training.precision": "bf16"},
        {"training.accumulate": 2},
        {"model.attention_dropout": 0.0, "model.norm": "first"},  # then learning takes the fused kernel
    ],
    ids=["fp32", "bf16", "accumulate", "fused"],
)
def test_a_recorded_run_ends_in_the_same_bits(tmp_path: Path, settings: dict[str, Any]) -> None:
    plain = trained(tmp_path, "plain", settings)
    recorded = trained(tmp_path, "recorded", settings, record=RECORDED)
    assert short_runs.same_run(tmp_path / "plain", tmp_path / "recorded")
    states = [checkpoint.newest_state(tmp_path / name) for name in ("plain", "recorded")]
    assert states[0] is not None and states[1] is not None
    assert all(torch.equal(states[0].tensors[name], states[1].tensors[name]) for name in states[0].tensors)
    assert [step.number for step in recorded if step.trace is not None] == list(RECORDED)
    assert all(step.trace is None for step in plain)


@pytest.mark.parametrize("settings", [{}, {"model.attention_dropout": 0.0}], ids=["explicit", "fused"])
def test_what_is_recorded_is_the_pass_that_learned(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, settings: dict[str, Any]
) -> None:
    """The loss of the recorded logits is the step's loss: the same batch, weights and dropout."""
    learn, batches = Learner.learn, []

    def noted(self: Learner, taken: list[Batch], step: int, done: float) -> Any:
        batches.append(taken[0])
        return learn(self, taken, step, done)

    monkeypatch.setattr(Learner, "learn", noted)
    for step, batch in zip(
        trained(tmp_path, "run", settings, record=range(1, 7), only="decoder.[lo]*"), batches, strict=True
    ):
        assert step.trace is not None
        logits = step.trace["decoder.logits"].tensor
        eye = torch.eye(logits.shape[-1])
        loss = cross_entropy(logits, eye, None, batch.target_out, batch.target_mask, 0.0)
        assert float(loss.plain) / loss.tokens == pytest.approx(step.update.plain_loss, rel=1e-5)
        assert not logits.requires_grad


# Wrong calls


@pytest.mark.parametrize(
    ("record", "only", "message"),
    [
        (
            (0,),
            "*",
            r"record = 0: there is no such step. Steps are whole .* from 1 to .* 6",
        ),
        ((3, 7), "*", r"record = 7: there is no such step"),
        ((2.5,), "*", r"record = 2.5: there is no such step"),
        ((), "*.weights", r'only = "\*.weights" says what is recorded, but no step is'),
        ((6,), "decoder.logit", r'only: no tensor is called "decoder.logit"\. Nearest: decoder.logits'),
    ],
)
def test_errors_come_before_the_first_step(tmp_path: Path, record: Any, only: str, message: str) -> None:
    config = short_runs.config(tmp_path / "data")
    with pytest.raises(UsageError, match=message):
        next(pellucid.training(config, tmp_path / "run", record=record, only=only))
    assert not (tmp_path / "run").exists()


SIZES = r"has (\S+) MB in (\d+) tensors \(the largest, (\S+), (\S+) MB\), more than 0 MB\. Record fewer with "


def test_steps_too_large_to_record_are_refused_before_the_first(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = trained(tmp_path, "all", record=(1,))[0].trace
    assert first is not None
    whole = sum(record.tensor.nbytes for record in first.values())
    monkeypatch.setattr(watched_step, "RECORDED_AT_MOST", whole - 1)
    with pytest.raises(UsageError, match=f"^record: the first batch {SIZES}only, as only="):
        trained(tmp_path, "run", record=(6,))
    assert not (tmp_path / "run" / "checkpoints").exists()
    steps = trained(tmp_path, "run", record=(6,), only="*.weights")  # which is small enough
    assert steps[-1].trace is not None


def test_a_step_that_is_larger_than_the_first_is_left_out_and_the_run_goes_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    sizes = {
        step.number: sum(record.tensor.nbytes for record in step.trace.values())
        for step in trained(tmp_path, "all", record=range(1, 7))
        if step.trace is not None
    }
    said = list[str]()
    monkeypatch.setattr(watched_step, "RECORDED_AT_MOST", sizes[1])
    steps = trained(tmp_path, "run", record=range(1, 7), report=said.append)
    left_out = [step for step, size in sizes.items() if size > sizes[1]]
    assert [step.number for step in steps if step.trace is None] == left_out != []
    lines = [line for line in said if "is not recorded" in line]
    for step, line in zip(left_out, lines, strict=True):
        assert re.match(rf"step {step} is not recorded: its batch {SIZES}", line)
    assert short_runs.same_run(tmp_path / "all", tmp_path / "run")


# The command


def test_the_command_writes_files_for_numpy(tmp_path: Path, pellucid: Command) -> None:
    path = tmp_path / "config.toml"
    path.write_text(to_toml(short_runs.config(tmp_path / "data")), "utf-8")
    outcome = pellucid(
        "train", path, "--out", tmp_path / "run", "--record", "1,6", "--record-only", "*.weights"
    )
    assert outcome.code == 0 and "recording step 6: 0.0 MB in 3 tensors" in outcome.err
    assert sorted(file.name for file in (tmp_path / "run" / "traces").iterdir()) == [
        "step-1.npz",
        "step-6.npz",
    ]
    with np.load(tmp_path / "run" / "traces" / "step-6.npz") as arrays:
        weights = arrays["decoder.layers.0.cross_attention.weights"]
        source, target = arrays["source_tokens"], arrays["target_tokens"]
        assert len(arrays.files) == 3 + 2
    assert weights.dtype == np.float32
    assert weights.shape == (len(target), 2, target.shape[1], source.shape[1])
    assert set(target[:, 0]) == {"<s>"} and "</s>" in source
