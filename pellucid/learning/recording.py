"""Recording during training: every tensor of the pass that the model learned from, at some steps.

A watched model computes its equations openly, and so rounds differently from the fused kernels. A recording
is therefore a second forward pass with the same weights and the same dropout. Nothing learns from this pass:
the training goes on bit for bit as without it.
"""

import math
from collections.abc import Iterable, Mapping
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

    def refuse_large(self, run: Run) -> None:
        """Raise before the first step if a full batch of average pairs is too large to record."""
        if not self.steps:
            return
        count, budget = len(run.examples), run.config.training.batch_tokens
        source = math.ceil(sum(len(example.source) for example in run.examples) / count)
        target = math.ceil(sum(len(example.target) for example in run.examples) / count)
        sentences = min(count, max(1, budget // max(source, target)))
        sizes = tensor_bytes(run.learner.working, source, target, sentences, self.only)
        if sum(sizes.values()) > RECORDED_AT_MOST:
            raise UsageError(f"record: a step of [training] batch_tokens = {budget:,} {_too_large(sizes)}")

    def record(self, run: Run, step: int, batch: Batch) -> Trace | None:
        """Return the trace of the pass that this step will learn from; None if the step was not asked for, or
        if its batch is larger than a recording may be: a recording must not end a run."""
        if step not in self.steps:
            return None
        (sentences, source), target = batch.source.shape, batch.target_in.shape[1]
        sizes = tensor_bytes(run.learner.working, source, target, sentences, self.only)
        if sum(sizes.values()) > RECORDED_AT_MOST:
            shape = f"{sentences:,} × {max(source, target):,}"
            run.report(f"step {step:,} is not recorded: its batch of {shape} tokens {_too_large(sizes)}")
            return None
        run.report(f"recording step {step:,}: {sum(sizes.values()) / 1e6:,.1f} MB in {len(sizes)} tensors")
        return self._watch(run, batch)

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
    last_step = config.training.steps
    chosen = [steps] if isinstance(steps, int) else list(steps)
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
    if chosen:
        with torch.device("meta"):  # names and shapes only
            tensor_bytes(Transformer(config.model), 2, 2, only=only)
    return Recorder(frozenset(chosen), only)


def _too_large(sizes: Mapping[str, int]) -> str:
    largest = max(sizes, key=sizes.__getitem__)
    return (
        f"has {sum(sizes.values()) / 1e6:,.0f} MB in {len(sizes)} tensors (the largest, {largest}, "
        f"{sizes[largest] / 1e6:,.0f} MB), more than the {RECORDED_AT_MOST / 1e6:,.0f} MB of a recording. "
        'Record fewer with only, as only="*.weights" (--record-only), or lower batch_tokens.'
    )
