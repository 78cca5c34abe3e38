"""Numbers as somebody wrote them: "0.40" says two digits, "1.0" one, "…" is left out."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from typing import Any

import numpy as np
import torch
from torch import Tensor

from pellucid.config.nearest import nearest
from pellucid.config.whole import is_whole
from pellucid.errors import UsageError
from pellucid.worked.matrices import refuse_what_would_lose
from pellucid.worked.stages import STAGES

LEFT_OUT = ("…", "...", "⋮", "⋯", "⋱", "")
EXACT = 1e-9  # added to every slack: what float64 itself may lose
POWERS = 300  # of ten, that a written number may have: a float64 has some 308


@dataclass(frozen=True)
class Claim:
    """A claimed matrix: its cells as written, their numbers (NaN where left out) and half a unit of each."""

    written: list[list[list[str]]]  # head, row, column
    numbers: Tensor  # H × rows × columns; H is 1 where the stage has no heads
    halves: Tensor
    is_whole: bool = False  # one matrix for all heads, as a slide prints it; here a slice for each


def read_claims(
    claims: Mapping[str, Any], heads: int, decimals: int | None, widths: Mapping[str, int]
) -> dict[str, Claim]:
    """The claims in the order of computation; `widths` says how wide queries, keys and values are whole."""
    if not isinstance(claims, Mapping):
        raise UsageError('claims are matrices by the names of stages: {"weights": [["0.4", "0.6"]]}.')
    if decimals is not None and not is_whole(decimals, 0):
        raise UsageError(f"decimals = {decimals!r} must be a whole number, 0 or more.")
    for name in claims:
        if name not in STAGES:
            near = nearest(name, STAGES, cutoff=0.5)
            raise UsageError(f"no stage is called {name!r}. Nearest: {', '.join(near or STAGES)}.")
    return {
        name: _claim(name, claims[name], heads, decimals, widths.get(name, 0))
        for name in STAGES
        if name in claims
    }


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
        if decimal.is_nan():  # sNaN, NaN123
            raise InvalidOperation
    except InvalidOperation:
        raise UsageError(
            f'{where}: "{text}" is not a number. Write 0.25, -inf, or … for one left out.'
        ) from None
    if decimal.is_infinite():
        return float(decimal), 0.0, text.replace("inf", "∞").replace("-", "−")
    places = -int(decimal.as_tuple().exponent)
    if places < -POWERS or (decimal and not -POWERS <= decimal.adjusted() <= POWERS):
        raise UsageError(
            f'{where}: "{text:.40}" is too large or too small for float64. Write a number between '
            f"1e-{POWERS} and 1e{POWERS}."
        )
    if (places <= 0 and "e" not in plain.lower()) or (decimals is not None and not isinstance(written, str)):
        if decimals is None:
            raise UsageError(
                f"{where}: the whole number {text} does not say to how many digits it was rounded. Write "
                f'"{text.rstrip(".")}.0", or give decimals=0.'
            )
        places = min(decimals, POWERS)
    return float(decimal), 0.5 * 10.0**-places, text.replace("-", "−").replace("–", "−")


def _claim(name: str, matrix: Any, heads: int, decimals: int | None, width: int) -> Claim:
    """A matrix, or one for each head where the stage has heads, or the whole one, `width` columns wide."""
    refuse_what_would_lose(f"the claim on {name}", matrix)
    nested = matrix.tolist() if isinstance(matrix, Tensor) else matrix
    try:
        depth = 3 if _is_list(nested[0][0]) else 2
        matrices = nested if depth == 3 else [nested]
        is_whole = len(matrices) == 1 < heads and {len(row) for row in matrices[0]} == {width}
        if not is_whole:
            _check_heads(name, len(matrices), heads, width)
        rows = [[[*row] for row in each] for each in matrices]
    except (TypeError, IndexError, KeyError):
        raise UsageError(f'{name}: the claim is not a matrix. Write rows, [["0.4", "0.6"], …].') from None
    if len({len(row) for each in rows for row in each}) != 1 or len({len(each) for each in rows}) != 1:
        raise UsageError(f"{name}: the claimed rows differ in length. Write … for what is left out.")
    cells = [[[number(cell, decimals, name) for cell in row] for row in each] for each in rows]
    if is_whole:
        own = width // heads
        cells = [[row[head * own : (head + 1) * own] for row in cells[0]] for head in range(heads)]
    numbers, halves = (torch.tensor(_picked(cells, part), dtype=torch.float64) for part in (0, 1))
    return Claim(_picked(cells, 2), numbers, halves, is_whole)


def _check_heads(name: str, claimed: int, heads: int, width: int) -> None:
    """Raises unless there is a claimed matrix for each of the stage's."""
    has_heads = "H" in STAGES[name]
    wanted = heads if has_heads else 1
    if claimed == wanted:
        return
    if claimed == 1:
        whole = f", or the whole one, of {width} columns" if width else ""
        raise UsageError(
            f"{name}: {heads} heads have a matrix each, and one is claimed. Give {heads}{whole}."
        )
    one = "is one head" if has_heads else "is one for all heads"
    there = one if wanted == 1 else f"are {wanted} heads"
    raise UsageError(f"{name}: {claimed} matrices are claimed, and there {there}. Give {wanted}.")


def _picked(cells: list[list[list[tuple[float, float, str]]]], part: int) -> list[list[list[Any]]]:
    return [[[cell[part] for cell in row] for row in matrix] for matrix in cells]


def _is_list(value: Any) -> bool:
    return isinstance(value, list | tuple | np.ndarray)
