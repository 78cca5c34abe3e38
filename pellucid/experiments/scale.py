"""dividing by sqrt(d_k) keeps the softmax open: entropy and gradient with it and without.

"For large values of d_k, the dot products grow large in magnitude, pushing the softmax function into regions
where it has extremely small gradients" (Vaswani et al. 2017, section 3.2.1): of vectors with components of
mean 0 and variance 1, the dot product has the variance d_k (its footnote 4).
"""

import math
from collections.abc import Sequence

import torch
from torch import Tensor

from pellucid.experiments.probability import probability
from pellucid.experiments.result import Lines, Result, Row, Table
from pellucid.explanation import Explanation
from pellucid.reading.looking import entropies
from pellucid.seeing.edits import together, without_scale
from pellucid.seeing.records import attentions
from pellucid.show.columns import digits, short

CLOSED = 0.01  # of at most 0.5: a row with a smaller gradient hardly learns where to look
QUERIES, KEYS = 256, 16  # random vectors
COLUMNS = ("variance", "entropy", "gradient", "closed")


def experiment(
    explanation: Explanation, *, widths: Sequence[int] = (4, 16, 64, 256, 1024), seed: int = 0
) -> Result:
    """Take the softmax of scores with the division and without: the model's own, and random ones."""
    parts, trace = attentions(explanation.trace), explanation.trace
    own: list[Row] = []
    for part in parts:
        scores, mask = (trace[f"{part}.{name}"].tensor[0].double() for name in ("scores", "mask"))
        d_k = trace[f"{part}.queries"].tensor.shape[-1]
        own.append(_row(short(part), d_k, scores, mask))
    random = torch.Generator().manual_seed(seed)
    drawn = [_random_row(width, random) for width in widths]
    unscaled = probability(explanation, together(*(without_scale(part) for part in parts)))
    title, forms = f"random vectors, components N(0, 1), {KEYS} keys", ("", ".2f", ".2f", 3, ".0%")
    tables = [
        Table("", ["attention", *COLUMNS], own, form=forms),
        Table(title, ["d_k", *COLUMNS], drawn, form=forms),
    ]
    bits, closed = ([sum(each) / len(own) for each in _sides(own, place)] for place in (2, 4))
    wide = [each[-1] for each in _sides(drawn, 4)]
    panels = [_panel(own, drawn, d_k, place) for place in (2, 3)]
    return Result(
        title=explanation.title,
        conclusion=f"Dividing by √d_k = {math.sqrt(d_k):.4g} "
        f"{'keeps the softmax open' if closed[0] < closed[1] else 'does not open the softmax here'}: on this "
        f"sentence the mean entropy is {bits[0]:.2f} bits with it and {bits[1]:.2f} without, and a gradient "
        f"gets through {100 - 100 * closed[0]:.0f} % of the rows instead of {100 - 100 * closed[1]:.0f} %; "
        f"for random vectors of d_k = {widths[-1]}, {100 - 100 * wide[0]:.0f} % instead of "
        f"{100 - 100 * wide[1]:.0f} %. Undivided everywhere, this translation's probability goes from "
        f"{digits(probability(explanation))} to {digits(unscaled)}.",
        tables=tables,
        picture=panels,
        note="Each pair: divided | not, of the very same scores. variance: of the undivided scores. entropy: "
        "in bits, the mean of the rows. gradient: the norm of ∂weights/∂(what the softmax gets), the median; "
        f"0 where one weight is 1. closed: rows where it is below {CLOSED}. Rows that may look at one word "
        "alone do not count.",
    )


def _random_row(width: int, random: torch.Generator) -> Row:
    queries = torch.randn(QUERIES, 1, width, generator=random, dtype=torch.float64)
    keys = torch.randn(QUERIES, KEYS, width, generator=random, dtype=torch.float64)
    scores = (queries @ keys.mT)[:, 0]
    return _row(str(width), width, scores, torch.zeros_like(scores))


def _row(name: str, d_k: int, scores: Tensor, mask: Tensor) -> Row:
    """The scores' variance; then pairs, divided and not: entropy, gradient, share of closed rows."""
    chooses = (mask == 0).sum(-1) > 1  # a row that may look at one word alone has no choice
    found = [(0.0, 0.0, 1.0)] * 2
    if chooses.any():
        sides = [(scores / divisor + mask).softmax(-1)[chooses] for divisor in (math.sqrt(d_k), 1)]
        norms = [gradient(weights) for weights in sides]
        shares = [float((each < CLOSED).double().mean()) for each in norms]
        bits = [float(entropies(weights).mean()) for weights in sides]
        found = list(zip(bits, (float(each.quantile(0.5)) for each in norms), shares, strict=True))
    pairs = [(divided, " | ", undivided) for divided, undivided in zip(*found, strict=True)]
    return [name, float(scores[mask == 0].var(correction=0)), *pairs]


def _panel(own: Sequence[Row], drawn: Sequence[Row], d_k: int, place: int) -> Lines:
    """A column of both tables against d_k: lines for random vectors, marks for the model's attentions."""
    widths, here = [float(row[0]) for row in drawn], [float(d_k)] * len(own)
    lines, marks = _sides(drawn, place), _sides(own, place)
    series = {"divided by √d_k": (widths, lines[0], "o-"), "not divided": (widths, lines[1], "s--")}
    series |= {"this model's, divided": (here, marks[0], "x"), "this model's, not": (here, marks[1], "+")}
    return Lines("entropy, bits" if place == 2 else "‖∂weights/∂(softmax input)‖, median", "d_k", series, "x")


def gradient(weights: Tensor) -> Tensor:
    """... M -> ...: the Frobenius norm of diag(w) − w wᵀ, the softmax's derivative at these weights."""
    squares = weights.square().sum(-1)
    # Σ_ij (w_i δ_ij − w_i w_j)² = Σ w_i² − 2 Σ w_i³ + (Σ w_i²)²
    return (squares - 2 * weights.pow(3).sum(-1) + squares.square()).clamp_min(0).sqrt()


def _sides(rows: Sequence[Row], place: int) -> list[list[float]]:
    """A column's numbers with the division, and those without."""
    return [[row[place][side] for row in rows] for side in (0, 2)]
