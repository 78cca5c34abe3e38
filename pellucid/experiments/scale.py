"""The scale: what dividing by sqrt(d_k) does to the softmax, and to the gradient that comes through it.

"For large values of d_k, the dot products grow large in magnitude, pushing the softmax function into regions
where it has extremely small gradients" (Vaswani et al. 2017, section 3.2.1): of vectors with components of
mean 0 and variance 1, the dot product has the variance d_k (its footnote 4).
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import torch
from torch import Tensor

from pellucid.config.whole import seed_setting, whole_list
from pellucid.experiments.said import Said, said
from pellucid.reading.looking import entropies
from pellucid.seeing.edits import together, without_scale
from pellucid.show.columns import columns, digits, short, stacked
from pellucid.show.drawing import drawing

if TYPE_CHECKING:
    from pellucid.translator import Translator

ABOUT = "dividing by sqrt(d_k) keeps the softmax open: entropy and gradient with it and without"
NEEDS = "sentence"
WIDTHS = (4, 16, 64, 256, 1024)
WIDEST = 10_000
CLOSED = 0.01  # of at most 0.5: a row with a smaller gradient hardly learns where to look
ROWS, KEYS = 256, 16  # random queries, and keys for each of them


@dataclass(frozen=True)
class Softmax:
    """How open rows of attention are."""

    entropy: float  # bits, the mean of the rows
    gradient: float  # ‖∂weights / ∂(what the softmax gets)‖ (Frobenius), the median of the rows
    closed: float  # the share of rows where it is below CLOSED


@dataclass(frozen=True)
class Rows:
    """The same scores with the division and without."""

    name: str
    width: int  # d_k
    variance: float  # of the undivided scores
    scaled: Softmax
    unscaled: Softmax


@dataclass(frozen=True)
class Scale:
    """The model's attentions on a sentence, and random vectors of growing width."""

    title: str
    parts: list[Rows]
    random: list[Rows]
    probability: float  # of the translation
    probability_unscaled: float  # with no attention divided, in one pass

    @property
    def conclusion(self) -> str:
        """What the division does here, and at the largest width."""
        open_rows = [1 - _mean([each.closed for each in side]) for side in self._sides()]
        bits = [_mean([each.entropy for each in side]) for side in self._sides()]
        wide = self.random[-1]
        verb = "keeps the softmax open" if open_rows[0] > open_rows[1] else "does not open the softmax here"
        return (
            f"Dividing by √d_k = {math.sqrt(self.parts[0].width):.4g} {verb}: on this sentence the mean "
            f"entropy is {bits[0]:.2f} bits with it and {bits[1]:.2f} without, and a gradient gets through "
            f"{100 * open_rows[0]:.0f} % of the rows instead of {100 * open_rows[1]:.0f} %; for random "
            f"vectors of d_k = {wide.width}, {100 - 100 * wide.scaled.closed:.0f} % instead of "
            f"{100 - 100 * wide.unscaled.closed:.0f} %. Undivided everywhere, this translation's probability "
            f"goes from {digits(self.probability)} to {digits(self.probability_unscaled)}."
        )

    def _sides(self) -> tuple[list[Softmax], list[Softmax]]:
        return [rows.scaled for rows in self.parts], [rows.unscaled for rows in self.parts]

    def lines(self, width: int) -> list[str]:
        """The conclusion; then a line for each attention, and for each width."""
        legend = (
            "Each pair: divided | not, of the very same scores. variance: of the undivided scores. entropy: "
            "of a row's weights, in bits, the mean. gradient: the norm of ∂weights/∂(what the softmax gets), "
            f"the median; 0 where one weight is 1. closed: rows where it is below {CLOSED}. Rows that may "
            "look at one word alone do not count. (Seen from Q Kᵀ, the divided gradient is a √d_k-th of "
            "that: one factor for all rows, and no closed softmax.)"
        )
        random = f"random vectors, components N(0, 1), {KEYS} keys"
        return stacked(
            width,
            self.conclusion,
            self.title,
            _table("attention", self.parts, width),
            [random, *_table("d_k", self.random, width)],
            legend,
        )

    def plot(self, path: str | Path) -> None:
        """Entropy and gradient against d_k for random vectors, and the model's attentions as dots."""
        with drawing(path, "scale") as figure:
            figure.set_size_inches(9, 3.6)
            for axes, which in zip(figure.subplots(1, 2), ("entropy", "gradient"), strict=True):
                widths = [rows.width for rows in self.random]
                for key, style, mark, label in (
                    ("scaled", "o-", "x", "divided by √d_k"),
                    ("unscaled", "s--", "+", "not divided"),
                ):
                    axes.plot(
                        widths,
                        [getattr(getattr(rows, key), which) for rows in self.random],
                        style,
                        label=label,
                    )
                    colour = axes.lines[-1].get_color()
                    here = [getattr(getattr(rows, key), which) for rows in self.parts]
                    axes.plot([rows.width for rows in self.parts], here, mark, color=colour, markersize=9)
                axes.set_xscale("log", base=2)
                axes.set_xlabel("d_k (this model's attentions: × divided, + not)", fontsize=8)
                unit = "entropy, bits" if which == "entropy" else "‖∂weights/∂(softmax input)‖, median"
                axes.set_ylabel(unit, fontsize=8)
                axes.set_ylim(bottom=0)
                axes.legend(fontsize=7)


