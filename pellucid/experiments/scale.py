"""dividing by sqrt(d_k) keeps the softmax open: entropy and gradient with it and without.

"For large values of d_k, the dot products grow large in magnitude, pushing the softmax function into regions
where it has extremely small gradients" (Vaswani et al. 2017, section 3.2.1): of vectors with components of
mean 0 and variance 1, the dot product has the variance d_k (its footnote 4).
"""

import math
from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from pellucid.experiments.probability import probability
from pellucid.experiments.result import Lines, Result, Table
from pellucid.explanation import Explanation
from pellucid.reading.looking import entropies
from pellucid.seeing.edits import together, without_scale
from pellucid.seeing.records import attentions
from pellucid.show.columns import digits, short

CLOSED = 0.01  # of at most 0.5: a row with a smaller gradient hardly learns where to look
QUERIES, KEYS = 256, 16  # random vectors
COLUMNS = ("variance", "entropy", "gradient", "closed")
FORMS = (0, ".2f", ".2f", 3, ".0%")


def experiment(
    explanation: Explanation, *, widths: Sequence[int] = (4, 16, 64, 256, 1024), seed: int = 0
) -> Result:
    """Take the softmax of scores with the division and without: the model's own, and random ones."""
    parts, trace = attentions(explanation.trace), explanation.trace
    generator = torch.Generator().manual_seed(seed)
    d_k = trace[f"{parts[0]}.queries"].tensor.shape[-1]
    model = Table("", ["attention", *COLUMNS], [_of_model(explanation, part) for part in parts], form=FORMS)
    title = f"random vectors, components N(0, 1), {KEYS} keys"
    random = Table(title, ["d_k", *COLUMNS], [_of_random(each, generator) for each in widths], form=FORMS)
    bits, closed = ([_mean(each) for each in _sides(model, name)] for name in ("entropy", "closed"))
    wide = [each[-1] for each in _sides(random, "closed")]
    unscaled = probability(explanation, together(*(without_scale(part) for part in parts)))
    return Result(
        title=explanation.title,
        conclusion=f"Dividing by √d_k = {math.sqrt(d_k):.4g} "
        f"{'keeps the softmax open' if closed[0] < closed[1] else 'does not open the softmax here'}: on this "
        f"sentence the mean entropy is {bits[0]:.2f} bits with it and {bits[1]:.2f} without, and a gradient "
        f"gets through {100 - 100 * closed[0]:.0f} % of the rows instead of {100 - 100 * closed[1]:.0f} %; "
        f"for random vectors of d_k = {widths[-1]}, {100 - 100 * wide[0]:.0f} % instead of "
        f"{100 - 100 * wide[1]:.0f} %. Undivided everywhere, this translation's probability goes from "
        f"{digits(probability(explanation))} to {digits(unscaled)}.",
        tables=[model, random],
        picture=[_panel(model, random, d_k, name) for name in ("entropy", "gradient")],
        note="Each pair: divided | not, of the very same scores. variance: of the undivided scores. entropy: "
        "of a row's weights, in bits, the mean. gradient: the norm of ∂weights/∂(what the softmax gets), the "
        f"median; 0 where one weight is 1. closed: rows where it is below {CLOSED}. Rows that may look at one "
        "word alone do not count. (Seen from Q Kᵀ, the divided gradient is a √d_k-th of that: one factor for "
        "all rows, and no closed softmax.)",
    )


def softmax_gradient(weights: Tensor) -> Tensor:
    """... M -> ...: the Frobenius norm of diag(w) − w wᵀ, the softmax's derivative at these weights."""
    squares = weights.square().sum(-1)
    # Σ_ij (w_i δ_ij − w_i w_j)² = Σ w_i² − 2 Σ w_i³ + (Σ w_i²)²
    return (squares - 2 * weights.pow(3).sum(-1) + squares.square()).clamp_min(0).sqrt()


def _of_model(explanation: Explanation, part: str) -> list[Any]:
    names = ("scores", "mask", "queries")
    scores, mask, queries = (explanation.trace[f"{part}.{name}"].tensor[0].double() for name in names)
    chooses = (mask == 0).sum(-1) > 1  # a row that may look at one word alone has no choice
    sides = [(scores / divisor + mask).softmax(-1)[chooses] for divisor in (math.sqrt(queries.shape[-1]), 1)]
    return _row(short(part), scores[mask == 0], sides)


def _of_random(width: int, generator: torch.Generator) -> list[Any]:
    queries = torch.randn(QUERIES, 1, width, generator=generator, dtype=torch.float64)
    keys = torch.randn(QUERIES, KEYS, width, generator=generator, dtype=torch.float64)
    scores = (queries @ keys.mT)[:, 0]
    return _row(str(width), scores, [(scores / divisor).softmax(-1) for divisor in (math.sqrt(width), 1)])


def _row(name: str, scores: Tensor, sides: Sequence[Tensor]) -> list[Any]:
    """The scores' variance; then pairs, divided and not: entropy, gradient, share of closed rows."""
    found = [(0.0, 0.0, 1.0), (0.0, 0.0, 1.0)]  # of a single word: no row has a choice
    if len(sides[0]):
        gradients = [softmax_gradient(weights) for weights in sides]
        found = [
            (
                float(entropies(weights).mean()),
                float(each.quantile(0.5)),
                float((each < CLOSED).double().mean()),
            )
            for weights, each in zip(sides, gradients, strict=True)
        ]
    pairs = [(divided, " | ", undivided) for divided, undivided in zip(*found, strict=True)]
    return [name, float(scores.var(correction=0)), *pairs]


def _sides(table: Table, name: str) -> list[list[float]]:
    """The numbers with the division, and those without."""
    return [[cell[side] for cell in table.column(name)] for side in (0, 2)]


def _panel(model: Table, random: Table, d_k: int, name: str) -> Lines:
    widths, here = [float(each) for each in random.column("d_k")], [float(d_k)] * len(model.rows)
    lines, marks = _sides(random, name), _sides(model, name)
    title = {"entropy": "entropy, bits", "gradient": "‖∂weights/∂(softmax input)‖, median"}[name]
    points = {
        "divided by √d_k": (widths, lines[0], "o-"),
        "not divided": (widths, lines[1], "s--"),
        "this model's attentions, divided": (here, marks[0], "x"),
        "this model's, not divided": (here, marks[1], "+"),
    }
    return Lines(title, points, "d_k", "x")


def _mean(numbers: Sequence[float]) -> float:
    return sum(numbers) / len(numbers)
