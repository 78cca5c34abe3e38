"""The loss: cross-entropy with label smoothing, computed together with the projection to the vocabulary."""

from dataclasses import dataclass
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

from pellucid.data.batch import Batch
from pellucid.learning import fused, operations
from pellucid.learning.consistency import consistent_cross_entropy, twice
from pellucid.model import Transformer

# Number of positions whose logits exist at the same time: these fit into the CPU's cache, and the whole
# tensor B L V never exists.
ROWS = 512


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
    weight = model.projection_weight
    batch = batch.to(weight.device)
    if consistency:
        batch = twice(batch)
        bias, expected = model.decoder.projection.bias, batch.target_out[batch.target_mask]
        if compiled := fused.applies(model):
            hidden = fused.read(model, batch)[: len(expected)]
        else:
            hidden = model.read(batch.source, batch.source_mask, batch.target_in)[batch.target_mask]
        expected = expected[: len(expected) // 2]
        losses = consistent_cross_entropy(hidden, weight, bias, expected, smoothing, consistency, compiled)
        return Loss(*losses, len(expected))
    if fused.applies(model):
        bias, expected = model.decoder.projection.bias, batch.target_out[batch.target_mask]
        hidden = fused.read(model, batch)
        return Loss(*operations.cross_entropy(hidden, weight, bias, expected, smoothing), len(expected))
    output = model.read(batch.source, batch.source_mask, batch.target_in)
    bias = model.decoder.projection.bias
    return cross_entropy(output, weight, bias, batch.target_out, batch.target_mask, smoothing)


def add_gradient(loss: Loss, tokens: int) -> tuple[float, float]:
    """Add the gradient of loss / tokens to the gradients of the parameters. Return the smoothed and the plain
    loss as sums.

    tokens: the number of target tokens in all batches of the step.
    """
    (loss.smoothed / tokens).backward()
    return float(loss.smoothed.detach()), float(loss.plain)


def cross_entropy(
    output_BLD: Tensor,
    weight_VD: Tensor,
    bias_V: Tensor | None,
    expected_BL: Tensor,
    real_BL: Tensor,
    smoothing: float,
) -> Loss:
    """Return the sum over real positions of -log softmax(output W^T + b)[expected]. Label smoothing spreads
    the share `smoothing` of each target evenly over all V tokens (Szegedy et al. 2016)."""
    hidden_ND, expected_N = output_BLD[real_BL], expected_BL[real_BL]
    learns = torch.is_grad_enabled()  # inside of a Function it is always off
    smoothed, plain = _ProjectedCrossEntropy.apply(
        hidden_ND, weight_VD, bias_V, expected_N, smoothing, learns
    )
    return Loss(smoothed, plain, len(expected_N))


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
