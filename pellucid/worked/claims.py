"""Numbers as somebody wrote them: "0.40" has two digits, "1.0" one, and "…" is left out."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from typing import Any

import numpy as np
import torch
from torch import Tensor

from pellucid.config.settings import convert
from pellucid.errors import UsageError, did_you_mean
from pellucid.worked.stages import STAGES

LEFT_OUT = ("…", "...", "⋮", "⋯", "⋱", "", "nan")
EXACT = 1e-9  # added to every slack: what float64 itself may lose


@dataclass(frozen=True)
class Claim:
    """A claimed matrix: its cells as written, their numbers, and their rounding errors (half a unit of the
    last digit)."""

    written: list[list[list[str]]]  # head, row, column
    numbers: Tensor  # H × rows × columns, NaN where left out; H is 1 where the stage has no heads
    halves: Tensor  # NaN for a whole number that does not say to how many digits it was rounded

    @property
    def places(self) -> list[tuple[int, int, int]]:
        """Return the head, row and column of every cell that is not left out."""
        return [(head, row, column) for head, row, column in (~self.numbers.isnan()).nonzero().tolist()]


def number(written: Any, decimals: int | None = None, where: str = "claim") -> tuple[float, float, str]:
    """Read a number; return its value, half a unit of its last written digit, and its text: "0.40" gives 0.4,
    0.005 and "0.40". A cell left out, "…", gives NaN. Raise an error for any other text.

    decimals: to how many digits whole numbers were rounded. If it is None, their half unit is NaN.
    """
    text = "…" if written is None else str(written).strip()
    if text.lower() in LEFT_OUT:
        return math.nan, 0.0, "…"
    plain = text.replace("−", "-").replace("–", "-").replace("∞", "inf")
    shown = text.replace("inf", "∞").replace("-", "−").replace("–", "−")
    try:
        value = float(decimal := Decimal(plain))
    except (InvalidOperation, ValueError):
        value = math.nan
    if math.isnan(value):
        comma = " Decimals come after a point, not after a comma." if "," in text else ""
        raise UsageError(
            f'{where}: "{text}" is not a number.{comma} Write 0.25, -inf, or … for a number that is left out.'
        )
    if decimal.is_infinite():
        return value, 0.0, shown
    if math.isinf(value):
        raise UsageError(f'{where}: "{text:.40}" is too large for float64. Write a number below 1e308.')
    places = -int(decimal.as_tuple().exponent)
    is_short = places <= 0 and "e" not in plain.lower()
    if is_short and decimals is None:
        return value, math.nan, shown
    if decimals is not None and (is_short or not isinstance(written, str)):
        places = decimals
    return value, float(f"5e{-places - 1}"), shown


def is_near(one: Tensor, other: Tensor, slack: Tensor) -> Tensor:
    """Tell which numbers of two matrices differ by at most `slack`; an infinity only equals itself."""
    return (one == other) | ((one - other).abs() <= slack + EXACT)


def read_claims(
    claims: Mapping[str, Any], heads: int, decimals: int | None, stages: Mapping[str, str] = STAGES
) -> dict[str, Claim]:
    """Read the claims, a matrix for each stage, and return them in the order of computation. Raise an error
    for an unknown stage."""
    convert("decimals", decimals, int | None, {"low": 0})
    for name in claims:
        if name not in stages:
            near = did_you_mean(name, stages) or f" There are: {', '.join(stages)}."
            raise UsageError(f"no stage is called {name!r}.{near}")
    counts = {name: heads if "H" in axes else 1 for name, axes in stages.items()}
    return {name: _claim(name, claims[name], counts[name], decimals) for name in stages if name in claims}


def _claim(name: str, matrix: Any, wanted: int, decimals: int | None) -> Claim:
    """Read a matrix, or one matrix per head if the stage has heads."""
    nested = matrix.tolist() if isinstance(matrix, Tensor | np.ndarray) else matrix
    try:
        matrices = nested if isinstance(nested[0][0], list | tuple) else [nested]
        if any(isinstance(row, str) for each in matrices for row in each):  # whose letters are no cells
            raise TypeError
        cells = [[[number(cell, decimals, name) for cell in row] for row in each] for each in matrices]
    except (TypeError, IndexError, KeyError):
        raise UsageError(f'{name}: the claim is not a matrix. Write rows, [["0.4", "0.6"], …].') from None
    if len(cells) != wanted:
        raise UsageError(
            f"{name}: {len(cells)} matrices are claimed, but {wanted} are needed, one for each head."
        )
    if len({len(row) for each in cells for row in each}) != 1 or len({len(each) for each in cells}) != 1:
        raise UsageError(f"{name}: the claimed rows have different lengths. Write … for a number left out.")
    numbers, halves = (
        torch.tensor([[[cell[part] for cell in row] for row in each] for each in cells], dtype=torch.float64)
        for part in (0, 1)
    )
    return Claim([[[cell[2] for cell in row] for row in each] for each in cells], numbers, halves)
