"""Edits that change the tensors of a pass, for `trace(edits=…)` and `pellucid.editing` (both in trace.py):
silence a head, patch or rewrite a tensor, lift the causal mask, leave out the scale or a residual connection.

Each function returns {name or glob: edit}; `together` joins several. `part` is the path of a module, such as
"decoder.layers.0.self_attention", or a glob, such as "decoder.layers.*.self_attention".
"""

import math
import threading
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor

from pellucid.errors import UsageError
from pellucid.seeing.records import Record, find_names
from pellucid.seeing.trace import Edit

Edits = dict[str, Edit]
Place = int | slice | Sequence[int]  # one or several indices, as of a tensor: 0, [0, 2]

HOW = ("zero", "mean", "uniform")
# The sublayer whose output each Add & Norm adds, by the stack and the residual's number: figure 1.
ADDED = {
    "encoder": {"1": "self_attention", "2": "feed_forward"},
    "decoder": {"1": "self_attention", "2": "cross_attention", "3": "feed_forward"},
}


def silence(part: str, head: Place, how: str = "zero") -> Edits:
    """Remove the contribution of one or several heads of an attention.

    "zero": the head's context is 0. "uniform": its weights are equal over all keys that it may look at.
    "mean": its context is, at each position, the mean over all positions of the sentence, later ones too;
    this measures what the context says about a single position, and needs all positions in one pass.
    """
    if how == "zero":
        return {f"{part}.context": lambda context: _at_heads(context, head, torch.zeros_like(context))}
    if how == "uniform":
        masked = _Kept()

        def level(weights: Tensor) -> Tensor:
            may_look = (masked.tensor != -math.inf).to(weights.dtype)
            return _at_heads(weights, head, may_look / may_look.sum(-1, keepdim=True).clamp(min=1))

        return {f"{part}.masked_scores": masked.keep, f"{part}.weights": level}
    if how == "mean":
        mask = _Kept()

        def average(context: Tensor) -> Tensor:
            counted = _real_queries(mask.tensor, context)[:, None, :, None].to(context.dtype)
            mean = (context * counted).sum(2, keepdim=True) / counted.sum(2, keepdim=True).clamp(min=1)
            return _at_heads(context, head, mean.expand_as(context))

        own_mask = f"{part.removesuffix('cross_attention').removesuffix('self_attention')}self_attention.mask"
        return {own_mask: mask.keep, f"{part}.context": average}
    raise UsageError(f"how = {how!r} is not known. A head is silenced with {', '.join(HOW)}.")


def lift_mask(part: str, heads: Place | None = None) -> Edits:
    """Remove the causal mask, for all heads or some: a position then looks at later positions too, but not at
    padding."""
    if not part.endswith("self_attention") or part.startswith("encoder"):
        raise UsageError(
            f'part = "{part}" has no causal mask: only the decoder\'s self-attentions have one. '
            'Give one such as "decoder.layers.0.self_attention".'
        )

    def lift(mask_BHLM: Tensor) -> Tensor:
        # A key that no position may look at is padding: a real key may look at itself.
        padding = (mask_BHLM == -math.inf).all(-2, keepdim=True).expand_as(mask_BHLM)
        lifted = torch.zeros_like(mask_BHLM).masked_fill(padding, -math.inf)
        return lifted if heads is None else _at_heads(mask_BHLM, heads, lifted)

    return {f"{part}.mask": lift}


def without_scale(part: str) -> Edits:
    """Leave out the division of an attention's scores by sqrt(d_k)."""
    scores = _Kept()
    return {f"{part}.scores": scores.keep, f"{part}.scaled_scores": lambda scaled: scores.tensor.clone()}


def without_residual(part: str) -> Edits:
    """Leave out a residual connection: the output is Sublayer(x) instead of x + Sublayer(x), without dropout.

    part: an Add & Norm, such as "decoder.layers.0.residual_2".
    """
    layer, _, number = part.rpartition(".residual_")
    sublayer = ADDED.get(part.partition(".")[0], {}).get(number)
    if sublayer is None:
        raise UsageError(
            f'part = "{part}" is not a residual connection. Give one such as "encoder.layers.0.residual_1" '
            '(1 or 2) or "decoder.layers.*.residual_3" (1 to 3).'
        )
    added = _Kept()
    # In a beam search the rows of cross-attention are hypotheses, and the rows of the sum are sentences.
    return {
        f"{layer}.{sublayer}.output": added.keep,
        f"{part}.sum": lambda total: added.tensor.clone().view_as(total),
    }


