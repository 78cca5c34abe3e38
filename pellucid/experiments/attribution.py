"""which words a word is due to: gradient × input, and integrated gradients that sum to the whole.

Gradient × input looks at the words as they are alone; integrated gradients (Sundararajan et al. 2017,
Axiomatic Attribution for Deep Networks) add up the gradients on the straight way from no words (embeddings of
zero, positions as they are) to the words, so that the shares sum to the whole difference: completeness.
"""

import numpy as np
import torch
from torch import Tensor

from pellucid.experiments.result import Result, Table
from pellucid.explanation import Explanation
from pellucid.reading.passes import as_read, watch
from pellucid.show.columns import digits

TOGETHER = 32  # points on the way that are computed as one batch
TITLES: tuple[tuple[str, str | int], ...] = (
    ("integrated gradients, the source's words", ".2f"),
    ("integrated gradients, what the decoder had read (later words: 0)", ".2f"),
    ("completeness: sum = log p − log p without words", 4),
    ("gradient × input, the source's words", ".2f"),
)
EMBEDDINGS = ("encoder.token_embeddings", "decoder.token_embeddings")


def experiment(explanation: Explanation, *, steps: int = 512) -> Result:
    """Share each target word's log-probability out among the words read, with `steps` points on the way."""
    source, read = explanation.source_tokens, explanation.target_tokens
    words, count = [step.expected for step in explanation.steps], len(source)
    integrated, at_once = _integrated(explanation, steps), _shares(explanation, torch.ones(1))[0]
    log_p, without = _log_p(explanation, torch.tensor([1.0, 0.0]))[1].detach().double().cpu()
    missing = log_p - without - integrated.sum(-1)
    sums = torch.stack((integrated.sum(-1), log_p, without, missing), dim=1)
    grids = (integrated[:, :count], integrated[:, count:], sums, at_once[:, :count])
    headers = (source, read, ["sum", "log p", "without", "missing"], source)
    tables = [
        Table(
            title,
            ["", *header],
            [[word, *row] for word, row in zip(words, grid.tolist(), strict=True)],
            form=form,
        )
        for (title, form), header, grid in zip(TITLES, headers, grids, strict=True)
    ]
    gained, due = float((log_p - without).sum()), float(integrated[:, :count].sum())
    place, cause = divmod(int(integrated[:, :count].argmax()), count)
    return Result(
        title=explanation.title,
        conclusion=f"Of the {gained:.1f} nats that the words read add to this translation's log-probability, "
        f"{due:.1f} are due to the source and {gained - due:.1f} to the target's words so far; most for one "
        f"word: {words[place]!r} owes {float(integrated[place, cause]):.1f} to {source[cause]!r}. The shares "
        f"sum to the whole within {digits(float(missing.abs().max()))} a word.",
        tables=tables,
        picture=[each.shades(signed=True) for each in (tables[0], tables[1], tables[3])],
        note=f"In nats of log p. Rows: the words to be said. Integrated over {steps} points (Gauss-Legendre) "
        "from embeddings of zero; gradient × input is taken at the words; its sum means nothing.",
    )


def _integrated(explanation: Explanation, steps: int) -> Tensor:
    """L (M + L): the integral of the shares over the way from no words to the words."""
    nodes, factors = (torch.tensor(each) for each in np.polynomial.legendre.leggauss(steps))
    points = ((nodes + 1) / 2).float().split(TOGETHER)
    parts = zip(points, (factors / 2).split(TOGETHER), strict=True)
    return torch.stack(
        [torch.einsum("p,plm->lm", each, _shares(explanation, some)) for some, each in parts]
    ).sum(0)


def _shares(explanation: Explanation, points: Tensor) -> Tensor:
    """Return P L (M + L): for each point of the path and each target token, gradient · input embedding."""
    inputs, log_p_PL = _log_p(explanation, points)
    words = [explanation.trace[name].tensor[0].double() for name in EMBEDDINGS]
    rows = []
    for place in range(log_p_PL.shape[1]):
        gradients = torch.autograd.grad(log_p_PL[:, place].sum(), inputs, retain_graph=True)
        pairs = zip(gradients, words, strict=True)
        rows.append(torch.cat([(each.cpu().double() * word).sum(-1) for each, word in pairs], dim=-1))
    return torch.stack(rows, dim=1)


def _log_p(explanation: Explanation, points: Tensor) -> tuple[list[Tensor], Tensor]:
    """The embeddings at each point of the way from 0, and P L: log p of each expected word there."""
    model = explanation.translator.model
    source, target = as_read(model, explanation.source_ids, explanation.target_ids)
    words = [explanation.trace[name].tensor[0].to(source.device) for name in EMBEDDINGS]
    inputs = [(points.to(source.device)[:, None, None] * word).requires_grad_() for word in words]
    seen = watch(
        model,
        source.expand(len(points), -1),
        target.expand(len(points), -1),
        only="decoder.logits",
        edits={EMBEDDINGS[0]: lambda _: inputs[0], EMBEDDINGS[1]: lambda _: inputs[1]},
        gradients=True,
    )
    expected = torch.tensor(explanation.target_ids).expand(len(points), -1)
    log_p = seen["decoder.logits"].tensor.log_softmax(-1)
    return inputs, log_p.gather(2, expected[:, :, None].to(log_p.device))[:, :, 0]
