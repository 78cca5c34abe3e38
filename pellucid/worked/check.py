"""Claims about a worked example, judged cell by cell: from the claimed line before, and from the start."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor

from pellucid.worked.claims import EXACT, Claim, read_claims
from pellucid.worked.rounding import Line, decimals_before, moved, reader_lines
from pellucid.worked.rules import broken
from pellucid.worked.slips import slip
from pellucid.worked.stages import Given, run, size
from pellucid.worked.worked_example import WorkedExample

VERDICTS = ("right", "follows", "wrong", "not derivable")
MORE_DIGITS = "computed with more digits than the line before shows"
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
    rule: str | None  # what was done instead, and what a wrong claim breaks, where that is known
    remark: str | None  # what rounding alone may have done to a claim, or not
    whole_column: int | None = None  # in a matrix that was claimed whole, for all heads


@dataclass(frozen=True)
class Report:
    """Every claimed cell with its verdict; as text, a table."""

    cells: list[Cell]
    shapes: Mapping[str, str]
    steps: Mapping[str, Tensor]  # every stage from the claimed line before, H × rows × columns
    starts: Mapping[str, Tensor]  # every stage from the first inputs
    tokens: Mapping[str, Sequence[str]] = field(default_factory=dict)  # along the axes L and M

    @property
    def first_wrong(self) -> str:
        """The first stage that goes wrong, a cell of it and why, in a sentence or two; "" where none does."""
        from pellucid.worked.reporting import first_wrong

        return first_wrong(self)

    def count(self, verdict: str) -> int:
        """How many cells have this verdict."""
        return sum(cell.verdict == verdict for cell in self.cells)

    def __str__(self) -> str:
        from pellucid.worked.reporting import table

        return table(self)

    def _repr_html_(self) -> str:
        from pellucid.show.notebook import preformatted

        return preformatted(str(self).splitlines())


def check(example: WorkedExample, claims: Mapping[str, Any], decimals: int | None = None) -> Report:
    """Judge each claimed cell: right, follows, wrong or not derivable.

    A claim holds if it is within half a unit of its last digit as written; -inf equals only -inf. Strings
    give the digits; whole numbers need `decimals`. A line that cannot be derived (its inputs are NaN, or
    missing) is what the lines after it start from.
    """
    read = read_claims(claims, example.given.heads, decimals, _whole_widths(example))
    steps, used = _pass(example.given, read, always=True)
    starts, _ = _pass(example.given, read, always=False)
    lines = reader_lines(example.given, used, read)
    cells: list[Cell] = []
    for name, claim in read.items():
        if name in starts and starts[name].shape != claim.numbers.shape:
            rule = f"shapes multiply: {example.shapes[name]}, not ({size(claim.numbers)})"
            cells += [_cell(name, claim, place, None, None, "wrong", rule, None) for place in _places(claim)]
            continue
        rules = broken(name, {**lines, name: Line(claim.numbers, claim.halves)})
        done = slip(example.given, name, claim, used, steps[name]) if name in steps else None
        off, shown = moved(example.given, name, claim.numbers, lines), decimals_before(name, lines)
        for place in _places(claim):
            step, start = _known(steps.get(name), place), _known(starts.get(name), place)
            verdict = _verdict(claim, place, step, start)
            rule = "; ".join([*([done] if done else []), *rules.get(place, ())])
            remark = None
            if verdict == "right" and not _holds(claim, place, step):
                is_near = _holds(claim, place, step, float(off[place]))
                remark = MORE_DIGITS if is_near else FROM_THE_START
            elif verdict == "wrong" and not rule and _holds(claim, place, step, float(off[place])):
                remark = _may_be_rounding(shown)
            cells.append(_cell(name, claim, place, step, start, verdict, rule, remark))
    return Report(cells, example.shapes, steps, starts, example.tokens)


def _whole_widths(example: WorkedExample) -> dict[str, int]:
    """How many columns queries, keys and values have, all heads side by side."""
    names = [name for name in ("queries", "keys", "values") if name in example]
    return {name: example.given.heads * example[name].tensor.shape[-1] for name in names}


def _may_be_rounding(decimals: int | None) -> str:
    """What is said of a wrong number that the digits of the line before leave open."""
    shown = f"{decimals or 'no'} decimal{'' if decimals == 1 else 's'}"
    return f"may be rounding, as the line before shows {shown}"


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


def _places(claim: Claim) -> list[tuple[int, int, int]]:
    """Head, row and column of every cell that is not left out; row by row in a matrix of all heads."""
    places = [(head, row, column) for head, row, column in (~claim.numbers.isnan()).nonzero().tolist()]
    return sorted(places, key=lambda place: (place[1], place[0])) if claim.is_whole else places


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


def _holds(claim: Claim, place: tuple[int, int, int], computed: float | None, moved: float = 0.0) -> bool:
    claimed = float(claim.numbers[place])
    if computed is None:
        return False
    if math.isinf(claimed) or math.isinf(computed):
        return claimed == computed
    return abs(claimed - computed) <= float(claim.halves[place]) + moved + EXACT


def _cell(
    name: str,
    claim: Claim,
    place: tuple[int, int, int],
    step: float | None,
    start: float | None,
    verdict: str,
    rule: str,
    remark: str | None,
) -> Cell:
    head, row, column = place
    broken_rule = rule if rule and verdict in ("wrong", "not derivable") else None
    written, claimed = claim.written[head][row][column], float(claim.numbers[place])
    whole = head * claim.numbers.shape[-1] + column if claim.is_whole else None
    return Cell(name, head, row, column, claimed, written, step, start, verdict, broken_rule, remark, whole)
