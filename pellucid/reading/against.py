"""Two targets of one source, or one target by two models: where they part, and what differs most."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import zip_longest

import torch
from torch import Tensor

from pellucid.errors import UsageError
from pellucid.reading.reading import Reading
from pellucid.reading.steps import Step
from pellucid.reading.words import visible
from pellucid.seeing.records import Record
from pellucid.seeing.viewed import Viewed
from pellucid.show.columns import known

ROUNDING = 1e-5  # a relative difference below it is that of sums in another order
INSIDE = (".mean", ".variance", ".standardized", ".sum", ".concatenated", ".scores", ".masked_scores")


@dataclass(frozen=True)
class Change:
    """How far a tensor of one pass is from the same tensor of the other, on the positions that both have."""

    name: str
    relative: float  # the length of the difference / the mean of both lengths, all numbers as one vector
    largest: float  # difference of two numbers


@dataclass(frozen=True)
class Difference(Viewed):
    """Two explanations of one source, side by side."""

    ours: Reading
    theirs: Reading
    parts_at: int | None  # the first step, from 0, that expects another token; None: the targets are the same
    changes: list[Change]  # of all tensors that both have, the largest relative difference first
    searches: list[str]  # what became of a given target in the search, a sentence each
    unlike: list[str]  # tensors that cannot be compared: only one has them, or their shapes differ

    @property
    def steps(self) -> list[tuple[Step | None, Step | None]]:
        """Step by step; the shorter target ends in None."""
        return list(zip_longest(self.ours.steps, self.theirs.steps))

    @property
    def log_ratio(self) -> float:
        """log P(ours) − log P(theirs), the end tokens included."""
        return math.fsum(step.loss for step in self.theirs.steps) - math.fsum(
            step.loss for step in self.ours.steps
        )

    @property
    def ratio(self) -> float:
        """How many times as probable as theirs our target is."""
        return math.inf if self.log_ratio >= 700 else math.exp(self.log_ratio)

    @property
    def parting(self) -> str:
        """Where they part, as a sentence."""
        if self.parts_at is None:
            return "The two targets are the same."
        ours, theirs = self.ours.steps[self.parts_at], self.theirs.steps[self.parts_at]
        said = [
            f"{visible(step.expected)!r} has probability {known(step.probability, '.4f')}"
            for step in (ours, theirs)
        ]
        return f"They part at step {self.parts_at + 1}, after {visible(ours.input)!r}: {said[0]}, {said[1]}."

    @property
    def verdict(self) -> str:
        """Which target is more probable as a whole, as a sentence."""
        first, second = (visible(each.translation.text) for each in (self.ours, self.theirs))
        if math.isnan(self.log_ratio):
            return (
                "Which is more probable cannot be said: a probability is not a number (NaN). "
                "pellucid.find_nonfinite(model) names the first tensor that holds one."
            )
        if abs(self.log_ratio) < 1e-4:
            return "As a whole they are equally probable."
        if self.log_ratio < 0:
            first, second = second, first
        times = math.exp(abs(self.log_ratio)) if abs(self.log_ratio) < 700 else math.inf
        factor = f"{times:,.1f}" if times < 1e6 else f"{times:.1e}"
        if self.parts_at is None:
            which = "first" if self.log_ratio > 0 else "second"
            return f"The {which} model holds it {factor} times as probable."
        return f"As a whole, {first!r} is {factor} times as probable as {second!r}."


def against(ours: Reading, theirs: Reading, searches: Sequence[str] = ()) -> Difference:
    """Compare two readings of the same source: of two targets, or by two models.

    searches: what became of a given target in the search, a sentence each.
    """
    if not isinstance(theirs, type(ours)):
        raise UsageError(
            f"other = {theirs!r:.60} is no reading. Give what translator.explain returns, of the same "
            "source with another target or by another model."
        )
    if ours.source_tokens != theirs.source_tokens:
        if ours.translation.source == theirs.translation.source and ours.to != theirs.to:
            raise UsageError(
                f"one goes to {ours.to}, the other to {theirs.to}: the tag makes them two sources. "
                "Explain two targets in one language."
            )
        sources = [visible(each.translation.source) for each in (ours, theirs)]
        raise UsageError(
            f"{sources[0]!r} and {sources[1]!r} are two sources. "
            "Explain two targets of one source; translator.compare shows one word in two sentences."
        )
    pairs = enumerate(zip(ours.steps, theirs.steps, strict=False))
    parts_at = next((n for n, (one, other) in pairs if one.expected != other.expected), None)
    changes, unlike = [], [name for name in theirs.trace if name not in ours.trace]
    for name, record in ours.trace.items():
        one, other = _common(record, theirs.trace[name]) if name in theirs.trace else (None, None)
        if one is None or other is None:
            unlike.append(name)
            continue
        changes.append(_change(name, one, other))
    changes.sort(key=lambda change: -change.relative)
    return Difference(ours, theirs, parts_at, changes, list(searches), unlike)


def _common(one: Record, other: Record) -> tuple[Tensor | None, Tensor | None]:
    """The positions that both have, from the first; None where something else has another size."""
    ours, theirs = one.tensor, other.tensor
    if one.axes != other.axes:
        return None, None
    for place, axis in enumerate(one.axes):
        if axis in "LM":
            both = min(ours.shape[place], theirs.shape[place])
            ours, theirs = ours.narrow(place, 0, both), theirs.narrow(place, 0, both)
    return (ours, theirs) if ours.shape == theirs.shape else (None, None)


def _change(name: str, ours: Tensor, theirs: Tensor) -> Change:
    """What is masked in both (−∞) does not count; what is in one alone makes the difference infinite, and so
    does what is not a number."""
    one, other = ours.double(), theirs.double()
    gap = torch.where(one == other, 0.0, one - other).nan_to_num(
        nan=math.inf, posinf=math.inf, neginf=-math.inf
    )
    lengths = [float(torch.where(each.isinf(), 0.0, each).norm()) for each in (one, other)]
    distance = float(gap.norm())
    mean = sum(lengths) / 2
    if math.isinf(distance):
        return Change(name, math.inf, math.inf)
    relative = 0.0 if distance == 0 else distance / mean if mean else math.inf
    return Change(name, relative, float(gap.abs().max()) if gap.numel() else 0.0)
