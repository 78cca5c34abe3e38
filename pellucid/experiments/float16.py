"""a very large negative number masks as -inf does in float32, and overflows in float16.

The paper masks by "setting to -inf" the scores of what must not be seen (section 3.2.3); much code adds a
very large negative number instead.
"""

import math
from collections.abc import Sequence

import torch

from pellucid.errors import UsageError
from pellucid.experiments.result import Result, Row, Table
from pellucid.show.panels import Bars

LARGEST = 65504  # the largest number that float16 has
HEADER = ("precision", "number", "is held as", "masked weight", "off -inf by", "a row all masked")


def experiment(
    *,
    numbers: Sequence[float] = (-math.inf, -1e9, -1e4, -100.0, -10.0),
    scores: Sequence[float] = (2.0, 1.0, 0.5),
) -> Result:
    """Mask the last of `scores` with each of the `numbers`, in float32 and in float16."""
    finite = [number for number in numbers if math.isfinite(number)]
    if not finite or not all(number < 0 for number in numbers):
        raise UsageError(
            f"numbers = {list(numbers)}: give numbers below 0, one of them finite, such as -1e9."
        )
    tried, large = list(dict.fromkeys((-math.inf, *numbers))), min(finite)
    exact = torch.tensor([*scores[:-1], -math.inf], dtype=torch.float64).softmax(-1)
    rows: list[Row] = []
    off: dict[str, list[float]] = {"float32": [], "float16": []}
    for precision in off:
        for number in tried:
            given = torch.tensor([*scores, number], dtype=getattr(torch, precision))
            row, held = given[:-1], given[-1]
            masked = torch.cat((row[:-1], row[-1:] + held)).softmax(-1)
            refused = " (refused)" if math.isinf(held) and math.isfinite(number) else ""
            everything = " ".join(f"{weight:.2f}" for weight in (row + held).softmax(-1))
            off[precision].append(float((masked.double() - exact).abs().max()))
            cells = [(float(held), refused), float(masked[-1]), off[precision][-1], everything]
            rows.append([precision, number, *cells])
    same = rows[tried.index(large)][3:5] == rows[0][3:5]
    half = f"in float16 it is held as {float(torch.tensor(large, dtype=torch.float16)):g}."
    if large < -LARGEST:
        half = f"float16 has no {large:g} (its largest number is {LARGEST}): it becomes -∞ itself."
    title = "largest difference of a weight from what −∞ gives in float64"
    return Result(
        conclusion=f"In float32 {large:g} gives {'the very same' if same else 'other'} weights "
        f"{'as' if same else 'than'} -∞; {half}",
        tables=[Table("", HEADER, rows, form=["", "g", "g", 4, 4, ""], left=2)],
        picture=[Bars(title, [f"{number:g}" for number in tried], off, "y")],
        note=f"Scores {', '.join(map(str, scores))}; the number is added to the last, or, in the last "
        "column, to all. (refused): masked_fill raises an error. Where a row is all masked, -∞ gives 0/0 "
        "(nan): our model gives such a row weights of 0.",
    )
