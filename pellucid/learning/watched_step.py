"""Watch the pass of some steps of a training: every tensor of the pass that the model learned from.

A watched model computes its equations openly, and so rounds differently from the fused kernels. A recording
is therefore a second forward pass with the same weights and the same dropout. Nothing learns from this pass:
the training goes on bit for bit as without it.
"""

import math
from collections.abc import Iterable
from dataclasses import dataclass

import torch

from pellucid.config.schema import Config
from pellucid.data.batch import Batch
from pellucid.errors import UsageError
from pellucid.learning.setting_up import Run
from pellucid.model import Transformer
from pellucid.seeing.sizes import tensor_bytes
from pellucid.seeing.trace import RECORDED_AT_MOST, Trace, trace


@dataclass(frozen=True)
class Recorder:
    """Records the steps that were asked for, and of each the tensors whose names match `only`."""

    steps: frozenset[int]
    only: str

    def refuse_large(self, run: Run, first: Batch) -> None:
        """Raise before the first step if its batch is too large to record."""
        if self.steps and (too_large := self._too_large(self._sizes(run, first))):
            raise UsageError(f"record: the first batch {too_large}")

    def record(self, run: Run, step: int, batch: Batch) -> Trace | None:
        """Return the trace of the pass that this step will learn from; None if the step was not asked for, or
        if its batch is larger than a recording may be: a recording must not end a run."""
        if step not in self.steps:
            return None
        sizes = self._sizes(run, batch)
        if too_large := self._too_large(sizes):
            run.report(f"step {step:,} is not recorded: its batch {too_large}")
            return None
        run.report(f"recording step {step:,}: {sum(sizes.values()) / 1e6:,.1f} MB in {len(sizes)} tensors")
        return self._watch(run, batch)

    def _sizes(self, run: Run, batch: Batch) -> dict[str, int]:
        (sentences, source), target = batch.source.shape, batch.target_in.shape[1]
        return tensor_bytes(run.learner.working, source, target, sentences, self.only)

    def _too_large(self, sizes: dict[str, int]) -> str:
        """Say why a recording of these tensors is too large, or ""."""
        largest, total = max(sizes, key=sizes.__getitem__), sum(sizes.values())
        if total <= RECORDED_AT_MOST:
            return ""
        return (
            f"has {total / 1e6:,.0f} MB in {len(sizes)} tensors (the largest, {largest}, "
            f"{sizes[largest] / 1e6:,.0f} MB), more than {RECORDED_AT_MOST / 1e6:,.0f} MB. "
            'Record fewer with only, as only="*.weights" (--record-only), or lower [training] batch_tokens.'
        )

    def _watch(self, run: Run, batch: Batch) -> Trace:
        """Run the pass in training mode, with the dropout that comes next; keep the random numbers' state."""
        device = run.learner.device
        # With workers, this process learns from its share of the batch.
        model, batch = run.learner.working.train(), run.learner.workers.shares(batch)[0].to(device)
        with (
            torch.random.fork_rng([device] if device.type == "cuda" else []),
            torch.no_grad(),
            trace(model, only=self.only, vocabulary=run.vocabulary, most_bytes=math.inf) as seen,
        ):
            model(batch.source, batch.source_mask, batch.target_in)
        return seen


def check_recording(steps: Iterable[int], only: str, config: Config) -> Recorder:
    """Check the steps and the names that a call asks to record against the configuration."""
    chosen, last = [steps] if isinstance(steps, int) else list(steps), config.training.steps
    for step in chosen:
        if step not in range(1, last + 1):
            steps_are = f"Steps are whole numbers from 1 to [training] steps = {last}"
            raise UsageError(f"record = {step!r}: there is no such step. {steps_are}.")
    if only != "*" and not chosen:
        named = "Name the steps too, as in record=(1, 100)"
        raise UsageError(f'only = "{only}" says what is recorded, but no step is. {named}.')
    if chosen:
        with torch.device("meta"):  # names and shapes only
            tensor_bytes(Transformer(config.model), 2, 2, only=only)
    return Recorder(frozenset(chosen), only)
