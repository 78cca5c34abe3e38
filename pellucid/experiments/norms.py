"""each Add & Norm in numbers: mean, variance, standardised and final values, position by position.

"LayerNorm(x + Sublayer(x))" (Vaswani et al. 2017, section 3.1), where each position's vector gets mean 0 and
variance 1 (biased, ε = 1e-5), then a weight and a bias for each dimension (Ba et al. 2016).
"""

import torch
from torch import Tensor

from pellucid.errors import UsageError
from pellucid.experiments.result import Cell, Result, Shades, Table
from pellucid.explanation import Explanation
from pellucid.seeing.records import no_such_name
from pellucid.show.columns import digits, short

SHOWN = 6  # dimensions of a vector that a table has room for
MOMENTS = ("mean", "variance", "then mean", "then variance", "final mean", "final variance")


def experiment(explanation: Explanation, *, part: str | None = None) -> Result:
    """Measure every norm of the pass; show the vectors of the norm `part`, by default the decoder's first."""
    trace = explanation.trace
    parts = [name.removesuffix(".variance") for name in trace if name.endswith(".variance")]
    part = next(name for name in parts if name.startswith("decoder")) if part is None else part
    if part not in parts:
        raise UsageError(f"part: {no_such_name(part, parts).replace('tensor', 'norm')}")
    moments = {each: _moments(explanation, each) for each in parts}
    spreads = [[short(each).removesuffix(" norm"), *map(_spread, moments[each])] for each in parts]
    _, before, mean, variance, _, _ = torch.cat(list(moments.values()), dim=1)
    tokens = trace[f"{part}.mean"].labels("L")
    stages = _stages(explanation, part)
    learned = {
        name: explanation.translator.model.get_parameter(f"{part}.{name}") for name in ("weight", "bias")
    }
    width = len(learned["bias"])
    vectors: list[list[Cell]] = [
        [token, name, *stage[place, :SHOWN].tolist()]
        for place, token in enumerate(tokens)
        for name, stage in stages.items()
    ]
    vectors += [["", name, *numbers[:SHOWN].tolist()] for name, numbers in learned.items()]
    dimensions = [f"d {place}" for place in range(min(SHOWN, width))]
    rows = [[token, *numbers] for token, numbers in zip(tokens, moments[part].T.tolist(), strict=True)]
    return Result(
        title=explanation.title,
        conclusion=f"Before the {len(parts)} norms the vectors' variances reach from {before.min():.3f} to "
        f"{before.max():.3f}; standardised, each has mean 0 (off by {digits(float(mean.abs().max()))} at most) "
        f"and variance 1 ({variance.min():z.4f} to {variance.max():z.4f}: ε = 1e-5 takes the rest).",
        tables=[
            Table("the least and the greatest of the positions", ["norm", *MOMENTS], spreads, form=".2f"),
            Table(f"{part}, position by position", ["", *MOMENTS], rows),
            Table(
                f"the first {len(dimensions)} of {width} dimensions: standardized · weight + bias = final",
                ["", "", *dimensions],
                vectors,
                form=".4f",
                left=2,
            ),
        ],
        picture=[
            Shades(f"{part}: {name}", stage.tolist(), tokens, signed=True) for name, stage in stages.items()
        ],
        note="then: standardised; final: after the norm's weight and bias.",
    )


def _moments(explanation: Explanation, part: str) -> Tensor:
    """6 L: mean and variance of each position's vector as it comes in, standardised, and as it goes on."""
    trace = explanation.trace
    found = [trace[f"{part}.{name}"].tensor[0].double() for name in ("mean", "variance")]
    for name in ("standardized", "output"):
        vectors = trace[f"{part}.{name}"].tensor[0].double()
        found += [vectors.mean(-1), vectors.var(-1, correction=0)]
    return torch.stack(found)


def _stages(explanation: Explanation, part: str) -> dict[str, Tensor]:
    """The vectors before the norm, standardised and final."""
    trace, residual = explanation.trace, part.removesuffix(".norm")
    standardized, final, mean, variance = (
        trace[f"{part}.{name}"].tensor[0] for name in ("standardized", "output", "mean", "variance")
    )
    before = standardized * (variance[:, None] + 1e-5).sqrt() + mean[:, None]
    if explanation.translator.model.config.norm == "last" and f"{residual}.sum" in trace:
        before = trace[f"{residual}.sum"].tensor[0]  # the very numbers, where the norm comes last
    return {"before": before, "standardized": standardized, "final": final}


def _spread(numbers: Tensor) -> Cell:
    return (float(numbers.min()), " to ", float(numbers.max()))
