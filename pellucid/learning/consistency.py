"""Consistency: a model that computes a batch twice, with other dropout, should predict the same both times
(R-Drop, Liang et al. 2021)."""

from dataclasses import replace

import torch
from torch import Tensor

from pellucid.data.batch import Batch


def twice(batch: Batch) -> Batch:
    """Return a batch with each pair twice: first all pairs, then all again."""
    double = {name: torch.cat([each, each]) for name, each in vars(batch).items() if name != "origins"}
    return replace(batch, **double, origins=batch.origins * 2)


def two_passes(logits: Tensor, expected: Tensor, smoothing: float, consistency: float) -> Tensor:
    """Return the smoothed and the plain cross-entropy of two passes, whose rows follow each other: the mean
    of both passes, summed over the rows of one. The logits become their gradient. To the smoothed one is
    added how far the two predictions p and q are apart: consistency / 4 * (KL(p || q) + KL(q || p)). It is
    half of the paper's equation 4."""
    logs, both = logits.float().log_softmax(-1), torch.cat([expected, expected])[:, None]
    probabilities, said = logs.exp(), logs.gather(1, both).sum()
    (p, q), (p_logs, q_logs) = probabilities.chunk(2), logs.chunk(2)
    apart = p_logs - q_logs
    forth, back = (p * apart).sum(-1, keepdim=True), -(q * apart).sum(-1, keepdim=True)
    smoothed = -((1 - smoothing) * said + smoothing * logs.mean(-1).sum()) / 2
    smoothed += consistency / 4 * (forth + back).sum()
    # d KL(p || q) / d logits of p = p (log p - log q - KL(p || q)), and d KL(q || p) / … = p - q.
    pull = torch.cat([p * (apart - forth) + p - q, q * (-apart - back) + q - p])
    d_logits = (probabilities - smoothing / logits.shape[1]) / 2 + consistency / 4 * pull
    d_logits.scatter_add_(1, both, d_logits.new_full(both.shape, (smoothing - 1) / 2))
    logits.copy_(d_logits)
    return torch.stack([smoothed, -said / 2])
