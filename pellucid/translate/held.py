"""Go back through a pass whose attention weights, norms and gates are held at their values.

Such a pass is linear (`pellucid.edits.hold`), so the way back needs only these numbers, and no graph. It is
written out because by hand it is cheaper: many steps go back together; nothing goes to queries and keys; a
step goes to no position after it, and above the last self-attention only to its own.

S is the axis of the steps, each the derivatives of one number, such as the logit of its token.
"""

from collections.abc import Callable

import torch
from torch import Tensor

from pellucid.model import Attention, Decoder, Encoder, FeedForward, Norm, Transformer
from pellucid.seeing.edits import ADDED
from pellucid.seeing.trace import Trace

HELD = ("*.variance", "*_attention.weights", "*.hidden", "*.activated")  # what a trace must have

At = Callable[[Tensor], Tensor]  # from a tensor B L ... of the pass to B L S ..., where an axis may be 1


def go_back(model: Transformer, seen: Trace, slope_BLD: Tensor, steps: slice) -> tuple[Tensor, Tensor]:
    """Return the derivatives by the token embeddings of the source, B M S D, and of the target up to the last
    of these steps, B L S D. slope_BLD: each position's own derivative by the decoder's output."""
    memory = list[Tensor]()
    target = _through(model.decoder, seen, slope_BLD[:, None, steps], memory, steps)
    return _through(model.encoder, seen, torch.stack(memory).sum(0), memory, slice(None)), target


def _through(
    stack: Encoder | Decoder, seen: Trace, slope: Tensor, memory: list[Tensor], steps: slice
) -> Tensor:
    """Return the derivatives by a stack's token embeddings; add those by the encoder's output to `memory`."""
    decodes, upto = isinstance(stack, Decoder), slice(steps.stop)
    # Above its last self-attention a decoder's step has one position: L is 1. Below, S is 1 in what is held.
    at: At = (lambda held: held[:, None, steps]) if decodes else (lambda held: held[:, :, None])
    slope = _norm(stack.norm, seen, slope, at) if stack.norm else slope
    for layer in reversed(stack.layers):
        for number, name in reversed(ADDED[stack.path].items()):
            residual, part = getattr(layer, f"residual_{number}"), getattr(layer, name)
            slope = slope if residual.norm_first else _norm(residual.norm, seen, slope, at)
            if isinstance(part, FeedForward):
                added = _feed_forward(part, seen, slope, at)
            else:
                added = _attention(part, seen, slope, at, upto if name == "self_attention" else slice(None))
            if name == "cross_attention":
                memory.append(added)
                continue
            if slope.shape[1] < added.shape[1]:  # each to its own position
                own = torch.eye(added.shape[1], device=slope.device, dtype=slope.dtype)[:, steps, None]
                slope, at = slope * own, lambda held: held[:, upto, None]
            slope = slope + (_norm(residual.norm, seen, added, at) if residual.norm_first else added)
    return _norm(stack.input_norm, seen, slope, at) if stack.input_norm else slope


def _norm(norm: Norm, seen: Trace, slope: Tensor, at: At) -> Tensor:
    deviation = (seen[f"{norm.path}.variance"].tensor[..., None] + norm.epsilon).sqrt()
    scaled = slope * at(norm.weight / deviation)
    return scaled - scaled.mean(-1, keepdim=True)


def _feed_forward(part: FeedForward, seen: Trace, slope: Tensor, at: At) -> Tensor:
    hidden, activated = (seen[f"{part.path}.{name}"].tensor for name in ("hidden", "activated"))
    gate = torch.where(hidden == 0, 0.0, activated / hidden)
    return (slope @ part.outer.weight * at(gate)) @ part.inner.weight


def _attention(part: Attention, seen: Trace, slope: Tensor, at: At, keys: slice) -> Tensor:
    weights = at(seen[f"{part.path}.weights"].tensor.transpose(1, 2))[..., keys]
    context = (slope @ part.output.weight).unflatten(-1, (part.heads, -1))
    return torch.einsum("blshm,blshu->bmshu", weights, context).flatten(-2) @ part.value.weight
