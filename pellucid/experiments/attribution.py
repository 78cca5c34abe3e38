"""which words make each word probable: integrated gradients, whose shares add up to the whole.

Sundararajan et al. (2017) integrate the gradients along the straight line from zero embeddings to the words'
embeddings.
"""

import numpy as np
import torch

from pellucid.experiments.result import Result, matrix, shades
from pellucid.explanation import Explanation
from pellucid.reading.passes import in_batch, watch
from pellucid.show.columns import digits

TOGETHER = 32  # points on the way that are computed as one batch


def experiment(explanation: Explanation, *, steps: int = 512) -> Result:
    """Measure how much each source word and each earlier target word adds to the log-probability of each
    target word. The integral has `steps` points."""
    source, words = explanation.source_tokens, [step.expected for step in explanation.steps]
    # The integral over the way by Gauss and Legendre; then both ends of the way, words and no words.
    nodes, weights = np.polynomial.legendre.leggauss(steps)
    points = torch.tensor([*(nodes + 1) / 2, 1.0, 0.0]).float().split(TOGETHER)
    shares, log_p = map(torch.cat, zip(*(attribute(explanation, some) for some in points), strict=True))
    integrated = torch.einsum("p,plm->lm", torch.tensor(weights / 2), shares[:-2])
    of_source, of_read = integrated.split((len(source), len(words)), dim=1)
    gained = log_p[-2] - log_p[-1]
    sums = torch.stack((integrated.sum(-1), *log_p[-2:], gained - integrated.sum(-1)), dim=1)
    read, header = "what the decoder had read (later words: 0)", ["sum", "log p", "without", "missing"]
    tables = [
        matrix("integrated gradients, the source's words", words, source, of_source, ".2f"),
        matrix(f"integrated gradients, {read}", words, explanation.target_tokens, of_read, ".2f"),
        matrix("completeness: sum = log p − log p without words", words, header, sums),
    ]
    place, cause = divmod(int(of_source.argmax()), len(source))
    return Result(
        conclusion=f"Of the {gained.sum():.1f} nats that the words read add to this translation's log-"
        f"probability, {of_source.sum():.1f} are due to the source and {gained.sum() - of_source.sum():.1f} "
        f"to the target's words so far; most for one word: {words[place]!r} owes "
        f"{of_source[place, cause]:.1f} to {source[cause]!r}. The shares sum to the whole within "
        f"{digits(float(sums[:, 3].abs().max()))} a word.",
        tables=tables,
        picture=[shades(each, signed=True) for each in tables[:2]],
        note=f"In nats of log p; a row for each target word; {steps} points.",
    )


def attribute(explanation: Explanation, points: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """Multiply all token embeddings by each of P points (from 0 to 1). Return the derivative of each target
    token's log p with respect to the factor of each token read (gradient · input), P L M, and log p, P L."""
    ids = explanation.source_ids, explanation.target_ids
    model, sizes = explanation.translator.model, [len(each) for each in ids]
    batch = in_batch(model, [ids] * len(points))
    factors = points.to(batch["source"].device)[:, None].repeat(1, sum(sizes)).requires_grad_()
    parts = zip(("encoder", "decoder"), factors[:, :, None].split(sizes, dim=1), strict=True)
    edits = {f"{stack}.token_embeddings": part.mul for stack, part in parts}
    seen = watch(model, batch, only="decoder.logits", edits=edits, gradients=True)
    log_p_PLV = seen["decoder.logits"].tensor.log_softmax(-1)
    log_p_L = [log_p_PLV[:, place, token] for place, token in enumerate(ids[1])]
    shares = [torch.autograd.grad(log_p.sum(), factors, retain_graph=True)[0] for log_p in log_p_L]
    return torch.stack(shares, dim=1).double().cpu(), torch.stack(log_p_L, dim=1).detach().double().cpu()
