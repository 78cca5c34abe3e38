"""Consistency: a model that computes a batch twice, with other dropout, should predict the same both times
(R-Drop, Liang et al. 2021)."""

from dataclasses import replace
from typing import Any, cast

import torch
import torch.nn.functional as F
from torch import Tensor

from pellucid.data.batch import Batch
from pellucid.learning.compiled import add_to, compute, room_for
from pellucid.learning.operations import scaled

ROWS = 256  # positions of each pass whose logits exist at the same time
EVEN = 64  # of both passes: rows of zeros make the last slice a multiple, so that few products are compiled


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
    compiled: bool,
) -> tuple[Tensor, Tensor]:
    """Return the smoothed and the plain cross-entropy of two passes, whose rows follow each other: the mean
    of both passes, summed over the rows of one. To the smoothed one is added how far the two predictions p
    and q are apart: consistency / 4 * (KL(p || q) + KL(q || p)). It is half of the paper's equation 4.
    Further rows of `hidden`, for which nothing is expected, do not count.

    compiled: compute it by the kernels of the fused step.
    """
    given = hidden_ND, weight_VD, bias_V, expected_N, smoothing, consistency, compiled
    return cast(tuple[Tensor, Tensor], _Consistent.apply(*given))


class _Consistent(torch.autograd.Function):
    """The loss and its gradient in one pass, a slice of positions at a time, as in loss.py."""

    @staticmethod
    def forward(
        ctx: Any,
        hidden_ND: Tensor,
        weight_VD: Tensor,
        bias_V: Tensor | None,
        expected_N: Tensor,
        *how: Any,
    ) -> tuple[Tensor, Tensor]:
        rows, losses = len(expected_N), torch.zeros(2, dtype=torch.float64, device=hidden_ND.device)
        d_hidden, d_weight = torch.zeros_like(hidden_ND), torch.zeros_like(weight_VD, dtype=torch.float32)
        d_bias = None if bias_V is None else torch.zeros_like(bias_V, dtype=torch.float32)
        turned = weight_VD.T.contiguous().T  # as in operations.py
        for start in range(0, rows, ROWS):
            end = min(start + ROWS, rows)
            places = slice(start, end), slice(rows + start, rows + end)
            real = 2 * (end - start)
            hidden = F.pad(torch.cat([hidden_ND[each] for each in places]), (0, 0, 0, -real % EVEN))
            logits = F.linear(hidden, turned, bias_V)
            losses += _losses_of(logits[:real], expected_N[start:end], *how)
            logits[real:] = 0
            d_hidden[places[0]], d_hidden[places[1]] = (logits @ weight_VD)[:real].chunk(2)
            product = logits.mT @ hidden
            add_to(d_weight, product) if how[-1] else d_weight.add_(product)
            if d_bias is not None:
                d_bias += logits.sum(0, dtype=torch.float32)
        ctx.save_for_backward(d_hidden, d_weight, d_bias)
        smoothed, plain = losses
        ctx.mark_non_differentiable(plain)
        return smoothed, plain

    @staticmethod
    def backward(ctx: Any, d_smoothed: Tensor, _: Tensor) -> tuple[Tensor | None, ...]:
        return *scaled(ctx.saved_tensors, d_smoothed), None, None, None, None


def _losses_of(
    logits: Tensor, expected: Tensor, smoothing: float, consistency: float, compiled: bool
) -> Tensor:
    """Return the sums of the smoothed and the plain loss of some rows; the logits become their gradient."""
    rows, width = len(expected), logits.shape[1]
    if compiled:
        losses = torch.empty(rows, 2)
        given = dict(logits=logits, expected=expected, losses=losses, smoothing=smoothing)
        given |= dict(width=width, rows=rows, consistency=consistency, room=room_for(rows, width))
        compute("consistent_cross_entropy", rows, logits, **given)
        return losses.sum(0, dtype=torch.float64)
    logs, both = logits.float().log_softmax(-1), torch.cat([expected, expected])[:, None]
    probabilities, said = logs.exp(), logs.gather(1, both).sum()
    (p, q), (p_logs, q_logs) = probabilities.chunk(2), logs.chunk(2)
    apart = p_logs - q_logs
    forth, back = (p * apart).sum(-1, keepdim=True), -(q * apart).sum(-1, keepdim=True)
    smoothed = -((1 - smoothing) * said + smoothing * logs.mean(-1).sum()) / 2
    smoothed += consistency / 4 * (forth + back).sum()
    # d KL(p || q) / d logits of p = p (log p - log q - KL(p || q)), and d KL(q || p) / … = p - q.
    pull = torch.cat([p * (apart - forth) + p - q, q * (-apart - back) + q - p])
    d_logits = (probabilities - smoothing / width) / 2 + consistency / 4 * pull
    d_logits.scatter_add_(1, both, d_logits.new_full(both.shape, (smoothing - 1) / 2))
    logits.copy_(d_logits)
    return torch.stack([smoothed, -said / 2])
