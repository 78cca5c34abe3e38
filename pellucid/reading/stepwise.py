"""Decoding step by step beside the parallel pass: with a cache, and without one, and how far each is from it.

With a cache a step computes one row, that of the new token, and looks at the keys and values of the rows
before. Without one it computes the rows of the whole prefix again. The source is read once in both ways: its
keys and values are the same at every step. The parallel pass, as in training, computes all rows at once.
"""

import time
from dataclasses import dataclass

import torch
from torch import Tensor

from pellucid.cache import GrowingPast, Memory, NoPast
from pellucid.config.device import device_of
from pellucid.model import Transformer
from pellucid.reading.passes import in_float32, quietly
from pellucid.reading.reading import Reading
from pellucid.seeing.records import Record
from pellucid.seeing.trace import Trace, trace
from pellucid.seeing.viewed import Viewed

LONG = 1.0  # seconds
RUNS = 3  # of all steps for their times: whatever else the computer does makes them longer, never shorter


@dataclass(frozen=True)
class Computed:
    """One step, computed in one of the two ways, against the same rows of the parallel pass."""

    rows: int  # of each decoder tensor, computed in this step
    seconds: float  # unwatched, the shortest of RUNS
    difference: float  # the largest of any number in any tensor
    where: str  # that tensor's name
    size: float  # the largest number there, to judge the difference by


@dataclass(frozen=True)
class TokenStep:
    """A step of decoding: its token, and what came of it in both ways."""

    number: int  # from 0
    input: str
    cached: Computed
    whole: Computed


@dataclass(frozen=True)
class Stepwise(Viewed):
    """All steps in both ways; the encoder's tensors, which are made once, are compared too."""

    steps: list[TokenStep]
    encoder: Computed
    tensors: int  # so many were compared
    numbers: int  # so many numbers, in all steps and both ways

    @property
    def largest_difference(self) -> float:
        """Of any number in any tensor, step by step (with a cache or without) and all positions at once."""
        return self._furthest.difference

    @property
    def where(self) -> str:
        """The name of the tensor with the largest difference."""
        return self._furthest.where

    @property
    def cached_rows(self) -> int:
        """Computed with a cache, in all steps: one a step."""
        return sum(step.cached.rows for step in self.steps)

    @property
    def whole_rows(self) -> int:
        """Computed without a cache, in all steps: 1 + 2 + 3 + …"""
        return sum(step.whole.rows for step in self.steps)

    @property
    def cached_seconds(self) -> float:
        """What all steps took with a cache."""
        return sum(step.cached.seconds for step in self.steps)

    @property
    def whole_seconds(self) -> float:
        """What all steps took without a cache."""
        return sum(step.whole.seconds for step in self.steps)

    @property
    def _furthest(self) -> Computed:
        ways = [way for step in self.steps for way in (step.cached, step.whole)]
        return max([self.encoder, *ways], key=lambda way: way.difference)

    def __str__(self) -> str:
        return (
            f"Step by step, with a cache and without, as all at once: of {self.numbers:,} numbers in "
            f"{self.tensors} tensors the largest difference is {self.largest_difference:.1e}, in "
            f"{self.where}, whose numbers go up to {self._furthest.size:.3g}. "
            f"Rows computed: {self.cached_rows} with a cache, {self.whole_rows} without."
        )


def stepwise(model: Transformer, reading: Reading) -> Stepwise:
    """Decode a reading's target token by token in both ways, and compare every tensor."""
    model, vocabulary = in_float32(model), reading.vocabulary
    source = torch.tensor([reading.source_ids], device=device_of(model))
    target = torch.tensor([reading.read_ids], device=device_of(model))
    mask = torch.ones_like(source, dtype=torch.bool)
    parallel = reading.trace
    with quietly(model):
        with trace(model, vocabulary=vocabulary) as seen:
            encoded = model.encode(source, mask)
        memory, compared = model.remember(encoded, mask), AgainstParallel(parallel)
        encoder = compared.add(seen, 0, source.shape[1], 0.0)
        times = _times(model, memory, target)
        past, steps = GrowingPast(), []
        for number, (token, seconds) in enumerate(zip(reading.target_tokens, times, strict=True)):
            with trace(model, vocabulary=vocabulary) as seen:
                model.decode(target[:, number : number + 1], memory, past)
            cached = compared.add(seen, number, number + 1, seconds[0])
            with trace(model, vocabulary=vocabulary) as seen:
                model.decode(target[:, : number + 1], memory, NoPast())
            whole = compared.add(seen, 0, number + 1, seconds[1])
            steps.append(TokenStep(number, token, cached, whole))
    return Stepwise(steps, encoder, len(compared.names), compared.numbers)


class AgainstParallel:
    """Traces of some rows held against the trace of all of them."""

    def __init__(self, parallel: Trace) -> None:
        self._parallel = parallel
        self.names: set[str] = set()
        self.numbers = 0

    def add(self, seen: Trace, first: int, end: int, seconds: float) -> Computed:
        """The rows from `first` to `end` (exclusive), which look at no position from `end` on."""
        furthest, where = -1.0, ""
        for name, record in seen.items():
            gap = largest_gap(record.tensor, _rows(self._parallel[name], first, end))
            self.names.add(name)
            self.numbers += record.tensor.numel()
            if gap > furthest:
                furthest, where = gap, name
        finite = seen[where].tensor.abs().nan_to_num(posinf=0.0)
        return Computed(end - first, seconds, furthest, where, float(finite.max()))


def largest_gap(ours: Tensor, theirs: Tensor) -> float:
    """The largest difference of two numbers; −∞ equals −∞, and nothing else; not a number equals nothing."""
    gaps = torch.where(ours == theirs, 0.0, (ours - theirs).abs())
    return float(gaps.nan_to_num(nan=torch.inf, posinf=torch.inf).max())


def _rows(record: Record, first: int, end: int) -> Tensor:
    """The rows of these positions, and of what is attended to only the positions up to them."""
    tensor = record.tensor
    for place, axis in enumerate(record.axes):
        if axis == "L":
            tensor = tensor.narrow(place, first, end - first)
        elif axis == "M" and ".cross_attention." not in record.name:
            tensor = tensor.narrow(place, 0, end)
    return tensor


def _times(model: Transformer, memory: Memory, target: Tensor) -> list[tuple[float, float]]:
    """Seconds of each step with a cache and without, unwatched: the shortest of several runs, or those of one
    where it takes long."""
    runs: list[list[tuple[float, float]]] = []
    since = time.perf_counter()
    while not runs or (len(runs) < RUNS and time.perf_counter() - since < LONG):
        past, run = GrowingPast(), []
        for number in range(target.shape[1]):
            begun = time.perf_counter()
            model.decode(target[:, number : number + 1], memory, past).sum().item()  # which waits for a GPU
            between = time.perf_counter()
            model.decode(target[:, : number + 1], memory, NoPast()).sum().item()
            run.append((between - begun, time.perf_counter() - between))
        runs.append(run)
    return [
        (min(cached), min(whole))
        for cached, whole in (zip(*each, strict=True) for each in zip(*runs, strict=True))
    ]
