"""Add & Norm: mean, variance, standardised and final values of every LayerNorm of a pass.

"LayerNorm(x + Sublayer(x))" (Vaswani et al. 2017, section 3.1), where each position's vector gets mean 0 and
variance 1 (biased, ε = 1e-5), then a weight and a bias for each dimension (Ba et al. 2016).
"""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from torch import Tensor

from pellucid.errors import UsageError
from pellucid.experiments.said import Said, said
from pellucid.reading.words import visible
from pellucid.seeing.records import no_such_name
from pellucid.show.columns import columns, digits, paragraph, short, stacked
from pellucid.show.drawing import drawing, shade

if TYPE_CHECKING:
    from pellucid.translator import Translator

ABOUT = "each Add & Norm in numbers: mean, variance, standardised and final values, position by position"
NEEDS = "sentence"
SHOWN = 6  # dimensions of a vector that a table has room for


@dataclass(frozen=True)
class NormedPosition:
    """One position at one norm."""

    token: str
    mean: float  # of the vector that comes in
    variance: float
    standardized_mean: float
    standardized_variance: float
    final_mean: float  # after the weight and the bias
    final_variance: float


@dataclass(frozen=True)
class Norm:
    """One norm, and all positions at it."""

    part: str
    positions: list[NormedPosition]

    def spread(self, name: str) -> tuple[float, float]:
        """The least and the greatest of the positions' numbers of this name."""
        numbers = [float(getattr(position, name)) for position in self.positions]
        return min(numbers), max(numbers)


@dataclass(frozen=True)
class Norms:
    """Every norm of a pass, and one of them vector by vector."""

    title: str
    norms: list[Norm]
    part: str  # the norm whose vectors follow
    tokens: list[str]
    before: list[list[float]]  # L D: x + Sublayer(x), or what comes in
    standardized: list[list[float]]
    final: list[list[float]]
    weight: list[float]
    bias: list[float]

    @property
    def conclusion(self) -> str:
        """How unlike the vectors are before, and how alike after they are standardised."""
        variances = [position.variance for norm in self.norms for position in norm.positions]
        standard = [position.standardized_variance for norm in self.norms for position in norm.positions]
        means = [abs(position.standardized_mean) for norm in self.norms for position in norm.positions]
        return (
            f"Before the {len(self.norms)} norms the vectors' variances reach from {min(variances):.3f} to "
            f"{max(variances):.3f}; standardised, each has mean 0 (off by {digits(max(means))} at most) and "
            f"variance 1 ({min(standard):z.4f} to {max(standard):z.4f}: ε = 1e-5 takes the rest)."
        )

    def lines(self, width: int) -> list[str]:
        """The conclusion; a line for each norm; then one norm, position by position."""
        header = ["norm", "mean", "variance", "final mean", "final var."]
        names = ("mean", "variance", "final_mean", "final_variance")
        table = [
            [
                short(norm.part).removesuffix(" norm"),
                *("{:z.2f} to {:z.2f}".format(*norm.spread(name)) for name in names),
            ]
            for norm in self.norms
        ]
        legend = "From the least to the greatest of the positions; final: after the norm's weight and bias."
        rows = [*columns(header, table, width), *paragraph(legend, width)]
        return stacked(width, self.conclusion, self.title, rows, *self._one(width))

    def _one(self, width: int) -> tuple[list[str], list[str]]:
        norm = next(norm for norm in self.norms if norm.part == self.part)
        numbers = [
            [
                position.token,
                f"{position.mean:z.4f}",
                f"{position.variance:z.4f}",
                f"{position.standardized_mean:z.4f}",
                f"{position.standardized_variance:z.4f}",
            ]
            for position in norm.positions
        ]
        dimensions = min(SHOWN, len(self.weight))
        vectors = []
        for token, *stages in zip(self.tokens, self.before, self.standardized, self.final, strict=True):
            for stage, vector in zip(("before", "standardized", "final"), stages, strict=True):
                vectors.append([token, stage, *(f"{number:z.4f}" for number in vector[:dimensions])])
        for stage, vector in (("weight", self.weight), ("bias", self.bias)):
            vectors.append(["", stage, *(f"{number:z.4f}" for number in vector[:dimensions])])
        header = ["", "", *(f"d {place}" for place in range(dimensions))]
        about = f"the first {dimensions} of {len(self.weight)} dimensions"
        return [
            f"{self.part}, position by position",
            *columns(["", "mean", "variance", "then mean", "variance"], numbers, width, longest=14),
        ], [
            f"{about}: standardized · weight + bias = final",
            *columns(header, vectors, width, left=2, longest=14),
        ]

    def plot(self, path: str | Path) -> None:
        """The vectors of one norm before, standardised and final, as shades, one row a position."""
        tokens = [visible(token) for token in self.tokens]
        with drawing(path, "norms", "".join(tokens)) as figure:
            figure.set_size_inches(9, 2 + 0.9 * len(tokens))
            panels = figure.subplots(3, 1, sharex=True)
            stages = (("before", self.before), ("standardized", self.standardized), ("final", self.final))
            for axes, (title, grid) in zip(panels, stages, strict=True):
                most = max(abs(number) for row in grid for number in row) or 1.0
                image = shade(axes, grid, most, signed=True, rows=tokens)
                axes.set_title(f"{self.part}: {title}", fontsize=8)
                figure.colorbar(image, ax=axes)
            panels[-1].set_xlabel("dimension", fontsize=8)


