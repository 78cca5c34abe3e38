"""Numbers as somebody wrote them: "0.40" says two digits, "1.0" one, "…" is left out."""

import difflib
import math
from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from typing import Any

import numpy as np
import torch
from torch import Tensor

from pellucid.errors import UsageError
from pellucid.explain.worked.stages import STAGES

LEFT_OUT = ("…", "...", "⋮", "⋯", "⋱", "")
EXACT = 1e-9  # added to every slack: what float64 itself may lose


@dataclass(frozen=True)
class Claim:
    """A claimed matrix: its cells as written, their numbers (NaN where left out) and half a unit of each."""

    written: list[list[list[str]]]  # head, row, column
    numbers: Tensor  # H × rows × columns; H is 1 where the stage has no heads
    halves: Tensor


def read_claims(claims: Mapping[str, Any], heads: int, decimals: int | None) -> dict[str, Claim]:
    """The claims in the order of computation."""
    if decimals is not None and (not isinstance(decimals, int) or isinstance(decimals, bool) or decimals < 0):
        raise UsageError(f"decimals = {decimals!r} must be a whole number, 0 or more.")
    for name in claims:
        if name not in STAGES:
            near = difflib.get_close_matches(str(name), STAGES, n=3, cutoff=0.5)
            raise UsageError(f"no stage is called {name!r}. Nearest: {', '.join(near or STAGES)}.")
    return {name: _claim(name, claims[name], heads, decimals) for name in STAGES if name in claims}


def number(written: Any, decimals: int | None = None, where: str = "claim") -> tuple[float, float, str]:
    """A number, half a unit of its last digit as written, and the text; NaN for what is left out."""
    text = "…" if written is None else str(written).strip()
    if text in LEFT_OUT or text.lower() == "nan":
        return math.nan, 0.0, "…"
    plain = text.replace("−", "-").replace("–", "-").replace("∞", "inf")
    try:
        if isinstance(written, bool | np.bool_):
            raise InvalidOperation
        decimal = Decimal(plain)
    except InvalidOperation:
        raise UsageError(
            f'{where}: "{text}" is not a number. Write 0.25, -inf, or … for one left out.'
        ) from None
    if decimal.is_infinite():
        return float(decimal), 0.0, text.replace("inf", "∞").replace("-", "−")
    places = -int(decimal.as_tuple().exponent)
    if (places <= 0 and "e" not in plain.lower()) or (decimals is not None and not isinstance(written, str)):
        if decimals is None:
            raise UsageError(
                f"{where}: the whole number {text} does not say to how many digits it was rounded. Write "
                f'"{text}.0", or give decimals=0.'
            )
        places = decimals
    return float(decimal), 0.5 * 10.0**-places, text


def _claim(name: str, matrix: Any, heads: int, decimals: int | None) -> Claim:
    """A matrix, or one for each head where the stage has heads."""
    per_head = "H" in STAGES[name]
    nested = matrix.tolist() if isinstance(matrix, Tensor) else matrix
    try:
        depth = 3 if _is_list(nested[0][0]) else 2
        if per_head and depth == 2 and heads > 1:
            raise UsageError(f"{name}: {heads} heads have a matrix each, and one is claimed. Give {heads}.")
        matrices = nested if depth == 3 else [nested]
        rows = [[[*row] for row in each] for each in matrices]
    except (TypeError, IndexError, KeyError):
        raise UsageError(f'{name}: the claim is not a matrix. Write rows, [["0.4", "0.6"], …].') from None
    if len({len(row) for each in rows for row in each}) != 1 or len({len(each) for each in rows}) != 1:
        raise UsageError(f"{name}: the claimed rows differ in length. Write … for what is left out.")
    cells = [[[number(cell, decimals, name) for cell in row] for row in each] for each in rows]
    numbers, halves = (torch.tensor(_picked(cells, part), dtype=torch.float64) for part in (0, 1))
    return Claim(_picked(cells, 2), numbers, halves)


def _picked(cells: list[list[list[tuple[float, float, str]]]], part: int) -> list[list[list[Any]]]:
    return [[[cell[part] for cell in row] for row in matrix] for matrix in cells]


def _is_list(value: Any) -> bool:
    return isinstance(value, list | tuple | np.ndarray)
