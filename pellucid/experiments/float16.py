"""a very large negative number masks as -inf does in float32, and overflows in float16.

The paper masks by "setting to -inf" the scores of what must not be seen (section 3.2.3); much code adds a
very large negative number instead.
"""

import math
from collections.abc import Sequence

import torch
from torch import Tensor

from pellucid.errors import UsageError
from pellucid.experiments.result import Bars, Cell, Result, Table

LARGEST = 65504  # the largest number that float16 has
PRECISIONS = {"float32": torch.float32, "float16": torch.float16}
HEADER = ("precision", "number", "is held as", "masked weight", "off -inf by", "a row all masked")


def experiment(
    *,
    numbers: Sequence[float] = (-math.inf, -1e9, -1e4, -100.0, -10.0),
    scores: Sequence[float] = (2.0, 1.0, 0.5),
) -> Result:
    """Mask the last of `scores` with each of the `numbers`, in float32 and in float16."""
    finite = [number for number in numbers if -math.inf < number < 0]
    if not finite or not all(number < 0 for number in numbers):
        raise UsageError(
            f"numbers = {list(numbers)} must be below 0, one of them finite: each is added to a score to mask "
            "it. Give one such as -1e9."
        )
    numbers, large = tuple(dict.fromkeys((-math.inf, *numbers))), min(finite)
    rows = [_row(scores, number, name) for name in PRECISIONS for number in numbers]
    weights = {number: _weights(scores, number, torch.float32) for number in numbers}
    same = torch.equal(weights[large], weights[-math.inf])
    held = float(torch.tensor(large, dtype=torch.float16))
    half = f"in float16 it is held as {held:g}."
    if math.isinf(held):
        half = f"float16 has no {large:g} (its largest number is {LARGEST}): it becomes -∞ itself."
    off = {name: [float(row[4]) for row in rows if row[0] == name] for name in PRECISIONS}  # type: ignore[arg-type]
    return Result(
        title="",
        conclusion=f"In float32 {large:g} gives {'the very same' if same else 'other'} weights "
        f"{'as' if same else 'than'} -∞; {half}",
        tables=[Table("", HEADER, rows, form=[0, "g", "g", 4, 4, ".2f"], left=2)],
        picture=[
            Bars(
                "largest difference of a weight from what −∞ gives in float64",
                [f"{n:g}" for n in numbers],
                off,
                log=True,
            )
        ],
        note=f"Scores {', '.join(f'{score:g}' for score in scores)}; the number is added to the last, or, in "
        "the last column, to all of them. (refused): masked_fill raises an error, for the number has no "
        "float16; adding it gives -∞. Where a row is all masked, -∞ gives 0/0 (nan): our model gives such a "
        "row weights of 0.",
    )


def _row(scores: Sequence[float], number: float, precision: str) -> list[Cell]:
    dtype = PRECISIONS[precision]
    held, weights = torch.tensor(number, dtype=dtype), _weights(scores, number, dtype)
    off = float((weights.double() - _weights(scores, -math.inf, torch.float64)).abs().max())
    all_masked = " ".join(
        f"{weight:.2f}" for weight in (torch.tensor(scores, dtype=dtype) + held).softmax(-1)
    )
    refused = " (refused)" if _is_refused(number, dtype) else ""
    return [precision, number, (float(held), refused), float(weights[-1]), off, all_masked]


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
