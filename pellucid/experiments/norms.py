"""each Add & Norm in numbers: mean, variance, standardised and final values, position by position.

"LayerNorm(x + Sublayer(x))" (Vaswani et al. 2017, section 3.1), where each position's vector gets mean 0 and
variance 1 (biased, ε = 1e-5), then a weight and a bias for each dimension (Ba et al. 2016).
"""

import torch
from torch import Tensor

from pellucid.experiments.result import Result, Row, Table, span
from pellucid.explanation import Explanation
from pellucid.reading.tensors import made_of
from pellucid.show.columns import digits, short
from pellucid.show.panels import Shades

SHOWN = 6  # dimensions of a vector that a table has room for
STAGES = ("before", "standardized", "final")


def experiment(explanation: Explanation, *, part: str | None = None) -> Result:
    """Measure every norm of the pass. Show all vectors of one norm, `part`: by default the decoder's
    first."""
    trace, model = explanation.trace, explanation.translator.model
    parts = [name.removesuffix(".variance") for name in trace if name.endswith(".variance")]
    part = part or next(name for name in parts if name.startswith("decoder"))
    norms = {each: measure(explanation, each) for each in parts}
    means, variances = torch.cat(list(norms.values()), dim=1)[..., :2].movedim(-1, 0)
    labels, width = trace[f"{part}.mean"].labels("L"), model.config.width
    spreads = list[Row]()
    for name, (before, _, final) in norms.items():
        spreads.append([short(name).removesuffix(" norm"), *map(span, (*before.T[:2], *final.T[:2]))])
    rows = list[Row]()
    for token, stages in zip(labels, norms[part].transpose(0, 1).tolist(), strict=True):
        rows += [[token, name, *stage[: 2 + SHOWN]] for name, stage in zip(STAGES, stages, strict=True)]
    for name in ("weight", "bias"):
        rows.append(["", name, None, None, *model.get_parameter(f"{part}.{name}")[:SHOWN].tolist()])
    title = "from the least to the greatest of the positions; final: after the norm's weight and bias"
    about = f"{part}, position by position; the first {min(SHOWN, width)} of {width} dimensions"
    header = ["", "", "mean", "variance", *(f"d {place}" for place in range(width)[:SHOWN])]
    grids = zip(STAGES, norms[part][..., 2:].tolist(), strict=True)
    return Result(
        conclusion=f"Before the {len(parts)} norms the vectors' variances reach from "
        f"{variances[0].min():.3f} to {variances[0].max():.3f}; standardised, each has mean 0 (off by "
        f"{digits(float(means[1].abs().max()))} at most) and variance 1 ({variances[1].min():z.4f} to "
        f"{variances[1].max():z.4f}: ε = 1e-5 takes the rest).",
        tables=[
            Table(["norm", "mean", "variance", "final mean", "final var."], spreads, form=".2f", title=title),
            Table(header, rows, 2, form=".4f", title=f"{about}: standardized · weight + bias = final"),
        ],
        picture=[Shades(f"{part}: {name}", grid, labels, signed=True) for name, grid in grids],
    )


def measure(explanation: Explanation, part: str) -> Tensor:
    """Return three stages of a norm, 3 L (2 + D): its input, the standardised input and its output. Each
    position has its mean, variance and vector."""
    (before,), _ = made_of(f"{part}.mean", explanation.translator.model.config)
    names = before, f"{part}.standardized", f"{part}.output"
    vectors = torch.stack([explanation.trace[name].tensor[0].double() for name in names])
    moments = vectors.mean(-1, keepdim=True), vectors.var(-1, correction=0, keepdim=True)
    return torch.cat((*moments, vectors), dim=-1)
