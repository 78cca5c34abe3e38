"""Judge claimed numbers of a worked example against two computed numbers: from the claimed line before, and
from the start."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import torch
from torch import Tensor

from pellucid.errors import UsageError
from pellucid.seeing.viewed import Viewed, lines
from pellucid.worked.claims import EXACT, Claim, is_near, read_claims
from pellucid.worked.rules import find_broken_rules
from pellucid.worked.slips import find_slip
from pellucid.worked.stages import Start, run, shapes, size

FROM_THE_START = "right from the start, though not from the line before"


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
    rule: str | None  # what was done instead, and the rules that the claim breaks, where that is known
    remark: str | None  # right, though not from the line before


@dataclass(frozen=True)
class Report(Viewed):
    """Every claimed cell with its verdict; as text, a table."""

    cells: list[Cell]
    shapes: Mapping[str, str]
    steps: Mapping[str, Tensor]  # every stage from the claimed line before, H × rows × columns
    starts: Mapping[str, Tensor]  # every stage from the first inputs
    tokens: Mapping[str, Sequence[str]]  # along the axes L and M

    def count(self, verdict: str) -> int:
        """Count the cells that have this verdict."""
        return sum(cell.verdict == verdict for cell in self.cells)

    @property
    def first_wrong(self) -> Cell | None:
        """Return the first wrong cell, by stage, head, row and column; None if no cell is wrong."""
        return next((cell for cell in self.cells if cell.verdict == "wrong"), None)

    def __str__(self) -> str:
        return "\n".join(lines(self))


def check(
    start: Start, claims: Mapping[str, Any], decimals: int | None, tokens: Mapping[str, Sequence[str]]
) -> Report:
    """Judge each claimed cell: right, follows (from the claimed line before only), wrong, or not derivable.

    A claim may be off by half a unit of its last written digit ("0.40" by 0.005); -inf equals only -inf.
    Write claims as strings to keep last zeros. A whole number needs `decimals`, unless the computed number is
    whole too. After a line that cannot be computed (its inputs are NaN), the claims about it are used.
    """
    read = read_claims(claims, start.heads, decimals)
    steps, used = _follow(start, read, always=True)
    starts, _ = _follow(start, read, always=False)
    read = {name: _settle_digits(name, claim, steps, starts) for name, claim in read.items()}
    known, cells = shapes(start, starts), list[Cell]()
    for name, claim in read.items():
        step = origin = torch.full_like(claim.numbers, math.nan)
        misfit, slip, reasons = "", None, find_broken_rules(name, read, used)
        if name in starts and starts[name].shape != claim.numbers.shape:
            misfit = f"shapes multiply: {known[name]}, not ({size(claim.numbers)})"
        elif name in starts:
            step, origin = steps[name], starts[name]
            slip = find_slip(start, name, claim, used, step)
        else:
            slip = f"the example is computed from {start.reached[0]} to {start.reached[-1]} only"
        by_step, by_start = (is_near(claim.numbers, each, claim.halves) for each in (step, origin))
        for place in claim.places:
            verdict = "right" if by_start[place] else "follows" if by_step[place] else "wrong"
            if verdict == "wrong" and step[place].isnan() and origin[place].isnan() and not misfit:
                verdict = "not derivable"
            rule = misfit or "; ".join([*([slip] if slip else []), *reasons.get(place, ())])
            remark = FROM_THE_START if verdict == "right" and not by_step[place] else None
            why = rule if rule and verdict in ("wrong", "not derivable") else None
            head, row, column = place
            numbers = float(claim.numbers[place]), claim.written[head][row][column]
            computed = _number(step[place]), _number(origin[place])
            cells.append(Cell(name, *place, *numbers, *computed, verdict, why, remark))
    return Report(cells, known, steps, starts, tokens)


def _follow(
    start: Start, claims: Mapping[str, Claim], always: bool
) -> tuple[dict[str, Tensor], dict[str, Tensor]]:
    """Return all stages twice, H × rows × columns: as computed, and as later stages use them. Claimed numbers
    replace computed ones everywhere (`always`), or only if the computed number is unknown."""
    computed: dict[str, Tensor] = {}
    used: dict[str, Tensor] = {}

    def see(name_axes: str, tensor: Tensor) -> Tensor:
        name, _, axes = name_axes.rpartition("_")
        computed[name] = used[name] = tensor[0] if "H" in axes else tensor
        claim = claims.get(name)
        if claim is not None and claim.numbers.shape == used[name].shape:
            is_used = ~claim.numbers.isnan() & (computed[name].isnan() | always)
            used[name] = torch.where(is_used, claim.numbers, computed[name])
        return used[name][None] if "H" in axes else used[name]

    run(start, see)
    return computed, used


def _settle_digits(
    name: str, claim: Claim, steps: Mapping[str, Tensor], starts: Mapping[str, Tensor]
) -> Claim:
    """Return the claim without a rounding error for whole numbers whose digits are not known: they are exact.
    Raise an error if neither computed number for one of them is whole too."""
    unclear = claim.halves.isnan()
    for computed in (steps.get(name), starts.get(name)):
        if computed is not None and computed.shape == unclear.shape:
            unclear &= ~((computed - computed.round()).abs() <= EXACT)
    for head, row, column in unclear.nonzero().tolist():
        text = claim.written[head][row][column].rstrip(".")
        raise UsageError(
            f"{name}: the whole number {text} does not say to how many digits it was rounded. Write "
            f'"{text}.0", or give decimals=0.'
        )
    return replace(claim, halves=claim.halves.nan_to_num(nan=0.0))


def _number(number: Tensor) -> float | None:
    return None if number.isnan() else float(number)
