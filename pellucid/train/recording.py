"""Recording during training: every tensor of the pass that learned, at some steps.

What is watched computes its equations openly, and so rounds otherwise than the fused kernels. So a recording
is a second forward pass, with the same weights and the same dropout, that nothing learns from: the training
goes on bit for bit as without it.
"""

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace

import torch

from pellucid.data.batch import Batch
from pellucid.errors import UsageError
from pellucid.see import Labeller, Record, Trace, trace
from pellucid.train.learner import Learner


@dataclass(frozen=True)
class Recording:
    """What is to be recorded: at which steps, and which tensors by a glob of their names."""

    steps: frozenset[int]
    only: str


@dataclass(frozen=True)
class Recorder:
    """Recordings of a learner; `example` is one of a single pair, which knows the names and axes."""

    wanted: Recording
    learner: Learner
    vocabulary: Labeller
    report: Callable[[str], None]
    example: Trace | None

    def record(self, step: int, batch: Batch) -> Trace | None:
        """The trace of the pass from which this step is about to learn, if the step is a wanted one."""
        if step not in self.wanted.steps or self.example is None:
            return None
        size = recorded_bytes(self.example, batch)
        self.report(f"recording step {step:,}: {size / 1e6:,.1f} MB in {len(self.example)} tensors")
        return watched_pass(self.learner, batch, self.wanted.only, self.vocabulary)


def recording(steps: Iterable[int], only: str, last_step: int) -> Recording:
    """What a call asks for, checked: steps from 1 to the last one of the configuration."""
    if isinstance(steps, int):
        steps = (steps,)
    chosen = list(steps)
    for step in chosen:
        if not isinstance(step, int) or isinstance(step, bool) or not 1 <= step <= last_step:
            raise UsageError(
                f"record = {step!r}: there is no such step. Steps are whole numbers from 1 to [training] "
                f"steps = {last_step}."
            )
    if only != "*" and not chosen:
        raise UsageError(
            f'only = "{only}" says what is recorded, but no step is. Name the steps too, as in '
            "record=(1, 100)."
        )
    return Recording(frozenset(chosen), only)


def start_recording(
    wanted: Recording, learner: Learner, vocabulary: Labeller, first: Batch, report: Callable[[str], None]
) -> Recorder:
    """Ready to record; a name that no tensor has is an error now, not at the first step that is recorded."""
    example = None
    if wanted.steps:
        names = ("source", "source_mask", "target_in", "target_out", "target_mask")
        pair = replace(first, **{name: getattr(first, name)[:1] for name in names})
        example = watched_pass(learner, pair, wanted.only, vocabulary)
    return Recorder(wanted, learner, vocabulary, report, example)


def watched_pass(learner: Learner, batch: Batch, only: str, vocabulary: Labeller) -> Trace:
    """The pass that learns from this batch, watched: in training mode, with the dropout that comes next; the
    random numbers are left as they were."""
    model, batch = learner.working.train(), batch.to(learner.device)
    devices = [learner.device] if learner.device.type == "cuda" else []
    with (
        torch.random.fork_rng(devices),
        torch.no_grad(),
        trace(model, only=only, vocabulary=vocabulary) as seen,
    ):
        model(batch.source, batch.source_mask, batch.target_in)
    return seen


def recorded_bytes(example: Trace, batch: Batch) -> int:
    """What the tensors of this trace take when this batch is recorded."""
    return sum(_bytes(record, batch) for record in example.values())


def _bytes(record: Record, batch: Batch) -> int:
    sides = {"encoder": batch.source, "decoder": batch.target_in}
    asks = sides[record.name.partition(".")[0]]
    attended = batch.source if ".cross_attention." in record.name else asks
    sizes = {"B": len(asks), "L": asks.shape[1], "M": attended.shape[1]}
    shape = zip(record.axes, record.tensor.shape, strict=True)
    return math.prod(sizes.get(axis, size) for axis, size in shape) * record.tensor.element_size()
