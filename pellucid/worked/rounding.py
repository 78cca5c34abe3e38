"""How far rounding may have moved a number: half a unit of each printed one, carried from line to line."""

import math
from collections.abc import Mapping
from dataclasses import dataclass

import torch
from torch import Tensor

from pellucid.worked.claims import Claim
from pellucid.worked.stages import Given

SOURCES: Mapping[str, tuple[str, ...]] = {
    "scores": ("queries", "keys"),
    "scaled_scores": ("scores",),
    "masked_scores": ("scaled_scores", "mask"),
    "weights": ("masked_scores",),
    "context": ("weights", "values"),
    "concatenated": ("context",),
    "output": ("concatenated",),
}


@dataclass(frozen=True)
class Line:
    """What a reader has at a stage, H × rows × columns, and how far rounding may have moved each number."""

    numbers: Tensor
    halves: Tensor
    decimals: int | None = None  # that it shows, or that what it is computed from does; None: exact
    is_written: Tensor | None = None  # which numbers stand there, claimed or given; None: that is not asked


def reader_lines(given: Given, used: Mapping[str, Tensor], claims: Mapping[str, Claim]) -> dict[str, Line]:
    """The lines that somebody has who takes each claimed number as it is written."""
    lines: dict[str, Line] = {}
    for name, numbers in used.items():
        halves, decimals = moved(given, name, numbers, lines), decimals_before(name, lines)
        is_written = torch.full_like(numbers, name in given.matrices, dtype=torch.bool)
        claim = claims.get(name)
        if claim is not None and claim.numbers.shape == numbers.shape:
            halves = torch.where(claim.numbers.isnan(), halves, claim.halves)
            decimals = _decimals(claim.halves)
            is_written = is_written | ~claim.numbers.isnan()
        lines[name] = Line(numbers, halves, decimals, is_written)
    return lines


def moved(given: Given, name: str, numbers: Tensor, lines: Mapping[str, Line]) -> Tensor:
    """How far what is computed at a stage may be off, for the lines before it were rounded."""
    sources = [lines[source] for source in SOURCES.get(name, ()) if source in lines]
    if name in given.matrices or len(sources) != len(SOURCES.get(name, ())) or not sources:
        return torch.zeros_like(numbers)
    first, halves = sources[0], sources[0].halves
    if name == "scores":
        keys = sources[1]
        return _of_product(first, Line(keys.numbers.mT, keys.halves.mT))
    if name == "scaled_scores":
        return halves / (given.divisor or 1.0)
    if name == "weights":
        middle, _ = softmax_bounds(first.numbers, torch.zeros_like(halves))
        lowest, highest = softmax_bounds(first.numbers, halves)
        return torch.maximum(highest - middle, middle - lowest)
    if name == "context":
        return torch.minimum(_of_product(first, sources[1]), _of_shares(first, sources[1]))
    if name == "concatenated":
        return halves.transpose(0, 1).flatten(1)[None]
    if name == "output" and given.w_output is not None:
        return halves @ given.w_output.abs()
    return halves


def decimals_before(name: str, lines: Mapping[str, Line]) -> int | None:
    """The fewest decimals that the lines show from which a stage is computed."""
    shown = [lines[source].decimals for source in SOURCES.get(name, ()) if source in lines]
    return min((each for each in shown if each is not None), default=None)


def softmax_bounds(scores: Tensor, halves: Tensor) -> tuple[Tensor, Tensor]:
    """The least and the largest weights that scores can have which were rounded to these, row by row."""
    apart = scores[..., None, :] - scores[..., :, None]
    apart = apart.nan_to_num(nan=-math.inf, posinf=math.inf, neginf=-math.inf)
    off = halves[..., None, :] + halves[..., :, None]
    off = off * (1 - torch.eye(scores.shape[-1], dtype=scores.dtype))
    hidden = scores == -math.inf
    bounds = (1 / (apart + off).exp().sum(-1), 1 / (apart - off).exp().sum(-1))
    return bounds[0].masked_fill(hidden, 0.0), bounds[1].masked_fill(hidden, 0.0)


def _of_product(left: Line, right: Line) -> Tensor:
    """Of a product whose factors were both rounded: each off times the other, and both offs together."""
    of_left = left.halves @ (right.numbers.abs() + right.halves)
    return of_left + left.numbers.abs() @ right.halves


def _of_shares(weights: Line, values: Line) -> Tensor:
    """The same for shares that sum to 1: what one of them gains the others lose, so that only how far values
    lie from their middle counts."""
    middle = (values.numbers.amax(-2, keepdim=True) + values.numbers.amin(-2, keepdim=True)) / 2
    missing = (1 - weights.numbers.sum(-1, keepdim=True)).abs()
    apart = weights.halves @ ((values.numbers - middle).abs() + values.halves)
    return apart + missing * middle.abs() + weights.numbers.abs() @ values.halves


def _decimals(halves: Tensor) -> int | None:
    largest = float(halves.max())
    return max(0, round(-math.log10(2 * largest))) if largest > 0 else None
