"""Claims about a worked example, judged cell by cell: from the claimed line before, and from the start."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from pellucid.explain.worked.claims import EXACT, Claim, read_claims
from pellucid.explain.worked.rules import Line, broken
from pellucid.explain.worked.slips import slip
from pellucid.explain.worked.stages import Given, run, size
from pellucid.explain.worked.worked_example import WorkedExample

VERDICTS = ("right", "follows", "wrong", "not derivable")
MORE_DIGITS = "computed with more digits than the line before shows"


@dataclass(frozen=True)
class Cell:
    """A claimed number, what it should be, and the verdict."""

    name: str
    head: int
    row: int
    column: int
    claimed: float
    written: str
    step: float | None  # from the claimed line before; None: not derivable
    start: float | None  # from the first inputs
    verdict: str  # right, follows (the error is earlier), wrong, not derivable
    rule: str | None  # what was done instead, and what a wrong claim breaks, where that is known
    remark: str | None


@dataclass(frozen=True)
class Report:
    """Every claimed cell with its verdict; as text, a table."""

    cells: list[Cell]
    shapes: Mapping[str, str]
    steps: Mapping[str, Tensor]  # every stage from the claimed line before, H × rows × columns
    starts: Mapping[str, Tensor]  # every stage from the first inputs

    def count(self, verdict: str) -> int:
        """How many cells have this verdict."""
        return sum(cell.verdict == verdict for cell in self.cells)

    def __str__(self) -> str:
        from pellucid.explain.worked.reporting import table

        return table(self)

    def _repr_html_(self) -> str:
        from pellucid.explain.notebook import preformatted

        return preformatted(str(self).splitlines())


def check(example: WorkedExample, claims: Mapping[str, Any], decimals: int | None = None) -> Report:
    """Judge each claimed cell: right, follows, wrong or not derivable.

    A claim holds if it is within half a unit of its last digit as written; -inf equals only -inf. Strings
    give the digits; whole numbers need `decimals`. A line that cannot be derived (its inputs are NaN, or
    missing) is what the lines after it start from.
    """
    read = read_claims(claims, example.given.heads, decimals)
    steps, used = _pass(example.given, read, always=True)
    starts, _ = _pass(example.given, read, always=False)
    lines = _lines(example.given, used, read)
    cells = []
    for name, claim in read.items():
        if name in starts and starts[name].shape != claim.numbers.shape:
            rule = f"shapes multiply: {example.shapes[name]}, not ({size(claim.numbers)})"
            cells += [_cell(name, claim, place, None, None, rule, "wrong") for place in _places(claim)]
            continue
        rules = broken(name, {**lines, name: Line(claim.numbers, claim.halves)})
        done = slip(example.given, name, claim, used, steps[name]) if name in steps else None
        for place in _places(claim):
            step, start = _known(steps.get(name), place), _known(starts.get(name), place)
            rule = "; ".join([*([done] if done else []), *rules.get(place, ())])
            cells.append(_cell(name, claim, place, step, start, rule, _verdict(claim, place, step, start)))
    return Report(cells, example.shapes, steps, starts)


def _pass(
    given: Given, claims: Mapping[str, Claim], always: bool
) -> tuple[dict[str, Tensor], dict[str, Tensor]]:
    """All stages as computed and as used from there on, H × rows × columns: the claimed numbers are used
    always, or only where nothing else is known."""
    computed: dict[str, Tensor] = {}
    used: dict[str, Tensor] = {}

    def see(name_axes: str, tensor: Tensor) -> Tensor:
        name, _, axes = name_axes.rpartition("_")
        matrices = tensor[0] if "H" in axes else tensor
        computed[name] = used[name] = matrices
        claim = claims.get(name)
        if claim is not None and claim.numbers.shape == matrices.shape:
            is_used = ~claim.numbers.isnan() & (matrices.isnan() | always)
            used[name] = torch.where(is_used, claim.numbers, matrices)
        return used[name][None] if "H" in axes else used[name]

    run(given, see)
    return computed, used


def _lines(given: Given, used: Mapping[str, Tensor], claims: Mapping[str, Claim]) -> dict[str, Line]:
    """What a reader of the claimed lines has at each stage, and how far rounding may have moved it."""
    lines: dict[str, Line] = {}
    for name, numbers in used.items():
        halves = torch.zeros_like(numbers)
        if name == "scaled_scores" and "scores" in lines:
            halves = lines["scores"].halves / (given.divisor or 1.0)
        if name == "masked_scores" and "scaled_scores" in lines:
            halves = lines["scaled_scores"].halves
        claim = claims.get(name)
        if claim is not None and claim.numbers.shape == numbers.shape:
            halves = torch.where(claim.numbers.isnan(), halves, claim.halves)
        lines[name] = Line(numbers, halves)
    return lines


def _places(claim: Claim) -> list[tuple[int, int, int]]:
    """Head, row and column of every cell that is not left out."""
    return [(head, row, column) for head, row, column in (~claim.numbers.isnan()).nonzero().tolist()]


def _known(matrices: Tensor | None, place: tuple[int, int, int]) -> float | None:
    if matrices is None or math.isnan(value := float(matrices[place])):
        return None
    return value


def _verdict(claim: Claim, place: tuple[int, int, int], step: float | None, start: float | None) -> str:
    if _holds(claim, place, start):
        return "right"
    if start is None and step is None:
        return "not derivable"
    return "follows" if _holds(claim, place, step) else "wrong"


def _holds(claim: Claim, place: tuple[int, int, int], computed: float | None) -> bool:
    claimed = float(claim.numbers[place])
    if computed is None:
        return False
    if math.isinf(claimed) or math.isinf(computed):
        return claimed == computed
    return abs(claimed - computed) <= float(claim.halves[place]) + EXACT


def _cell(
    name: str,
    claim: Claim,
    place: tuple[int, int, int],
    step: float | None,
    start: float | None,
    rule: str,
    verdict: str,
) -> Cell:
    head, row, column = place
    remark = MORE_DIGITS if verdict == "right" and not _holds(claim, place, step) else None
    broken_rule = rule if rule and verdict in ("wrong", "not derivable") else None
    written, claimed = claim.written[head][row][column], float(claim.numbers[place])
    return Cell(name, head, row, column, claimed, written, step, start, verdict, broken_rule, remark)
