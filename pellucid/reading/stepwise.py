"""Compare step-by-step decoding, with a cache and without one, with the parallel pass.

With a cache, a step computes one row, that of the new token, and looks at the keys and values of the earlier
rows. Without one, it computes the rows of the whole prefix again. Both read the source once. The parallel
pass, as in training, computes all rows at once.
"""

from dataclasses import dataclass

import torch
from torch import Tensor

from pellucid.cache import GrowingPast, NoPast, Past
from pellucid.model import Transformer
from pellucid.reading.passes import in_batch, in_float32, quietly
from pellucid.reading.reading import Reading
from pellucid.seeing.records import Record
from pellucid.seeing.trace import Trace, trace
from pellucid.seeing.viewed import Viewed


@dataclass(frozen=True)
class Gap:
    """The largest difference of step-by-step decoding from the parallel pass, and the tensor that has it."""

    difference: float  # the largest of any number in any tensor
    where: str  # the name of that tensor


@dataclass(frozen=True)
class TokenStep:
    """A step of decoding: the token that it reads, and its differences from the parallel pass with and
    without a cache."""

    input: str
    cached: Gap  # of one row
    whole: Gap  # without a cache: of the rows of the whole prefix


@dataclass(frozen=True)
class Stepwise(Viewed):
    """All steps of decoding, with a cache and without one; the encoder's tensors are computed once."""

    steps: list[TokenStep]
    encoder: Gap

    @property
    def largest_difference(self) -> float:
        """Return the largest difference from the parallel pass, in any step, with or without a cache."""
        return self._furthest.difference

    @property
    def where(self) -> str:
        """Return the name of the tensor with the largest difference."""
        return self._furthest.where

    @property
    def cached_rows(self) -> int:
        """Return how many rows all steps together compute with a cache: one per step."""
        return len(self.steps)

    @property
    def whole_rows(self) -> int:
        """Return how many rows all steps together compute without a cache: 1 + 2 + 3 + …"""
        return len(self.steps) * (len(self.steps) + 1) // 2

    @property
    def _furthest(self) -> Gap:
        both = [way for step in self.steps for way in (step.cached, step.whole)]
        return max([self.encoder, *both], key=lambda way: way.difference)

    def __str__(self) -> str:
        return (
            "Step by step against the parallel pass, with a cache and without: the largest difference of any "
            f"number is {self.largest_difference:.1e}, in {self.where}. "
            f"Rows computed: {self.cached_rows} with a cache, {self.whole_rows} without."
        )


def decode_stepwise(model: Transformer, reading: Reading) -> Stepwise:
    """Decode the target token by token, with a cache and without one; compare both with the parallel pass."""
    model = in_float32(model)
    read = in_batch(model, [(reading.source_ids, reading.target_ids)])
    target, mask = read["target"], read["source_mask"]

    def decode(first: int, end: int, past: Past) -> Gap:
        with trace(model) as seen:
            model.decode(target[:, first:end], memory, past)
        return _compare(seen, reading.trace, first, end)

    with quietly(model):
        with trace(model) as seen:
            encoded = model.encode(read["source"], mask)
        memory, past = model.remember(encoded, mask), GrowingPast()
        steps = [
            TokenStep(token, decode(number, number + 1, past), decode(0, number + 1, NoPast()))
            for number, token in enumerate(reading.target_tokens)
        ]
    return Stepwise(steps, _compare(seen, reading.trace, 0, len(reading.source_ids)))


def _compare(seen: Trace, parallel: Trace, first: int, end: int) -> Gap:
    """Return the largest difference between the tensors of a step and the same rows, `first` to `end`
    (exclusive), of the parallel pass."""
    gaps = [
        Gap(largest_gap(record.tensor, _rows(parallel[name], first, end)), name)
        for name, record in seen.items()
    ]
    return max(gaps, key=lambda gap: gap.difference)


def largest_gap(ours: Tensor, theirs: Tensor) -> float:
    """Return the largest absolute difference of two tensors. −∞ equals only −∞; a NaN gives ∞."""
    gaps = torch.where(ours == theirs, 0.0, (ours - theirs).abs())
    return float(gaps.nan_to_num(nan=torch.inf, posinf=torch.inf).max())


def _rows(record: Record, first: int, end: int) -> Tensor:
    """Return the rows from `first` to `end` (exclusive), and along M only the keys before `end`, except in
    cross-attention, whose keys are the source."""
    tensor = record.tensor
    for place, axis in enumerate(record.axes):
        if axis == "L":
            tensor = tensor.narrow(place, first, end - first)
        elif axis == "M" and ".cross_attention." not in record.name:
            tensor = tensor.narrow(place, 0, end)
    return tensor
