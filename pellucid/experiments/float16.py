"""A very large negative number in place of -inf: alike in float32, and too large for float16.

The paper masks by "setting to -inf" the scores of what must not be seen (section 3.2.3); much code adds a
very large negative number instead.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from pellucid.config.whole import is_whole
from pellucid.errors import UsageError
from pellucid.show.columns import columns, digits, paragraph, stacked
from pellucid.show.drawing import drawing

ABOUT = "a very large negative number masks as -inf does in float32, and overflows in float16"
NEEDS = "nothing"
NUMBERS = (-math.inf, -1e9, -1e4, -100.0, -10.0)
SCORES = (2.0, 1.0, 0.5)
LARGEST = 65504  # the largest number that float16 has
PRECISIONS = {"float32": torch.float32, "float16": torch.float16}


@dataclass(frozen=True)
class Row:
    """One number as a mask, in one precision."""

    number: float
    precision: str
    held: float  # what the precision makes of it
    refused: bool  # whether PyTorch's masked_fill takes it
    weights: list[float]  # of the scores, where the last is masked
    off: float  # the largest difference of a weight from what -inf gives in float64
    all_masked: list[float]  # the weights where every score is masked: softmax alone


@dataclass(frozen=True)
class Float16:
    """What each number does in each precision."""

    scores: list[float]
    rows: list[Row]

    def row(self, number: float, precision: str) -> Row:
        """The row of this number in this precision."""
        return next(row for row in self.rows if (row.number, row.precision) == (number, precision))

    @property
    def conclusion(self) -> str:
        """Whether a finite number masks as -inf does, in both precisions."""
        finite = [row.number for row in self.rows if row.number > -math.inf]
        large = -1e9 if -1e9 in finite else min(finite)
        single, half = self.row(large, "float32"), self.row(large, "float16")
        infinite = self.row(-math.inf, "float32")
        agree = "the very same weights as" if single.weights == infinite.weights else "other weights than"
        text = f"In float32 {_number(large)} gives {agree} -∞; "
        if half.held == -math.inf and half.number != -math.inf:
            return (
                text
                + f"float16 has no {_number(large)} (its largest number is {LARGEST}): it becomes -∞ itself."
            )
        return text + f"in float16 it is held as {_number(half.held)}."

    def lines(self, width: int) -> list[str]:
        """What holds, then a line for each number and precision."""
        header = ["precision", "number", "is held as", "masked weight", "off -inf by", "a row all masked"]
        table = [
            [
                row.precision,
                _number(row.number),
                f"{_number(row.held)}{' (refused)' if row.refused else ''}",
                digits(row.weights[-1]),
                digits(row.off),
                " ".join(f"{weight:.2f}" for weight in row.all_masked),
            ]
            for row in self.rows
        ]
        scores = ", ".join(f"{score:g}" for score in self.scores)
        about = f"Scores {scores}; the number is added to the last, or, in the last column, to all of them."
        refused = "(refused): masked_fill raises an error, for the number has no float16; adding it gives -∞."
        empty = "Where a row is all masked, -∞ gives 0/0 (nan): our model gives such a row weights of 0."
        notes = [*paragraph(refused, width), *paragraph(empty, width)]
        return stacked(width, self.conclusion, about, columns(header, table, width, left=2), notes)

    def plot(self, path: str | Path) -> None:
        """The masked weight and the largest number that float16 has, as bars for each number."""
        with drawing(path, "float16") as figure:
            figure.set_size_inches(6, 3.6)
            axes = figure.subplots()
            for shift, precision in enumerate(PRECISIONS):
                rows = [row for row in self.rows if row.precision == precision]
                places = [place + 0.4 * shift for place in range(len(rows))]
                axes.bar(places, [row.off for row in rows], 0.38, label=precision)
            axes.set_xticks(
                [place + 0.2 for place in range(len(rows))], [_number(row.number) for row in rows]
            )
            axes.set_yscale("symlog", linthresh=1e-7)
            axes.set_ylim(0, 1)
            axes.set_ylabel("largest difference of a weight\nfrom what −∞ gives in float64", fontsize=8)
            axes.set_xlabel("the number that masks", fontsize=8)
            axes.legend(fontsize=8)


def experiment(
    *,
    numbers: Sequence[float] = NUMBERS,
    scores: Sequence[float] = SCORES,
) -> Float16:
    """Masks the last of `scores` with each of the `numbers`, in float32 and in float16."""
    if not _are_numbers(scores) or len(scores) < 2 or not all(abs(score) <= LARGEST for score in scores):
        raise UsageError(
            f"scores = {scores!r:.60} must be a list of two numbers or more from -{LARGEST} to {LARGEST}, "
            "which float16 can hold: the last is masked."
        )
    if not _are_numbers(numbers) or not all(number < 0 for number in numbers):
        raise UsageError(
            f"numbers = {numbers!r:.60} must be a list of numbers below 0: each is added to a score to "
            "mask it."
        )
    if all(number == -math.inf for number in numbers):
        raise UsageError(
            f"numbers = {numbers!r:.60}: -inf is compared with other numbers, and there is none. Give one, "
            "such as -1e9."
        )
    exact = _weights(scores, -math.inf, torch.float64)
    wanted = numbers if -math.inf in numbers else (-math.inf, *numbers)
    rows = [_row(scores, number, name, exact) for name in PRECISIONS for number in wanted]
    return Float16(list(scores), rows)


def _row(scores: Sequence[float], number: float, precision: str, exact: Tensor) -> Row:
    dtype = PRECISIONS[precision]
    held = torch.tensor(number, dtype=dtype)
    weights = _weights(scores, number, dtype)
    all_masked = (torch.tensor(scores, dtype=dtype) + held).softmax(-1)
    off = (weights.double() - exact).abs().max().item()
    return Row(
        number, precision, held.item(), _is_refused(number, dtype), weights.tolist(), off, all_masked.tolist()
    )


def _weights(scores: Sequence[float], number: float, dtype: torch.dtype) -> Tensor:
    mask = torch.zeros(len(scores), dtype=dtype)
    mask[-1] = torch.tensor(number, dtype=dtype)
    return (torch.tensor(scores, dtype=dtype) + mask).softmax(-1)


def _is_refused(number: float, dtype: torch.dtype) -> bool:
    try:
        torch.zeros(1, dtype=dtype).masked_fill(torch.tensor([True]), number)
    except RuntimeError:  # value cannot be converted to type c10::Half without overflow
        return True
    return False


def _are_numbers(values: Any) -> bool:
    """Whether it is a list of numbers that a float can hold."""
    return isinstance(values, list | tuple) and all(
        isinstance(each, float) or is_whole(each, -(2**1000), 2**1000) for each in values
    )


def _number(number: float) -> str:
    return "-∞" if number == -math.inf else f"{number:g}"
