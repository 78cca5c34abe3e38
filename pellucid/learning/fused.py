"""The fused training step: what the model computes, on rows without padding and with compiled operations.

It is a second implementation of the equations in model.py, for training on a CPU; tests hold both equal.
Where it does not apply (a GPU, a watcher, hooks, changed modules, no kernels), the model itself computes.
"""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, cast

import torch
from torch import Tensor, nn

from pellucid.data.batch import Batch
from pellucid.decoding.library import has_kernels
from pellucid.decoding.model_state import has_hooks, is_as_configured
from pellucid.learning.operations import Draws, Rows, activate, add_norm, attend, embed, linear
from pellucid.model import (
    Attention,
    Decoder,
    DecoderLayer,
    Encoder,
    EncoderLayer,
    FeedForward,
    Norm,
    Residual,
    Transformer,
    round_up,
    sinusoids,
)
from pellucid.seeing.watching import is_watched

Sublayer = Callable[[Tensor], Tensor]


def applies(model: Transformer) -> bool:
    """Tell whether the fused step computes the same as the model, now: in training, on a CPU, with kernels,
    unwatched, and with the modules that the configuration describes."""
    weight = model.projection_weight
    if not (model.training and torch.is_grad_enabled() and type(weight.data) is Tensor) or is_watched():
        return False
    fits = weight.device.type == "cpu" and weight.dtype in (torch.bfloat16, torch.float32) and has_kernels()
    return fits and not has_hooks(model) and is_as_configured(model)


def read(model: Transformer, batch: Batch) -> Tensor:
    """Return the output of the decoder's stack at the real target tokens, and after them at the rows that
    Rows.of adds, N D."""
    draws = Draws()
    source = Rows.of(batch.source, batch.source_mask)
    target = Rows.of(batch.target_in, batch.target_mask)
    encoded = _encode(model, source, draws)
    decoder = model.decoder
    parts = list[tuple[Sublayer, Residual]]()
    for each in decoder.layers:
        layer = cast(DecoderLayer, each)
        cross = layer.cross_attention
        memory = linear(encoded, cross.key, cross.value)
        look = partial(_look_across, cross, memory=memory, rows=target, others=source, draws=draws)
        parts += [
            (
                partial(_look_within, layer.self_attention, rows=target, causal=True, draws=draws),
                layer.residual_1,
            ),
            (look, layer.residual_2),
            (partial(_feed_forward, layer.feed_forward, model.config.activation, draws), layer.residual_3),
        ]
    return _stack(_embed(model, decoder, target, draws), parts, decoder.norm, draws)


def _encode(model: Transformer, source: Rows, draws: Draws) -> Tensor:
    parts = list[tuple[Sublayer, Residual]]()
    for each in model.encoder.layers:
        layer = cast(EncoderLayer, each)
        look = partial(_look_within, layer.self_attention, rows=source, causal=False, draws=draws)
        feed_forward = partial(_feed_forward, layer.feed_forward, model.config.activation, draws)
        parts += [(look, layer.residual_1), (feed_forward, layer.residual_2)]
    return _stack(_embed(model, model.encoder, source, draws), parts, model.encoder.norm, draws)


def _embed(model: Transformer, stack: Encoder | Decoder, rows: Rows, draws: Draws) -> Tensor:
    embedding = model.embedding or stack.embedding
    assert embedding is not None
    weight = embedding.weight
    length = round_up(max(1, rows.longest))
    positions = sinusoids(length, weight.shape[1], weight.dtype, weight.device, stack.positions)
    return embed(weight, rows, positions, stack.scale, draws.next(stack.dropout.rate))


def _stack(
    x: Tensor, parts: Sequence[tuple[Sublayer, Residual]], last: nn.Module | None, draws: Draws
) -> Tensor:
    """Apply the sublayers with their residual connections. If norms come first, the sum and the norm of the
    next sublayer are one operation; the last norm is the stack's."""
    norms = [residual.norm for _, residual in parts]
    normed = x
    if last is not None:
        norms = [*norms[1:], cast(Norm, last)]
        _, normed = add_norm(x, None, parts[0][1].norm, draws.next(0.0))
    for (sublayer, residual), norm in zip(parts, norms, strict=True):
        x, normed = add_norm(x, sublayer(normed), norm, draws.next(residual.dropout.rate))
        x = normed if last is None else x
    return normed


def _look_within(part: Attention, x: Tensor, rows: Rows, causal: bool, draws: Draws) -> Tensor:
    joined = linear(x, part.query, part.key, part.value)
    return linear(
        attend(joined, None, part.heads, rows, rows, causal, draws.next(part.dropout.rate)), part.output
    )


def _look_across(
    part: Attention, x: Tensor, memory: Tensor, rows: Rows, others: Rows, draws: Draws
) -> Tensor:
    drop: Any = draws.next(part.dropout.rate)
    return linear(attend(linear(x, part.query), memory, part.heads, rows, others, False, drop), part.output)


def _feed_forward(part: FeedForward, activation: str, draws: Draws, x: Tensor) -> Tensor:
    return linear(activate(linear(x, part.inner), activation, part.dropout.rate, draws), part.outer)