def patch(trace: Mapping[str, Any], *names: str) -> Edits:
    """Replace tensors by those of another run with the same shapes. The replacements are a trace, or a
    dictionary of arrays such as `numpy.load` returns for a file of `to_npz`."""
    if not names:
        raise UsageError("patch: no name is given. Name tensors of the trace, such as decoder.embedded.")
    edits: Edits = {}
    for name in names:
        for full in find_names(name, list(trace)):
            if "." in full:  # a file of to_npz has tokens too, under names without a dot
                edits[full] = _always(trace[full])
    return edits


def rewrite(name: str, values: Any, at: Sequence[Place] | Place = ()) -> Edits:
    """Replace a tensor by these numbers, or by one number everywhere. With `at`, replace only the cells with
    these indices, one entry for each axis.

    `rewrite("decoder.layers.0.cross_attention.weights", [0, 1, 0], at=(0, 2, 1))` makes position 1 of head 2
    in sentence 0 look at the second word alone.
    """
    # Python's numbers are float64: as float32 they would be others in a model of float64.
    numbers = values if isinstance(values, Tensor) else torch.as_tensor(values, dtype=torch.float64)
    place = tuple(at) if isinstance(at, Sequence) else (at,)

    def put(tensor: Tensor) -> Tensor:
        tensor[place] = numbers.to(tensor.device, tensor.dtype)
        return tensor

    return {name: put}


def hold() -> Edits:
    """Hold a pass at its values, so that its logits are sums: attention weights, the norms' variances and the
    gates a(x) / x of the activations become numbers without a gradient. No value changes.

    Every tensor is then a linear function of the embeddings, the positions and the biases that lead to it, so
    in a trace with gradients=True a tensor times its gradient is its share of a logit (docs/why.md).
    """
    hidden = _Kept()

    def gate(activated: Tensor) -> Tensor:
        ratio = torch.where(hidden.tensor == 0, 0.0, activated / hidden.tensor)
        return hidden.tensor * ratio.detach()

    numbers = dict.fromkeys(("*_attention.weights", "*.variance"), Tensor.detach)
    return {**numbers, "*.feed_forward.hidden": hidden.keep, "*.feed_forward.activated": gate}


def together(*edits: Mapping[str, Edit]) -> Edits:
    """Join several edits. If two of them change the same tensor, the second is applied to the result of the
    first.

    {**first, **second} would keep only the second one.
    """
    joined: Edits = {}
    for each in edits:
        for name, edit in each.items():
            joined[name] = _in_turn(joined[name], edit) if name in joined else edit
    return joined


def of_switches(switches: Mapping[str, Any]) -> Edits:
    """Return the edits of a page's switches, each the function of its name: {"silence": {part: heads},
    "lift_mask": {part: heads}, "without_scale": parts, "without_residual": parts}."""
    some = [
        edit(part, heads)
        for edit in (silence, lift_mask)
        for part, heads in switches.get(edit.__name__, {}).items()
    ]
    whole = [
        edit(part) for edit in (without_scale, without_residual) for part in switches.get(edit.__name__, ())
    ]
    return together(*some, *whole)


def _in_turn(first: Edit, second: Edit) -> Edit:
    return lambda tensor: second(first(tensor))


class _Kept(threading.local):
    """A tensor of the present pass that a later edit reads; each thread has its own."""

    tensor: Tensor

    def keep(self, tensor: Tensor) -> Tensor:
        self.tensor = tensor
        return tensor


def _always(recorded: Any) -> Edit:
    """Return an edit that replaces a tensor with a copy of a recorded one."""
    tensor = recorded.tensor if isinstance(recorded, Record) else torch.tensor(np.array(recorded, order="C"))
    return lambda here: tensor.to(here.device, here.dtype, copy=True)  # a later edit may write into it


def _real_queries(self_mask_BHLM: Tensor, context_BHLU: Tensor) -> Tensor:
    """Return a mask B L that is True at tokens and False at padding: only a token may look at itself."""
    sentences, _, queries, keys = self_mask_BHLM.shape
    if queries != keys or context_BHLU.shape[::2] != (sentences, queries):
        raise UsageError(
            'how = "mean" needs all positions of a sentence in one pass, but decoding with a cache has one: '
            'take explanation.again(…) or a trace, or silence with "zero" or "uniform".'
        )
    return self_mask_BHLM[:, 0].diagonal(dim1=-2, dim2=-1) != -math.inf


def _at_heads(tensor: Tensor, heads: Place, changed: Tensor) -> Tensor:
    """Return the tensor B H … with these heads replaced by those of `changed`."""
    try:
        tensor[:, heads] = changed[:, heads]
    except IndexError:
        count = tensor.shape[1]
        raise UsageError(f"heads: {heads} is wrong: there are {count}, counted from 0.") from None
    return tensor
