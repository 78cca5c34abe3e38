"""Consistency: a model that computes a batch twice, with other dropout, should predict the same both times
(R-Drop, Liang et al. 2021)."""

from dataclasses import replace
from typing import Any, cast

import torch
import torch.nn.functional as F
from torch import Tensor

from pellucid.data.batch import Batch

ROWS = 256  # positions of each pass whose logits exist at the same time


def twice(batch: Batch) -> Batch:
    """Return a batch with each pair twice: first all pairs, then all again."""
    double = {name: torch.cat([each, each]) for name, each in vars(batch).items() if name != "origins"}
    return replace(batch, **double, origins=batch.origins * 2)


def consistent_cross_entropy(
    hidden_ND: Tensor,
    weight_VD: Tensor,
    bias_V: Tensor | None,
    expected_N: Tensor,
    smoothing: float,
    consistency: float,
) -> tuple[Tensor, Tensor]:
    """Return the smoothed and the plain cross-entropy of two passes, whose rows follow each other: the mean
    of both passes, summed over the rows of one. To the smoothed one is added how far the two predictions p
    and q are apart: consistency / 4 * (KL(p || q) + KL(q || p)). It is half of the paper's equation 4."""
    return cast(
        tuple[Tensor, Tensor],
        _Consistent.apply(hidden_ND, weight_VD, bias_V, expected_N, smoothing, consistency),
    )


class _Consistent(torch.autograd.Function):
    """The loss and its gradient in one pass, a slice of positions at a time, as in loss.py."""

    @staticmethod
    def forward(
        ctx: Any,
        hidden_ND: Tensor,
        weight_VD: Tensor,
        bias_V: Tensor | None,
        expected_N: Tensor,
        smoothing: float,
        consistency: float,
    ) -> tuple[Tensor, Tensor]:
        half = len(hidden_ND) // 2
        d_hidden, d_weight = torch.empty_like(hidden_ND), torch.zeros_like(weight_VD, dtype=torch.float32)
        d_bias = None if bias_V is None else torch.zeros_like(bias_V, dtype=torch.float32)
        smoothed, plain = (hidden_ND.new_zeros((), dtype=torch.float64) for _ in range(2))
        for start in range(0, half, ROWS):
            places = (
                slice(start, min(start + ROWS, half)),
                slice(half + start, half + min(start + ROWS, half)),
            )
            hidden, expected = torch.cat([hidden_ND[each] for each in places]), expected_N[places[0], None]
            logits = F.linear(hidden, weight_VD, bias_V).float()
            losses, d_logits = losses_of(logits, expected, smoothing, consistency)
            smoothed, plain = smoothed + losses[0], plain + losses[1]
            d_logits = d_logits.to(hidden.dtype)
            d_hidden[places[0]], d_hidden[places[1]] = (d_logits @ weight_VD).chunk(2)
            d_weight += d_logits.mT @ hidden
            if d_bias is not None:
                d_bias += d_logits.sum(0, dtype=torch.float32)
        d_bias = None if d_bias is None else d_bias.to(weight_VD.dtype)
        ctx.save_for_backward(d_hidden, d_weight.to(weight_VD.dtype), d_bias)
        ctx.mark_non_differentiable(plain)
        return smoothed, plain

    @staticmethod
    def backward(ctx: Any, d_smoothed: Tensor, _: Tensor) -> tuple[Tensor | None, ...]:
        gradients = (None if each is None else each * d_smoothed.to(each.dtype) for each in ctx.saved_tensors)
        return *gradients, None, None, None


def losses_of(
    logits: Tensor, expected: Tensor, smoothing: float, consistency: float
) -> tuple[tuple[Tensor, Tensor], Tensor]:
    """Return the smoothed and the plain loss of the logits of some rows, and the gradient by the logits."""
    logs = logits.log_softmax(-1)
    probabilities, both = logs.exp(), torch.cat([expected, expected])
    (p, q), (p_logs, q_logs), said = probabilities.chunk(2), logs.chunk(2), logs.gather(1, both).sum()
    apart = p_logs - q_logs
    forth, back = (p * apart).sum(-1, keepdim=True), -(q * apart).sum(-1, keepdim=True)
    smoothed = -((1 - smoothing) * said + smoothing * logs.mean(-1).sum()) / 2
    smoothed += consistency / 4 * (forth + back).sum()
    # d KL(p || q) / d logits of p = p (log p - log q - KL(p || q)), and d KL(q || p) / … = p - q.
    pull = torch.cat([p * (apart - forth) + p - q, q * (-apart - back) + q - p])
    d_logits = (probabilities - smoothing / logits.shape[1]) / 2 + consistency / 4 * pull
    d_logits.scatter_add_(1, both, d_logits.new_full(both.shape, (smoothing - 1) / 2))
    return (smoothed, -said / 2), d_logits
