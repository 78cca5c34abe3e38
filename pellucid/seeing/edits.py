"""Edits of a pass, for `trace(edits=…)`: a head silenced, a tensor patched from another run or rewritten, the
causal mask lifted, the scale or a residual removed.

Each function returns {name or glob: edit}; `together` joins several. A part is a path, as
"decoder.layers.0.self_attention", and may be a glob, as "decoder.layers.*.self_attention".
"""

import fnmatch
import math
import threading
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor

from pellucid.config.whole import is_whole
from pellucid.errors import UsageError
from pellucid.seeing.records import Record, Records, UnknownTensor, no_such_name
from pellucid.seeing.trace import Edit

Edits = dict[str, Edit]
Heads = int | Sequence[int] | np.ndarray[Any, Any] | Tensor
Place = int | slice | Sequence[int]

_COMPLEX = {torch.complex32, torch.complex64, torch.complex128, np.dtype("c8"), np.dtype("c16")}

HOW = ("zero", "mean", "uniform")
ATTENTIONS = ("self_attention", "cross_attention")
# What each Add & Norm adds, by the stack and the residual's number: figure 1.
ADDED = {
    "encoder": {"1": "self_attention", "2": "feed_forward"},
    "decoder": {"1": "self_attention", "2": "cross_attention", "3": "feed_forward"},
}


def silence(part: str, head: Heads, how: str = "zero") -> Edits:
    """One head of an attention, or several, made to say nothing about where it looked.

    "zero": its context is 0. "uniform": its weights are equal over all keys that it may look at. "mean": its
    context is, at each position, the mean over the sentence's positions (padding apart), later ones too: a
    measure of what the head tells positions apart by, not a decoder.
    """
    _check_part(part, ATTENTIONS, "an attention")
    head = _each(head)
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
            real_BL = _real_queries(mask.tensor, context)
            counted = real_BL[:, None, :, None].to(context.dtype)
            mean = (context * counted).sum(2, keepdim=True) / counted.sum(2, keepdim=True).clamp(min=1)
            return _at_heads(context, head, mean.expand_as(context))

        own_mask = f"{part.removesuffix('cross_attention').removesuffix('self_attention')}self_attention.mask"
        return {own_mask: mask.keep, f"{part}.context": average}
    raise UsageError(f"how = {how!r} is not known. A head is silenced with {', '.join(HOW)}.")


def lift_mask(part: str, heads: Heads | None = None) -> Edits:
    """The causal mask goes, so that a position looks at later ones too, and padding stays masked; for all
    heads or only these."""
    _check_part(part, ("self_attention",), "a self-attention, which alone has a causal mask")
    heads = None if heads is None else _each(heads)

    def lift(mask_BHLM: Tensor) -> Tensor:
        # Some position may look at each real key, at the latest the key's own; at padding, none.
        padding = (mask_BHLM == -math.inf).all(-2, keepdim=True).expand_as(mask_BHLM)
        lifted = torch.zeros_like(mask_BHLM).masked_fill(padding, -math.inf)
        return lifted if heads is None else _at_heads(mask_BHLM, heads, lifted)

    return {f"{part}.mask": lift}


def without_scale(part: str) -> Edits:
    """The scores are not divided by sqrt(d_k)."""
    _check_part(part, ATTENTIONS, "an attention")
    scores = _Kept()
    return {f"{part}.scores": scores.keep, f"{part}.scaled_scores": lambda scaled: scores.tensor.clone()}


def without_residual(part: str) -> Edits:
    """What a sublayer computes goes on alone, instead of x + Sublayer(x); part is the Add & Norm, as
    "decoder.layers.0.residual_2". Dropout of the sublayer's output, in training, is left out with it."""
    path = part if isinstance(part, str) else ""
    stack, _, number = path.partition(".")[0], *path.rpartition(".residual_")[1:]
    sublayer = ADDED.get(stack, {}).get(number)
    if sublayer is None:
        raise UsageError(
            f'part = {_quoted(part)} is no residual. Give one such as "encoder.layers.0.residual_1" (to 2) '
            'or "decoder.layers.*.residual_3" (1 to 3).'
        )
    added = _Kept()
    output = f"{part.rpartition('.')[0]}.{sublayer}.output"
    # In a beam search the rows of cross-attention are hypotheses, and those of the sum sentences.
    return {output: added.keep, f"{part}.sum": lambda total: added.tensor.clone().view_as(total)}


