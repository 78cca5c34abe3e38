"""The loss: cross-entropy with label smoothing, computed together with the projection to the vocabulary."""

from dataclasses import dataclass
from typing import Any, cast

import torch
import torch.nn.functional as F
from torch import Tensor

from pellucid.data.batch import Batch
from pellucid.learning import fused, operations
from pellucid.learning.consistency import consistent_cross_entropy, twice
from pellucid.learning.operations import ROWS
from pellucid.model import Transformer


@dataclass(frozen=True)
class Loss:
    """Sums over the real target tokens: the label-smoothed loss, the loss without smoothing, and the number
    of tokens."""

    smoothed: Tensor  # differentiable
    plain: Tensor
    tokens: int


def loss_of(model: Transformer, batch: Batch, smoothing: float, consistency: float = 0.0) -> Loss:
    """Return the loss of a model that predicts the next token at each target position (teacher forcing).

    consistency: if it is not 0, the batch is computed twice; how far both predictions are apart counts, too.
    """
    weight, bias = model.projection_weight, model.decoder.projection.bias
    batch = batch.to(weight.device)
    if consistency:
        batch = twice(batch)
    compiled, expected = fused.applies(model), batch.target_out[batch.target_mask]
    if compiled:
        hidden = fused.read(model, batch)
    else:
        hidden = model.read(batch.source, batch.source_mask, batch.target_in)[batch.target_mask]
    if consistency:
        expected = expected[: len(expected) // 2]
        losses = consistent_cross_entropy(hidden, weight, bias, expected, smoothing, consistency, compiled)
    else:
        compute = operations.cross_entropy if compiled else cross_entropy
        losses = compute(hidden, weight, bias, expected, smoothing)
    return Loss(*losses, len(expected))


def add_gradient(loss: Loss, tokens: int) -> tuple[float, float]:
    """Add the gradient of loss / tokens to the gradients of the parameters. Return the smoothed and the plain
    loss as sums.

    tokens: the number of target tokens in all batches of the step.
    """
    (loss.smoothed / tokens).backward()
    return float(loss.smoothed.detach()), float(loss.plain)


def cross_entropy(
    hidden_ND: Tensor, weight_VD: Tensor, bias_V: Tensor | None, expected_N: Tensor, smoothing: float
) -> tuple[Tensor, Tensor]:
    """Return the sum of -log softmax(hidden W^T + b)[expected], with label smoothing and without. Smoothing
    spreads the share `smoothing` of each target evenly over all V tokens (Szegedy et al. 2016)."""
    learns = torch.is_grad_enabled()  # inside of a Function it is always off
    given = hidden_ND, weight_VD, bias_V, expected_N, smoothing, learns
    return cast(tuple[Tensor, Tensor], _ProjectedCrossEntropy.apply(*given))


class _ProjectedCrossEntropy(torch.autograd.Function):
    """Cross-entropy of the projected hidden vectors. The loss and its gradient are computed in one pass,
    because both need the logits, which exist for only one slice of positions at a time."""

    @staticmethod
    def forward(
        ctx: Any,
        hidden_ND: Tensor,
        weight_VD: Tensor,
        bias_V: Tensor | None,
        expected_N: Tensor,
        smoothing: float,
        learns: bool,
    ) -> tuple[Tensor, Tensor]:
        needed = learns and any(ctx.needs_input_grad)
        d_hidden, size = torch.empty_like(hidden_ND), weight_VD.shape if needed else (0,)
        d_weight = weight_VD.new_zeros(size, dtype=torch.float32)
        d_bias = None if bias_V is None else torch.zeros_like(bias_V, dtype=torch.float32)
        smoothed, plain = (hidden_ND.new_zeros((), dtype=torch.float64) for _ in range(2))
        for start in range(0, len(hidden_ND), ROWS):
            hidden, expected = hidden_ND[start : start + ROWS], expected_N[start : start + ROWS, None]
            logits = F.linear(hidden, weight_VD, bias_V)
            mean_logit = logits.mean(-1, dtype=torch.float32)
            expected_logit = logits.gather(1, expected).squeeze(1).float()
            log_total = logits.logsumexp(-1).float()
            plain += (log_total - expected_logit).sum()
            smoothed += (log_total - (1 - smoothing) * expected_logit - smoothing * mean_logit).sum()
            if needed:
                # softmax sums in float32 for every type; exp(logits - log_total) in bf16 sums to 1 ± 3%.
                d_logits = logits.softmax(-1)
                d_logits -= smoothing / len(weight_VD)
                d_logits.scatter_add_(1, expected, d_logits.new_full(expected.shape, smoothing - 1))
                torch.mm(d_logits, weight_VD, out=d_hidden[start : start + ROWS])
                d_weight += d_logits.mT @ hidden
                if d_bias is not None:
                    d_bias += d_logits.sum(0, dtype=torch.float32)
        ctx.save_for_backward(d_hidden, d_weight, d_bias)
        ctx.mark_non_differentiable(plain)
        return smoothed, plain

    @staticmethod
    def backward(ctx: Any, d_smoothed: Tensor, _: Tensor) -> tuple[Tensor | None, ...]:
        return *operations.scaled(ctx.saved_tensors, d_smoothed), None, None, None
