"""which words a word is due to: gradient × input, and integrated gradients that sum to the whole.

Gradient × input looks at the words as they are alone; integrated gradients (Sundararajan et al. 2017,
Axiomatic Attribution for Deep Networks) add up the gradients on the straight way from no words (embeddings of
zero, positions as they are) to the words, so that the shares sum to the whole difference: completeness.
"""

import numpy as np
import torch
from torch import Tensor

from pellucid.experiments.result import Result, matrix
from pellucid.explanation import Explanation
from pellucid.reading.passes import as_read, watch
from pellucid.show.columns import digits

TOGETHER = 32  # points on the way that are computed as one batch
EMBEDDINGS = ("encoder.token_embeddings", "decoder.token_embeddings")


def experiment(explanation: Explanation, *, steps: int = 512) -> Result:
    """Share each target word's log-probability out among the words read, with `steps` points on the way."""
    source, read = explanation.source_tokens, explanation.target_tokens
    words, count = [step.expected for step in explanation.steps], len(source)
    # The integral of the shares over the way from no words to the words, by Gauss and Legendre.
    nodes, factors = (torch.tensor(each) for each in np.polynomial.legendre.leggauss(steps))
    parts = zip(((nodes + 1) / 2).float().split(TOGETHER), (factors / 2).split(TOGETHER), strict=True)
    batches = [torch.einsum("p,plm->lm", some, attribute(explanation, points)[0]) for points, some in parts]
    integrated = torch.stack(batches).sum(0)
    shares, (log_p, without) = attribute(explanation, torch.tensor([1.0, 0.0]))
    missing = log_p - without - integrated.sum(-1)
    sums = torch.stack((integrated.sum(-1), log_p, without, missing), dim=1)
    of_source = matrix(
        "integrated gradients, the source's words", words, source, integrated[:, :count], ".2f"
    )
    title = "integrated gradients, what the decoder had read (later words: 0)"
    of_read = matrix(title, words, read, integrated[:, count:], ".2f")
    title, header = "completeness: sum = log p − log p without words", ["sum", "log p", "without", "missing"]
    complete = matrix(title, words, header, sums)
    product = matrix("gradient × input, the source's words", words, source, shares[0, :, :count], ".2f")
    gained, due = float((log_p - without).sum()), float(integrated[:, :count].sum())
    place, cause = divmod(int(integrated[:, :count].argmax()), count)
    return Result(
        conclusion=f"Of the {gained:.1f} nats that the words read add to this translation's log-probability, "
        f"{due:.1f} are due to the source and {gained - due:.1f} to the target's words so far; most for one "
        f"word: {words[place]!r} owes {float(integrated[place, cause]):.1f} to {source[cause]!r}. The shares "
        f"sum to the whole within {digits(float(missing.abs().max()))} a word.",
        tables=[of_source, of_read, complete, product],
        picture=[each.shades(signed=True) for each in (of_source, of_read, product)],
        note=f"In nats of log p; a row for each target word; {steps} points. Gradient × input has no sum.",
    )


def attribute(explanation: Explanation, points: Tensor) -> tuple[Tensor, Tensor]:
    """At each point of the way from no words to the words, return gradient · input embedding of each target
    token and word read, P L (M + L), and the log-probability of each target token, P L."""
    model, count = explanation.translator.model, len(points)
    ids = as_read(model, explanation.source_ids, explanation.target_ids)
    words = [explanation.trace[name].tensor[0].to(ids[0].device) for name in EMBEDDINGS]
    inputs = [(points.to(ids[0].device)[:, None, None] * word).requires_grad_() for word in words]
    edits = {EMBEDDINGS[0]: lambda _: inputs[0], EMBEDDINGS[1]: lambda _: inputs[1]}
    source, target = (each.expand(count, -1) for each in ids)
    seen = watch(model, source, target, only="decoder.logits", edits=edits, gradients=True)
    expected = torch.tensor(explanation.target_ids, device=source.device).expand(count, -1)
    log_p_PL = seen["decoder.logits"].tensor.log_softmax(-1).gather(2, expected[:, :, None])[:, :, 0]
    rows = []
    for place in range(log_p_PL.shape[1]):
        gradients = torch.autograd.grad(log_p_PL[:, place].sum(), inputs, retain_graph=True)
        pairs = zip(gradients, words, strict=True)
        rows.append(torch.cat([(each.double() * word.double()).sum(-1) for each, word in pairs], dim=-1))
    return torch.stack(rows, dim=1).cpu(), log_p_PL.detach().double().cpu()
