"""Recording during training: every tensor of the pass that learned, at some steps.

What is watched computes its equations openly, and so rounds otherwise than the fused kernels. So a recording
is a second forward pass, with the same weights and the same dropout, that nothing learns from: the training
goes on bit for bit as without it.
"""

import math
from collections.abc import Callable, Iterable, Mapping
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
class Recording:
    """What is to be recorded: at which steps, and which tensors by a glob of their names."""

    steps: frozenset[int]
    only: str


@dataclass(frozen=True)
class Recorder:
    """Recordings of a run's passes."""

    wanted: Recording
    run: Run
    report: Callable[[str], None]

    def record(self, step: int, batch: Batch) -> Trace | None:
        """The trace of the pass from which this step is about to learn, if the step is a wanted one and its
        batch no larger than a recording may be: no recording is worth a run."""
        if step not in self.wanted.steps:
            return None
        (sentences, source), target = batch.source.shape, batch.target_in.shape[1]
        sizes = self.sizes(sentences, source, target)
        if sum(sizes.values()) > RECORDED_AT_MOST:
            shape = f"{sentences:,} × {max(source, target):,}"
            self.report(f"step {step:,} is not recorded: its batch of {shape} tokens {_too_large(sizes)}")
            return None
        self.report(f"recording step {step:,}: {sum(sizes.values()) / 1e6:,.1f} MB in {len(sizes)} tensors")
        return watched_pass(self.run, batch, self.wanted.only)

    def sizes(self, sentences: int, source: int, target: int) -> dict[str, int]:
        """The bytes of each tensor that a recording of such a batch holds, by its name."""
        return tensor_bytes(self.run.learner.working, source, target, sentences, self.wanted.only)


def recording(steps: Iterable[int], only: str, config: Config) -> Recording:
    """What a call asks for, checked against the configuration: its steps, and the names in such a model."""
    last_step = config.training.steps
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
    if chosen:
        with torch.device("meta"):  # names and shapes alone
            tensor_bytes(Transformer(config.model), 2, 2, only=only)
    return Recording(frozenset(chosen), only)


def start_recording(wanted: Recording, run: Run, report: Callable[[str], None]) -> Recorder:
    """Ready to record; a step too large to record is an error now and not at the first step that is
    recorded."""
    recorder = Recorder(wanted, run, report)
    if wanted.steps and sum((sizes := recorder.sizes(*_usual_batch(run))).values()) > RECORDED_AT_MOST:
        budget = run.config.training.batch_tokens
        raise UsageError(f"record: a step of [training] batch_tokens = {budget:,} {_too_large(sizes)}")
    return recorder


def watched_pass(run: Run, batch: Batch, only: str) -> Trace:
    """Watch the pass that learns from this batch (with workers: from this process's share of it): in training
    mode, with the dropout that comes next; the random numbers are left as they were."""
    device = run.learner.device
    model, batch = run.learner.working.train(), run.learner.shares(batch)[0].to(device)
    with (
        torch.random.fork_rng([device] if device.type == "cuda" else []),
        torch.no_grad(),
        trace(model, only=only, vocabulary=run.vocabulary, most_bytes=math.inf) as seen,
    ):
        model(batch.source, batch.source_mask, batch.target_in)
    return seen


def _usual_batch(run: Run) -> tuple[int, int, int]:
    """Sentences, source and target tokens of a full batch of pairs that are as long as the average."""
    count = len(run.examples)
    source = math.ceil(sum(len(example.source) for example in run.examples) / count)
    target = math.ceil(sum(len(example.target) for example in run.examples) / count)
    return min(count, max(1, run.config.training.batch_tokens // max(source, target))), source, target


def _too_large(sizes: Mapping[str, int]) -> str:
    largest = max(sizes, key=sizes.__getitem__)
    return (
        f"has {sum(sizes.values()) / 1e6:,.0f} MB in {len(sizes)} tensors (the largest, {largest}, "
        f"{sizes[largest] / 1e6:,.0f} MB), more than the {RECORDED_AT_MOST / 1e6:,.0f} MB of a recording. "
        'Record fewer with only, as only="*.weights" (--record-only), or lower batch_tokens.'
    )
