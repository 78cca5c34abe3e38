"""a very large negative number masks like -inf in float32, but overflows in float16.

The paper masks scores by "setting to -inf" (section 3.2.3). Much code adds a very large negative number
instead.
"""

import math

import torch

from pellucid.experiments.result import Result, Row, Table
from pellucid.show.panels import Bars

NUMBERS, SCORES = (-math.inf, -1e9, -1e4, -100.0, -10.0), (2.0, 1.0, 0.5)
LARGE, LARGEST = "-1e+09", 65504  # the number that most code adds; the largest that float16 has
HEADER = ("precision", "number", "is held as", "masked weight", "off -inf by", "a row all masked")


def experiment() -> Result:
    """Mask the last of three scores by adding -inf, -1e9, -1e4, -100 or -10, in float32 and in float16."""
    exact = torch.tensor([*SCORES[:-1], -math.inf], dtype=torch.float64).softmax(-1)
    rows: list[Row] = []
    off: dict[str, list[float]] = {"float32": [], "float16": []}
    for precision in off:
        for number in NUMBERS:
            given = torch.tensor([*SCORES, number], dtype=getattr(torch, precision))
            row, held = given[:-1], given[-1]
            masked = torch.cat((row[:-1], row[-1:] + held)).softmax(-1)
            refused = " (refused)" if math.isinf(held) and math.isfinite(number) else ""
            everything = " ".join(f"{weight:.2f}" for weight in (row + held).softmax(-1))
            off[precision].append(float((masked.double() - exact).abs().max()))
            cells = [(float(held), refused), float(masked[-1]), off[precision][-1], everything]
            rows.append([precision, number, *cells])
    same, held = rows[1][3:5] == rows[0][3:5], rows[len(NUMBERS) + 1][2][0]
    becomes = "it becomes -∞ itself" if math.isinf(held) else f"it is held as {held:g}"
    title = "largest difference of a weight from what −∞ gives in float64"
    return Result(
        conclusion=f"In float32 {LARGE} gives {'the very same' if same else 'other'} weights as -∞; float16 "
        f"has no {LARGE} (its largest number is {LARGEST}): {becomes}.",
        tables=[Table(HEADER, rows, 2, form=["", "g", "g", 4, 4, ""])],
        picture=[Bars(title, [f"{number:g}" for number in NUMBERS], off, "y")],
        note=f"Scores {', '.join(map(str, SCORES))}; the number is added to the last, or, in the last "
        "column, to all. (refused): masked_fill raises an error. Where a row is all masked, -∞ gives 0/0 "
        "(nan): our model gives such a row weights of 0.",
    )
