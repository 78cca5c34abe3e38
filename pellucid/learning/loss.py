"""The loss: cross-entropy with label smoothing, computed together with the projection to the vocabulary."""

from dataclasses import dataclass
from typing import Any, cast

import torch
import torch.nn.functional as F
from torch import Tensor

from pellucid.data.batch import Batch
from pellucid.learning import fused
from pellucid.learning.compiled import add_to, compute, room_for
from pellucid.learning.consistency import twice, two_passes
from pellucid.model import Transformer

ROWS = 512  # positions whose logits exist at the same time: these fit into a CPU's cache
EVEN = 64  # rows of zeros make the last of them a multiple, so that few products are compiled


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
    losses = cross_entropy(hidden, weight, bias, expected, smoothing, consistency, compiled)
    return Loss(*losses, len(expected))


def add_gradient(loss: Loss, tokens: int) -> tuple[float, float]:
    """Add the gradient of loss / tokens to the gradients of the parameters. Return the smoothed and the plain
    loss as sums.

    tokens: the number of target tokens in all batches of the step.
    """
    (loss.smoothed / tokens).backward()
    return float(loss.smoothed.detach()), float(loss.plain)


def cross_entropy(
    hidden_ND: Tensor,
    weight_VD: Tensor,
    bias_V: Tensor | None,
    expected_N: Tensor,
    smoothing: float,
    consistency: float = 0.0,
    compiled: bool = False,
) -> tuple[Tensor, Tensor]:
    """Return the sum of -log softmax(hidden W^T + b)[expected], with label smoothing and without. Smoothing
    spreads the share `smoothing` of each target evenly over all V tokens (Szegedy et al. 2016). Further rows
    of `hidden`, for which nothing is expected, do not count.

    consistency: if it is not 0, the rows are those of two passes, one after the other; see `two_passes`.
    compiled: compute it by the kernels of the fused step.
    """
    learns = torch.is_grad_enabled()  # inside of a Function it is always off
    given = hidden_ND, weight_VD, bias_V, expected_N, smoothing, consistency, compiled, learns
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
        consistency: float,
        compiled: bool,
        learns: bool,
    ) -> tuple[Tensor, Tensor]:
        needed, passes = learns and any(ctx.needs_input_grad), 2 if consistency else 1
        d_hidden, losses = torch.zeros_like(hidden_ND), hidden_ND.new_zeros(2, dtype=torch.float64)
        d_weight = torch.zeros_like(weight_VD if needed else weight_VD[:0], dtype=torch.float32)
        d_bias = None if bias_V is None else torch.zeros_like(bias_V, dtype=torch.float32)
        turned = weight_VD.T.contiguous().T if compiled else weight_VD  # oneDNN would for each product
        real, of_pass = passes * len(expected_N), (passes, len(expected_N))
        rows, d_rows = (each[:real].unflatten(0, of_pass) for each in (hidden_ND, d_hidden))
        for first in range(0, len(expected_N), step := ROWS // passes):
            some = slice(first, first + step)
            expected, hidden = expected_N[some], rows[:, some].flatten(0, 1)
            if compiled:
                hidden = F.pad(hidden, (0, 0, 0, -len(hidden) % EVEN))
            logits = F.linear(hidden, turned, bias_V)
            if compiled:
                losses += _compiled(logits, expected, smoothing, consistency)
            elif consistency:
                losses += two_passes(logits, expected, smoothing, consistency)
            else:
                losses += _one_pass(logits, expected, smoothing, needed)
            if needed:
                d_rows[:, some] = (logits @ weight_VD)[: passes * len(expected)].unflatten(0, (passes, -1))
                product = logits.mT @ hidden
                add_to(d_weight, product) if compiled else d_weight.add_(product)
                if d_bias is not None:
                    d_bias += logits.sum(0, dtype=torch.float32)
        ctx.save_for_backward(d_hidden, d_weight, d_bias)
        smoothed, plain = losses
        ctx.mark_non_differentiable(plain)
        return smoothed, plain

    @staticmethod
    def backward(ctx: Any, d_smoothed: Tensor, _: Tensor) -> tuple[Tensor | None, ...]:
        dtype, scale = ctx.saved_tensors[0].dtype, d_smoothed.float()
        scaled = (None if each is None else (each.float() * scale).to(dtype) for each in ctx.saved_tensors)
        return *scaled, None, None, None, None, None


def _one_pass(logits: Tensor, expected: Tensor, smoothing: float, needed: bool) -> Tensor:
    """Return the sums of the smoothed and the plain loss of some rows; if it is needed, the logits become
    their gradient."""
    expected = expected[:, None]
    said, log_total = logits.gather(1, expected).squeeze(1).float(), logits.logsumexp(-1).float()
    smoothed = log_total - (1 - smoothing) * said - smoothing * logits.mean(-1, dtype=torch.float32)
    if needed:
        # softmax sums in float32 for every type; exp(logits - log_total) in bf16 sums to 1 ± 3%.
        logits.copy_(logits.softmax(-1)).sub_(smoothing / logits.shape[1])
        logits.scatter_add_(1, expected, logits.new_full(expected.shape, smoothing - 1))
    return torch.stack([smoothed.sum(), (log_total - said).sum()])


def _compiled(logits: Tensor, expected: Tensor, smoothing: float, consistency: float) -> Tensor:
    """Return the sums of the smoothed and the plain loss of one pass or two; the logits become their
    gradient."""
    rows, width = len(expected), logits.shape[1]
    losses = torch.empty(rows, 2)
    given = dict(logits=logits, expected=expected, losses=losses, smoothing=smoothing, width=width, rows=rows)
    kernel = "consistent_cross_entropy" if consistency else "cross_entropy"
    compute(kernel, rows, logits, **given, consistency=consistency, room=room_for(rows, width))
    logits[rows * (2 if consistency else 1) :] = 0
    return losses.sum(0, dtype=torch.float64)
