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
    trace = explanation.trace
    parts = [name.removesuffix(".variance") for name in trace if name.endswith(".variance")]
    part = next(name for name in parts if name.startswith("decoder")) if part is None else part
    if part not in parts:
        raise UsageError(f"part: {no_such_name(part, parts).replace('tensor', 'norm')}")
    every = {each: _vectors(explanation, each) for each in parts}
    moments = {each: [_moments(vectors) for vectors in every[each]] for each in parts}
    before, then = (torch.cat([moments[each][stage] for each in parts], dim=1) for stage in (0, 1))
    spreads: list[Row] = []
    for each, (first, _, final) in moments.items():
        ranges = [(float(some.min()), " to ", float(some.max())) for some in (*first, *final)]
        spreads.append([short(each).removesuffix(" norm"), *ranges])
    title = "from the least to the greatest of the positions; final: after the norm's weight and bias"
    header = ["norm", "mean", "variance", "final mean", "final var."]
    return Result(
        conclusion=f"Before the {len(parts)} norms the vectors' variances reach from {before[1].min():.3f} "
        f"to {before[1].max():.3f}; standardised, each has mean 0 (off by "
        f"{digits(float(then[0].abs().max()))} at most) and variance 1 ({then[1].min():z.4f} to "
        f"{then[1].max():z.4f}: ε = 1e-5 takes the rest).",
        tables=[
            Table(title, header, spreads, form=".2f"),
            _positions(explanation, part, every[part]),
        ],
        picture=[
            Shades(f"{part}: {name}", each.tolist(), trace[f"{part}.mean"].labels("L"), signed=True)
            for name, each in zip(STAGES, every[part], strict=True)
        ],
    )


def _positions(explanation: Explanation, part: str, stages: list[Tensor]) -> Table:
    """Return the moments of each position's vector, and its first dimensions, before and after the norm."""
    rows: list[Row] = [
        [token, name, *_moments(vectors)[:, place].tolist(), *vectors[place, :SHOWN].tolist()]
        for place, token in enumerate(explanation.trace[f"{part}.mean"].labels("L"))
        for name, vectors in zip(STAGES, stages, strict=True)
    ]
    for name in ("weight", "bias"):
        learned = explanation.translator.model.get_parameter(f"{part}.{name}")
        rows.append(["", name, None, None, *learned[:SHOWN].tolist()])
    dimensions = [f"d {place}" for place in range(min(SHOWN, len(learned)))]
    title = (
        f"{part}, position by position; the first {len(dimensions)} of {len(learned)} dimensions: "
        "standardized · weight + bias = final"
    )
    return Table(title, ["", "", "mean", "variance", *dimensions], rows, form=".4f", left=2)


def _vectors(explanation: Explanation, part: str) -> list[Tensor]:
    """Return three tensors L D: the norm's input, the standardised input, and the norm's output."""
    names = ("standardized", "output", "mean", "variance")
    tensors = [explanation.trace[f"{part}.{name}"].tensor[0].double() for name in names]
    standardized, final, mean, variance = tensors
    return [standardized * (variance[:, None] + 1e-5).sqrt() + mean[:, None], standardized, final]


def _moments(vectors: Tensor) -> Tensor:
    """Return 2 L: the mean and the variance of each position's vector."""
    return torch.stack((vectors.mean(-1), vectors.var(-1, correction=0)))
