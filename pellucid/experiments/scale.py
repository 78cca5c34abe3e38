"""dividing by sqrt(d_k) keeps the softmax open: entropy and gradient with it and without.

"For large values of d_k, the dot products grow large in magnitude, pushing the softmax function into regions
where it has extremely small gradients" (Vaswani et al. 2017, section 3.2.1): of vectors with components of
mean 0 and variance 1, the dot product has the variance d_k (its footnote 4).
"""

import math
from collections.abc import Sequence

import torch
from torch import Tensor

from pellucid.experiments.result import Result, Row, Table, probability
from pellucid.explanation import Explanation
from pellucid.reading.looking import entropies
from pellucid.seeing.edits import together, without_scale
from pellucid.seeing.records import attentions
from pellucid.show.columns import digits, short
from pellucid.show.panels import Lines

CLOSED = 0.01  # of at most 0.5: a row with a smaller gradient hardly learns where to look
QUERIES, KEYS = 256, 16  # random vectors
WAYS = ((0, "divided by √d_k", "o-"), (2, "not divided", "s--"))  # places in a pair
HEADER = ("variance", "entropy", "gradient", "closed")
FORMS: Sequence[int | str] = ("", ".2f", ".2f", 3, ".0%")


def experiment(explanation: Explanation, *, widths: Sequence[int] = (4, 16, 64, 256, 1024)) -> Result:
    """Take the softmax of scores with the division and without: the model's own, and random ones."""
    parts, trace = attentions(explanation.trace), explanation.trace
    d_k, random = trace[f"{parts[0]}.queries"].tensor.shape[-1], torch.Generator().manual_seed(0)
    own, drawn = list[Row](), list[Row]()
    for part in parts:
        scores, mask = (trace[f"{part}.{name}"].tensor[0].double() for name in ("scores", "mask"))
        own.append([short(part), *measure(scores, mask, d_k)])
    for width in widths:
        queries = torch.randn(QUERIES, 1, width, generator=random, dtype=torch.float64)
        keys = torch.randn(QUERIES, KEYS, width, generator=random, dtype=torch.float64)
        drawn.append([str(width), *measure((queries @ keys.mT)[:, 0], torch.zeros(QUERIES, KEYS), width)])
    entropy, gradient = (
        {label: (widths, [row[place][side] for row in drawn], line) for side, label, line in WAYS}
        for place in (2, 3)
    )
    unscaled = probability(explanation, together(*map(without_scale, parts)))
    bits, closed = ([sum(row[place][side] for row in own) / len(own) for side in (0, 2)] for place in (2, 4))
    opens = "keeps the softmax open" if closed[0] < closed[1] else "does not open the softmax here"
    through, wide = ([f"{100 - 100 * each:.0f} %" for each in both] for both in (closed, drawn[-1][4][::2]))
    return Result(
        conclusion=f"Dividing by √d_k = {math.sqrt(d_k):.4g} {opens}: on this sentence the mean entropy is "
        f"{bits[0]:.2f} bits with it and {bits[1]:.2f} without, and a gradient gets through {through[0]} of "
        f"the rows instead of {through[1]}; for random vectors of d_k = {widths[-1]}, {wide[0]} instead of "
        f"{wide[1]}. Undivided everywhere, this translation's probability goes from "
        f"{digits(probability(explanation))} to {digits(unscaled)}.",
        tables=[
            Table("", ["attention", *HEADER], own, form=FORMS),
            Table(f"random vectors, components N(0, 1), {KEYS} keys", ["d_k", *HEADER], drawn, form=FORMS),
        ],
        picture=[Lines("entropy, bits", "d_k", entropy, "x"), Lines("gradient", "d_k", gradient, "x")],
        note="Each pair: divided | not, of the very same scores. variance: of all undivided scores. entropy: "
        "in bits. gradient: the norm of ∂weights/∂(what the softmax gets), the median. closed: rows where it "
        f"is below {CLOSED}. In the last three, rows that may look at one word alone do not count.",
    )


def measure(scores: Tensor, mask: Tensor, d_k: int) -> Row:
    """Return the scores' variance; then pairs, divided and not: entropy, gradient, share of closed rows."""
    chooses, sides = (mask == 0).sum(-1) > 1, []  # a row that may look at one word alone has no choice
    for divisor in (math.sqrt(d_k), 1.0):
        weights = (scores / divisor + mask).softmax(-1)[chooses]
        # The norm of the softmax's derivative, diag(w) − w wᵀ: its square is Σ w² − 2 Σ w³ + (Σ w²)².
        squares = weights.square().sum(-1)
        norms = (squares - 2 * weights.pow(3).sum(-1) + squares.square()).clamp_min(0).sqrt()
        measured = entropies(weights).mean(), norms.quantile(0.5), (norms < CLOSED).double().mean()
        sides.append([float(each) for each in measured] if chooses.any() else [0.0, 0.0, 1.0])
    pairs = [(divided, " | ", undivided) for divided, undivided in zip(*sides, strict=True)]
    return [float(scores[mask == 0].var(correction=0)), *pairs]