def experiment(
    translator: "Translator",
    text: str,
    to: str | None = None,
    *,
    target: str | None = None,
    part: str | None = None,
) -> Norms:
    """Every norm of one pass; of the norm `part` (by default the decoder's first) also the vectors."""
    pair = said(translator, text, to, target)
    parts = [name.removesuffix(".variance") for name in pair.trace if name.endswith(".variance")]
    part = next(name for name in parts if name.startswith("decoder")) if part is None else part
    if part not in parts:
        raise UsageError(f"part: {no_such_name(part, parts).replace('tensor', 'norm')}")
    learned = [pair.model.get_parameter(f"{part}.{name}").tolist() for name in ("weight", "bias")]
    return Norms(
        title=pair.title,
        norms=[_norm(pair, each) for each in parts],
        part=part,
        tokens=pair.trace[f"{part}.mean"].labels("L"),
        before=_before(pair, part).tolist(),
        standardized=_tensor(pair, part, "standardized").tolist(),
        final=_tensor(pair, part, "output").tolist(),
        weight=learned[0],
        bias=learned[1],
    )


def _norm(pair: Said, part: str) -> Norm:
    standardized, final = (_tensor(pair, part, name).double() for name in ("standardized", "output"))
    numbers = [
        _tensor(pair, part, "mean"),
        _tensor(pair, part, "variance"),
        standardized.mean(-1),
        standardized.var(-1, correction=0),
        final.mean(-1),
        final.var(-1, correction=0),
    ]
    tokens = pair.trace[f"{part}.mean"].labels("L")
    rows = zip(tokens, *(each.tolist() for each in numbers), strict=True)
    return Norm(part, [NormedPosition(*row) for row in rows])


def _tensor(pair: Said, part: str, name: str) -> Tensor:
    return pair.trace[f"{part}.{name}"].tensor[0]


def _before(pair: Said, part: str) -> Tensor:
    """What comes into a norm: the sum, where the norm comes last; else it is put together again."""
    residual = part.removesuffix(".norm")
    if pair.model.config.norm == "last" and f"{residual}.sum" in pair.trace:
        return _tensor(pair, residual, "sum")
    mean, variance = (_tensor(pair, part, name)[:, None] for name in ("mean", "variance"))
    return _tensor(pair, part, "standardized") * (variance + 1e-5).sqrt() + mean
