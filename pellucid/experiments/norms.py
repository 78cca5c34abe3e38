"""each Add & Norm in numbers: mean, variance, standardised and final values, position by position.

"LayerNorm(x + Sublayer(x))" (Vaswani et al. 2017, section 3.1), where each position's vector gets mean 0 and
variance 1 (biased, ε = 1e-5), then a weight and a bias for each dimension (Ba et al. 2016).
"""

import torch
from torch import Tensor

from pellucid.experiments.result import Result, Row, Table
from pellucid.explanation import Explanation
from pellucid.reading.tensors import origin
from pellucid.show.columns import digits, short
from pellucid.show.panels import Shades

SHOWN = 6  # dimensions of a vector that a table has room for
STAGES = ("before", "standardized", "final")


def experiment(explanation: Explanation, *, part: str | None = None) -> Result:
    """Measure every norm of the pass; show the vectors of the norm `part`, by default the decoder's first."""
    trace, model = explanation.trace, explanation.translator.model
    parts = [name.removesuffix(".variance") for name in trace if name.endswith(".variance")]
    part = part or next(name for name in parts if name.startswith("decoder"))
    labels, vectors = trace[f"{part}.mean"].labels("L"), vectors_of(explanation, part)
    moments = {each: moments_of(vectors_of(explanation, each)) for each in parts}
    means, variances = torch.cat(list(moments.values()), dim=-1)
    spreads: list[Row] = []
    for each, numbers in moments.items():
        ranges = [(float(some.min()), " to ", float(some.max())) for some in (*numbers[:, 0], *numbers[:, 2])]
        spreads.append([short(each).removesuffix(" norm"), *ranges])
    rows: list[Row] = [
        [token, name, *moments_of(vector).tolist(), *vector[:SHOWN].tolist()]
        for place, token in enumerate(labels)
        for name, vector in zip(STAGES, vectors[:, place], strict=True)
    ]
    for name in ("weight", "bias"):
        rows.append(["", name, None, None, *model.get_parameter(f"{part}.{name}")[:SHOWN].tolist()])
    width = vectors.shape[-1]
    shown = min(SHOWN, width)
    about = f"{part}, position by position; the first {shown} of {width} dimensions"
    title = "from the least to the greatest of the positions; final: after the norm's weight and bias"
    header = ["", "", "mean", "variance", *(f"d {place}" for place in range(shown))]
    grids = zip(STAGES, vectors.tolist(), strict=True)
    return Result(
        conclusion=f"Before the {len(parts)} norms the vectors' variances reach from "
        f"{variances[0].min():.3f} to {variances[0].max():.3f}; standardised, each has mean 0 (off by "
        f"{digits(float(means[1].abs().max()))} at most) and variance 1 ({variances[1].min():z.4f} to "
        f"{variances[1].max():z.4f}: ε = 1e-5 takes the rest).",
        tables=[
            Table(title, ["norm", "mean", "variance", "final mean", "final var."], spreads, form=".2f"),
            Table(f"{about}: standardized · weight + bias = final", header, rows, form=".4f", left=2),
        ],
        picture=[Shades(f"{part}: {name}", grid, labels, signed=True) for name, grid in grids],
    )


def vectors_of(explanation: Explanation, part: str) -> Tensor:
    """Return 3 L D: the norm's input, the standardised input, and the norm's output."""
    (before,) = origin(f"{part}.mean", explanation.translator.model.config).of
    names = before, f"{part}.standardized", f"{part}.output"
    return torch.stack([explanation.trace[name].tensor[0].double() for name in names])


def moments_of(vectors: Tensor) -> Tensor:
    """Return the mean and the variance of each vector: ... D -> 2 ..."""
    return torch.stack((vectors.mean(-1), vectors.var(-1, correction=0)))
