"""Recording during training: every tensor of the pass that learned, at some steps.

What is watched computes its equations openly, and so rounds otherwise than the fused kernels. So a recording
is a second forward pass, with the same weights and the same dropout, that nothing learns from: the training
goes on bit for bit as without it.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass

import torch

from pellucid.data.batch import Batch
from pellucid.errors import UsageError
from pellucid.see import Labeller, Trace, trace
from pellucid.trace_bytes import tensor_bytes
from pellucid.train.learner import Learner


@dataclass(frozen=True)
class Recording:
    """What is to be recorded: at which steps, and which tensors by a glob of their names."""

    steps: frozenset[int]
    only: str


@dataclass(frozen=True)
class Recorder:
    """Recordings of a learner's passes."""

    wanted: Recording
    learner: Learner
    vocabulary: Labeller
    report: Callable[[str], None]

    def record(self, step: int, batch: Batch) -> Trace | None:
        """The trace of the pass from which this step is about to learn, if the step is a wanted one."""
        if step not in self.wanted.steps:
            return None
        sizes = self.sizes(batch)
        self.report(f"recording step {step:,}: {sum(sizes.values()) / 1e6:,.1f} MB in {len(sizes)} tensors")
        return watched_pass(self.learner, batch, self.wanted.only, self.vocabulary)

    def sizes(self, batch: Batch) -> dict[str, int]:
        """The bytes of each tensor that a recording of this batch holds, by its name."""
        (sentences, source), target = batch.source.shape, batch.target_in.shape[1]
        return tensor_bytes(self.learner.working, source, target, sentences, self.wanted.only)


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
    recorder = Recorder(wanted, learner, vocabulary, report)
    if wanted.steps:
        recorder.sizes(first)
    return recorder


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
