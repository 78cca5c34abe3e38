"""each Add & Norm in numbers: mean, variance, standardised and final values, position by position.

"LayerNorm(x + Sublayer(x))" (Vaswani et al. 2017, section 3.1), where each position's vector gets mean 0 and
variance 1 (biased, ε = 1e-5), then a weight and a bias for each dimension (Ba et al. 2016).
"""

from collections.abc import Sequence

import torch
from torch import Tensor

from pellucid.errors import UsageError
from pellucid.experiments.result import Result, Row, Shades, Table
from pellucid.explanation import Explanation
from pellucid.seeing.records import no_such_name
from pellucid.show.columns import digits, short

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
    spreads = [_spreads(each, [*moments[each][0], *moments[each][2]]) for each in parts]
    before, then, _ = (torch.cat([moments[each][stage] for each in parts], dim=1) for stage in range(3))
    tokens = trace[f"{part}.mean"].labels("L")
    rows = [[token, *row] for token, row in zip(tokens, torch.cat(moments[part][:2]).T.tolist(), strict=True)]
    return Result(
        title=explanation.title,
        conclusion=f"Before the {len(parts)} norms the vectors' variances reach from {before[1].min():.3f} "
        f"to {before[1].max():.3f}; standardised, each has mean 0 (off by "
        f"{digits(float(then[0].abs().max()))} at most) and variance 1 ({then[1].min():z.4f} to "
        f"{then[1].max():z.4f}: ε = 1e-5 takes the rest).",
        tables=[
            Table(
                "from the least to the greatest of the positions; final: after the norm's weight and bias",
                ["norm", "mean", "variance", "final mean", "final var."],
                spreads,
                form=".2f",
            ),
            Table(
                f"{part}, position by position",
                ["", "mean", "variance", "then mean", "variance"],
                rows,
                form=".4f",
            ),
            _first_dimensions(explanation, part, tokens, every[part]),
        ],
        picture=[
            Shades(f"{part}: {name}", each.tolist(), tokens, signed=True)
            for name, each in zip(STAGES, every[part], strict=True)
        ],
    )


def _first_dimensions(
    explanation: Explanation, part: str, tokens: Sequence[str], stages: Sequence[Tensor]
) -> Table:
    rows: list[Row] = [
        [token, name, *stage[place, :SHOWN].tolist()]
        for place, token in enumerate(tokens)
        for name, stage in zip(STAGES, stages, strict=True)
    ]
    for name in ("weight", "bias"):
        learned = explanation.translator.model.get_parameter(f"{part}.{name}")
        rows.append(["", name, *learned[:SHOWN].tolist()])
    width, header = len(learned), [f"d {place}" for place in range(min(SHOWN, len(learned)))]
    title = f"the first {len(header)} of {width} dimensions: standardized · weight + bias = final"
    return Table(title, ["", "", *header], rows, form=".4f", left=2)


def _vectors(explanation: Explanation, part: str) -> list[Tensor]:
    """Return three tensors L D: the norm's input, the standardised input, and the norm's output."""
    names = ("standardized", "output", "mean", "variance")
    standardized, final, mean, variance = (
        explanation.trace[f"{part}.{name}"].tensor[0].double() for name in names
    )
    return [standardized * (variance[:, None] + 1e-5).sqrt() + mean[:, None], standardized, final]


def _moments(vectors: Tensor) -> Tensor:
    """2 L: the mean and the variance of each position's vector."""
    return torch.stack((vectors.mean(-1), vectors.var(-1, correction=0)))


def _spreads(part: str, numbers: Sequence[Tensor]) -> Row:
    """The least and the greatest of each."""
    spreads = [(float(each.min()), " to ", float(each.max())) for each in numbers]
    return [short(part).removesuffix(" norm"), *spreads]