def patch(trace: Records | Mapping[str, Any], *names: str) -> Edits:
    """The tensors of these names (or globs) are what they were in another run: a trace, or arrays by name, as
    `numpy.load` reads those that `to_npz` wrote. Their shapes must be equal."""
    if not isinstance(trace, Mapping):
        raise UsageError(
            f"patch: trace is a {type(trace).__name__} and must be a trace: what `with trace(model) as seen` "
            "gave of the other run, or the arrays of one by their names."
        )
    found: Edits = {}
    if not all(isinstance(known, str) for known in trace):
        raise UsageError("patch: the run is a mapping whose keys are not all names of tensors.")
    for name in names:
        if not isinstance(name, str):
            raise UsageError(
                f"patch: {name!r:.60} is no name. Give names or globs one after the other: "
                'patch(seen, "encoder.output", "decoder.embedded").'
            )
        matching = fnmatch.filter(trace, name)
        if not matching:
            raise UnknownTensor(no_such_name(name, list(trace)))
        for known in matching:
            if "." in known:  # what to_npz wrote has the tokens too, under names that no tensor has
                found[known] = _always(known, trace[known])
    if not found:
        raise UsageError("patch: no name is given. Name tensors of the trace, such as decoder.embedded.")
    return found


def rewrite(name: str, values: Any, at: Sequence[Place] | Place = ()) -> Edits:
    """Part of a tensor, or all of it, is these numbers: `rewrite("decoder.layers.0.cross_attention.weights",
    [0, 1, 0], at=(0, 2, 1))` has sentence 0, head 2, position 1 look at the second word alone. A single
    number fills all that `at` chooses."""
    numbers, place = _numbers(name, values), _place(name, at)

    def put(tensor: Tensor) -> Tensor:
        fitting = numbers.to(tensor.device, tensor.dtype)
        if (fitting.isinf() & numbers.isfinite().to(tensor.device)).any():
            raise UsageError(
                f"rewrite of {name}: {values!r:.60} has a number that {tensor.dtype} cannot hold: it would "
                "be infinite. Give smaller ones."
            )
        try:
            if not tensor[place].numel():
                raise UsageError(
                    f"rewrite of {name}: at = {at!r:.60} chooses nothing of a tensor {tuple(tensor.shape)}."
                )
            tensor[place] = fitting
        except (IndexError, RuntimeError, TypeError) as error:
            chosen = f" = {tuple(tensor[place].shape)}" if isinstance(error, RuntimeError) else ""
            raise UsageError(
                f"rewrite of {name}: {tuple(numbers.shape)} does not fit at {place}{chosen} of a tensor "
                f"{tuple(tensor.shape)}. Give numbers of that shape, or one number for all."
            ) from None
        return tensor

    return {name: put}


def together(*edits: Mapping[str, Edit]) -> Edits:
    """Several edits as one; where two change the same tensor, the later gets what the earlier made.

    A plain {**first, **second} would keep only the second of these.
    """
    joined: Edits = {}
    for each in edits:
        if not isinstance(each, Mapping):
            raise UsageError(
                f"together: {each!r:.60} is no edit. Give edits one after the other: together(silence(…), "
                "rewrite(…))."
            )
        for name, edit in each.items():
            joined[name] = _one_after_the_other(joined[name], edit) if name in joined else edit
    return joined


class _Kept(threading.local):
    """A tensor of this pass, kept for an edit further on; each thread has its own."""

    tensor: Tensor

    def keep(self, tensor: Tensor) -> Tensor:
        self.tensor = tensor
        return tensor


def _one_after_the_other(first: Edit, second: Edit) -> Edit:
    return lambda tensor: second(first(tensor))