def experiment(
    translator: "Translator",
    text: str,
    to: str | None = None,
    *,
    target: str | None = None,
    widths: Sequence[int] = WIDTHS,
    seed: int = 0,
) -> Scale:
    """The model's own scores with and without the division, and random queries and keys of these widths."""
    seed, widths = seed_setting(seed), whole_list("widths", widths, 1, WIDEST, "each is a d_k")
    pair = said(translator, text, to, target)
    parts = [_of_model(pair, part) for part in pair.attentions]
    generator = torch.Generator().manual_seed(seed)
    random = [_of_random(width, generator) for width in widths]
    unscaled = pair.probability(together(*(without_scale(part) for part in pair.attentions)))
    return Scale(pair.title, parts, random, pair.probability(), unscaled)


def softmax_gradient(weights: Tensor) -> Tensor:
    """... M -> ...: the Frobenius norm of diag(w) − w wᵀ, the softmax's derivative at these weights."""
    squares = weights.square().sum(-1)
    # Σ_ij (w_i δ_ij − w_i w_j)² = Σ w_i² − 2 Σ w_i³ + (Σ w_i²)²
    return (squares - 2 * weights.pow(3).sum(-1) + squares.square()).clamp_min(0).sqrt()


def _of_model(pair: Said, part: str) -> Rows:
    scores, mask = (pair.trace[f"{part}.{name}"].tensor[0].double() for name in ("scores", "mask"))
    chooses = (mask == 0).sum(-1) > 1  # a row that may look at one word alone has no choice
    width = pair.trace[f"{part}.queries"].tensor.shape[-1]
    allowed = scores[mask == 0]
    pairs = [_softmax((scores / divisor + mask).softmax(-1)[chooses]) for divisor in (math.sqrt(width), 1.0)]
    return Rows(part, width, float(allowed.var(correction=0)), *pairs)


def _of_random(width: int, generator: torch.Generator) -> Rows:
    queries = torch.randn(ROWS, 1, width, generator=generator, dtype=torch.float64)
    keys = torch.randn(ROWS, KEYS, width, generator=generator, dtype=torch.float64)
    scores = (queries @ keys.mT)[:, 0]
    pairs = [_softmax((scores / divisor).softmax(-1)) for divisor in (math.sqrt(width), 1.0)]
    return Rows(str(width), width, float(scores.var(correction=0)), *pairs)


def _softmax(weights: Tensor) -> Softmax:
    if not len(weights):  # a single word: no row has a choice
        return Softmax(0.0, 0.0, 1.0)
    gradients = softmax_gradient(weights)
    closed = (gradients < CLOSED).double().mean()
    return Softmax(float(entropies(weights).mean()), float(gradients.quantile(0.5)), float(closed))


def _table(first: str, table: Sequence[Rows], width: int) -> list[str]:
    header = [first, "variance", "entropy", "gradient", "closed"]
    rows = [
        [
            short(each.name),
            f"{each.variance:.2f}",
            f"{each.scaled.entropy:.2f} | {each.unscaled.entropy:.2f}",
            f"{digits(each.scaled.gradient, 3)} | {digits(each.unscaled.gradient, 3)}",
            f"{100 * each.scaled.closed:.0f} % | {100 * each.unscaled.closed:.0f} %",
        ]
        for each in table
    ]
    return columns(header, rows, width)


def _mean(numbers: Sequence[float]) -> float:
    return sum(numbers) / len(numbers)
