"""dividing by sqrt(d_k) keeps the softmax from saturating: entropy and gradient with and without it.

A large d_k pushes the softmax "into regions where it has extremely small gradients" (Vaswani et al. 2017,
3.2.1).
"""

import torch
from torch import Tensor

from pellucid.experiments.result import Result, Row, Table, lines, numbers, probability
from pellucid.explanation import Explanation
from pellucid.reading.looking import entropies, softmax_gradients
from pellucid.seeing.edits import together, without_scale
from pellucid.seeing.records import attentions
from pellucid.show.columns import digits, short

CLOSED = 0.01  # of at most 0.5: a row with a smaller gradient hardly learns where to look
WIDTHS = (4, 16, 64, 256, 1024)  # d_k of random vectors
ROWS, KEYS = 256, 16  # of random queries, and keys of each
RANDOM = f"random vectors, components N(0, 1), {KEYS} keys"
WAYS, DRAWN = ("divided by √d_k", "not divided"), (("entropy, bits", "entropy"), ("gradient", "gradient"))
COLUMNS: dict[str, int | str] = {"variance": ".2f", "entropy": ".2f", "gradient": 3, "closed": ".0%"}


def experiment(explanation: Explanation) -> Result:
    """Compare the softmax of scores with and without the division by sqrt(d_k), for the model's own scores
    and for random ones."""
    parts, trace, seed = attentions(explanation.trace), explanation.trace, torch.Generator().manual_seed(0)
    d_k, own, drawn = trace[f"{parts[0]}.queries"].tensor.shape[-1], list[Row](), list[Row]()
    for part in parts:
        scores, mask = (trace[f"{part}.{name}"].tensor[0].double() for name in ("scores", "mask"))
        own.append([short(part), *measure(scores, mask, d_k)])
    for width in WIDTHS:
        queries, keys = (torch.randn(ROWS, n, width, generator=seed, dtype=torch.float64) for n in (1, KEYS))
        drawn.append([str(width), *measure((queries @ keys.mT)[:, 0], torch.zeros(ROWS, KEYS), width)])
    ours = Table(["attention", *COLUMNS], own, form=["", *COLUMNS.values()])
    wide = Table(["d_k", *COLUMNS], drawn, form=ours.form, title=RANDOM)
    bits, closed = (torch.tensor(numbers(ours, name)).mean(-1).tolist() for name in ("entropy", "closed"))
    shares = [f"{100 - 100 * each:.0f} %" for each in (*closed, *drawn[-1][4][::2])]
    opens = "keeps the softmax open" if closed[0] < closed[1] else "does not open the softmax here"
    whole, unscaled = (probability(explanation, each) for each in ({}, together(*map(without_scale, parts))))
    return Result(
        conclusion=f"Dividing by √d_k = {d_k**0.5:.4g} {opens}: on this sentence the mean entropy is "
        f"{bits[0]:.2f} bits with it and {bits[1]:.2f} without, and a gradient gets through {shares[0]} of "
        f"the rows instead of {shares[1]}; for random vectors of d_k = {WIDTHS[-1]}, {shares[2]} instead of "
        f"{shares[3]}. Undivided everywhere, this translation's probability goes from {digits(whole)} to "
        f"{digits(unscaled)}.",
        tables=[ours, wide],
        picture=[lines(wide, title, name, labels=WAYS) for title, name in DRAWN],
        note="Each pair: divided | not, of the very same scores. variance: of all undivided scores. entropy: "
        "in bits. gradient: the norm of ∂weights/∂(what the softmax gets), the median. closed: rows where it "
        f"is below {CLOSED}. In the last three, rows that may look at one word alone do not count.",
    )


def measure(scores: Tensor, mask: Tensor, d_k: int) -> Row:
    """Return a row of the table: the variance of the scores, then, each with and without the division, mean
    entropy, median gradient, and the share of rows with a gradient of almost 0."""
    chooses = (mask == 0).sum(-1) > 1  # a row that may look at one word alone has no choice
    weights = (torch.stack((scores / d_k**0.5, scores)) + mask).softmax(-1)[:, chooses | ~chooses.any()]
    norms = softmax_gradients(weights)
    measured = entropies(weights).mean(-1), norms.quantile(0.5, dim=-1), (norms < CLOSED).double().mean(-1)
    return [float(scores[mask == 0].var(correction=0)), *((float(a), " | ", float(b)) for a, b in measured)]