def _numbers(name: str, values: Any) -> Tensor:
    """Python's numbers are float64: as float32 they would be others in a model of float64."""
    try:
        if isinstance(values, np.ndarray | np.generic | Tensor) and values.dtype in _COMPLEX:
            raise TypeError("they are complex")
        return values if isinstance(values, Tensor) else torch.as_tensor(values, dtype=torch.float64)
    except (TypeError, ValueError, RuntimeError, OverflowError) as error:
        raise UsageError(
            f"rewrite of {name}: {values!r:.60} is no number and no array of numbers ({error}). Give one "
            "such as [0, 1, 0], with rows of equal length."
        ) from None


def _place(name: str, at: Any) -> tuple[Any, ...]:
    """What chooses from a tensor, axis by axis: an index, several, or a slice."""
    place = tuple(at) if isinstance(at, Sequence) and not isinstance(at, str) else (at,)
    for each in place:
        several = each if isinstance(each, Sequence) and not isinstance(each, str) and each else [each]
        if each is not ... and not isinstance(each, slice) and not all(is_whole(index) for index in several):
            raise UsageError(
                f"rewrite of {name}: at = {at!r:.60} is no place. Give an index for each axis, or a slice, "
                "as in at=(0, 2, slice(1, 3)); leave it out for all of the tensor."
            )
    return place


def _always(name: str, recorded: Any) -> Callable[[Tensor], Tensor]:
    tensor = recorded.tensor if isinstance(recorded, Record) else _recorded(name, recorded)

    def put(here: Tensor) -> Tensor:
        if here.shape != tensor.shape:
            raise UsageError(
                f"patch: {name} was {tuple(tensor.shape)} in the other run and is {tuple(here.shape)} here. "
                "Take sentences of as many tokens, or put in part of it with rewrite(…, at=…)."
            )
        return tensor.to(here.device, here.dtype, copy=True)  # a later edit may write into it

    return put


def _real_queries(self_mask_BHLM: Tensor, context_BHLU: Tensor) -> Tensor:
    """B L: the positions that are tokens: each of these may look at itself."""
    sentences, _, queries, keys = self_mask_BHLM.shape
    if queries != keys or context_BHLU.shape[::2] != (sentences, queries):
        raise UsageError(
            'how = "mean" needs all positions of a sentence in one pass, and decoding with a cache has one: '
            'take explanation.again(…) or a trace, or silence with "zero" or "uniform".'
        )
    return self_mask_BHLM[:, 0].diagonal(dim1=-2, dim2=-1) != -math.inf


def _at_heads(tensor: Tensor, heads: Heads, changed: Tensor) -> Tensor:
    """The tensor B H … with these heads taken from `changed`."""
    count = tensor.shape[1]
    for head in _each(heads):
        if not 0 <= head < count:
            raise UsageError(f"head = {head}: there are {count}, counted from 0 to {count - 1}.")
        tensor[:, head] = changed[:, head]
    return tensor


def _each(heads: Any) -> list[int]:
    """One head or several, as numbers; True is none, and no head at all would be no edit."""
    heads = heads.tolist() if isinstance(heads, np.ndarray | Tensor) else heads
    each = list(heads) if isinstance(heads, Sequence) and not isinstance(heads, str) else [heads]
    if not each or not all(is_whole(head) for head in each):
        raise UsageError(f"head = {heads!r} is no head. Give its number, as 0, or several, as [0, 2].")
    return [int(head) for head in each]


def _quoted(part: Any) -> str:
    return f'"{part}"' if isinstance(part, str) else f"{part!r:.60}, which is no text,"


def _check_part(part: str, endings: Sequence[str], what: str) -> None:
    if not isinstance(part, str) or part.rpartition(".")[2] not in endings:
        raise UsageError(
            f"part = {_quoted(part)} is not the path of {what}. Give one such as "
            f'"decoder.layers.0.{endings[0]}".'
        )


def _recorded(name: str, array: Any) -> Tensor:
    try:
        numbers = np.array(array, order="C")
        if numbers.dtype.kind not in "fiub":
            raise TypeError(f"it holds {numbers.dtype}")
    except (TypeError, ValueError) as error:
        raise UsageError(
            f"patch: {name} is no array of numbers ({error}). Give the arrays of one run by their names."
        ) from None
    return torch.as_tensor(numbers.astype(numbers.dtype.newbyteorder("=")))
