"""each Add & Norm in numbers: mean, variance, standardised and final values, position by position.

"LayerNorm(x + Sublayer(x))" (Vaswani et al. 2017, section 3.1), where each position's vector gets mean 0 and
variance 1 (biased, ε = 1e-5), then a weight and a bias for each dimension (Ba et al. 2016).
"""

import torch
from torch import Tensor

from pellucid.errors import UsageError
from pellucid.experiments.result import Result, Row, Table
from pellucid.explanation import Explanation
from pellucid.seeing.records import no_such_name
from pellucid.show.columns import digits, short
from pellucid.show.panels import Shades

SHOWN = 6  # dimensions of a vector that a table has room for
STAGES = ("before", "standardized", "final")


def experiment(explanation: Explanation, *, part: str | None = None) -> Result:
    """Measure every norm of the pass; show the vectors of the norm `part`, by default the decoder's first."""
    parts = [name.removesuffix(".variance") for name in explanation.trace if name.endswith(".variance")]
    part = part or next(name for name in parts if name.startswith("decoder"))
    if part not in parts:
        raise UsageError(f"part: {no_such_name(part, parts).replace('tensor', 'norm')}")
    moments = {each: _moments(_vectors(explanation, each)) for each in parts}
    means, variances = torch.cat(list(moments.values()), dim=-1)
    spreads: list[Row] = []
    for each, numbers in moments.items():
        of_both = (*numbers[:, 0], *numbers[:, 2])
        ranges = [(float(some.min()), " to ", float(some.max())) for some in of_both]
        spreads.append([short(each).removesuffix(" norm"), *ranges])
    title = "from the least to the greatest of the positions; final: after the norm's weight and bias"
    header = ["norm", "mean", "variance", "final mean", "final var."]
    labels = explanation.trace[f"{part}.mean"].labels("L")
    grids = zip(STAGES, _vectors(explanation, part).tolist(), strict=True)
    return Result(
        conclusion=f"Before the {len(parts)} norms the vectors' variances reach from "
        f"{variances[0].min():.3f} to {variances[0].max():.3f}; standardised, each has mean 0 (off by "
        f"{digits(float(means[1].abs().max()))} at most) and variance 1 ({variances[1].min():z.4f} to "
        f"{variances[1].max():z.4f}: ε = 1e-5 takes the rest).",
        tables=[Table(title, header, spreads, form=".2f"), _positions(explanation, part, labels)],
        picture=[Shades(f"{part}: {name}", grid, labels, signed=True) for name, grid in grids],
    )


def _positions(explanation: Explanation, part: str, labels: list[str]) -> Table:
    """Return the moments of each position's vector, and its first dimensions, before and after the norm."""
    vectors = _vectors(explanation, part)
    rows: list[Row] = [
        [token, name, *numbers.tolist()]
        for place, token in enumerate(labels)
        for name, numbers in zip(
            STAGES, torch.cat((_moments(vectors)[:, :, place].T, vectors[:, place, :SHOWN]), 1), strict=True
        )
    ]
    for name in ("weight", "bias"):
        learned = explanation.translator.model.get_parameter(f"{part}.{name}")
        rows.append(["", name, None, None, *learned[:SHOWN].tolist()])
    shown = f"{part}, position by position; the first {min(SHOWN, len(learned))} of {len(learned)} dimensions"
    header = ["", "", "mean", "variance", *(f"d {place}" for place in range(min(SHOWN, len(learned))))]
    return Table(f"{shown}: standardized · weight + bias = final", header, rows, form=".4f", left=2)


def _vectors(explanation: Explanation, part: str) -> Tensor:
    """Return 3 L D: the norm's input, the standardised input, and the norm's output."""
    names = ("standardized", "output", "mean", "variance")
    tensors = [explanation.trace[f"{part}.{name}"].tensor[0].double() for name in names]
    standardized, final, mean, variance = tensors
    before = standardized * (variance[:, None] + 1e-5).sqrt() + mean[:, None]
    return torch.stack((before, standardized, final))


def _moments(vectors: Tensor) -> Tensor:
    """Return the mean and the variance of each position's vector: 3 L D -> 2 3 L."""
    return torch.stack((vectors.mean(-1), vectors.var(-1, correction=0)))
