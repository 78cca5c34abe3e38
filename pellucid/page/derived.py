"""What the page need not carry, because its script can make it again of other tensors, bit for bit.

The table of tensors says what a tensor is made of and by which operation. Sums, copies and products with one
number are tried in float32 when the page is written; what differs in one bit is carried. script/derived.js
has the same operations under the same names.
"""

import math
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any

import numpy as np

from pellucid.config.schema import ModelConfig
from pellucid.model import Norm
from pellucid.reading.tensors import describe, origin

Array = np.ndarray
Arrays = Mapping[str, Array]
Ids = Sequence[int]


def _standardize(x: Array, mean: Array, variance: Array, **given: Any) -> Array:
    return (x - mean[..., None]) / np.sqrt(variance[..., None] + np.float32(Norm.epsilon))


def _concatenate(context_BHLU: Array, **given: Any) -> Array:
    sentences, heads, length, width = context_BHLU.shape
    return context_BHLU.transpose(0, 2, 1, 3).reshape(sentences, length, heads * width)


def _causal(scores: Array, **given: Any) -> Array:
    allowed = np.tril(np.ones(scores.shape[-2:], dtype=bool))
    return np.broadcast_to(np.where(allowed, np.float32(0), np.float32(-np.inf)), scores.shape)


def _scale(scores: Array, config: ModelConfig, **given: Any) -> Array:
    return scores * np.float32(1 / math.sqrt(config.width // config.heads))


def _lookup(table: Array, config: ModelConfig, ids: Ids) -> Array:
    scale = math.sqrt(config.width) if config.scale_embeddings else 1.0
    return table[np.array(ids)][None] * np.float32(scale)


# Each takes the tensors and parameters of a row, and by name the configuration and the ids of the stack.
HOW: dict[str, Callable[..., Array]] = {
    "first": lambda *x, **given: x[0],
    "last": lambda *x, **given: x[-1],
    "zeros": lambda x, **given: np.zeros_like(x),
    "causal": _causal,
    "scale": _scale,
    "plus": lambda x, y, **given: x + y,
    "concatenate": _concatenate,
    "relu": lambda x, **given: np.maximum(x, np.float32(0)),
    "standardize": _standardize,
    "affine": lambda x, weight, bias, **given: x * weight + bias,
    "lookup": _lookup,
}
# What may make a tensor, by the operation of its row: a switch may have turned a sum into a copy.
WAYS = {
    "same": ("first",),
    "mask": ("zeros", "causal"),
    "scale": ("scale", "first"),
    "plus": ("plus", "last"),
    "activation": ("relu",),
    **{each: (each,) for each in ("concatenate", "standardize", "affine", "lookup")},
}


def way_to_make(
    name: str,
    tensors: Arrays,
    available: Collection[str],
    parameters: Arrays,
    config: ModelConfig,
    ids: Mapping[str, Ids],
) -> str | None:
    """Return the key of HOW that makes this tensor of available ones with the same bits; None if none does.

    `ids` are what each stack read.
    """
    made = origin(name, config)
    if not (set(made.of) <= set(available) and set(made.parameters) <= parameters.keys()):
        return None
    numbers = [*(tensors[each] for each in made.of), *(parameters[each] for each in made.parameters)]
    for how in WAYS.get(describe(name).by, ()):
        with np.errstate(all="ignore"):
            again = HOW[how](*numbers, config=config, ids=ids[name.partition(".")[0]])
        if same_bits(again, tensors[name]):
            return how
    return None


def same_bits(one: Array, other: Array) -> bool:
    """Tell whether two float32 arrays are equal, bit for bit."""
    bits = [np.ascontiguousarray(each, dtype=np.float32).view(np.uint32) for each in (one, other)]
    return one.shape == other.shape and bool((bits[0] == bits[1]).all())
