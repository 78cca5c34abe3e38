"""Matrices as people give them: lists, arrays or tensors, as float64."""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor

from pellucid.errors import UsageError


def matrix_of(name: str, value: Any) -> Tensor:
    """A matrix, or one for each head, in float64."""
    try:
        array = value.detach().cpu().double() if isinstance(value, Tensor) else _numbers(value)
    except (TypeError, ValueError):
        shapes = [shape_text(np.shape(row)) for row in value] if _is_ragged(value) else []
        ragged = f": its parts have the shapes {', '.join(shapes)}" if len(set(shapes)) > 1 else ""
        raise UsageError(f"{name} is not a matrix of numbers{ragged}. Give parts that are alike.") from None
    allowed = (2,) if name in ("inputs", "memory") else (2, 3)
    if array.dim() not in allowed or not array.numel():
        also = ", or one for each head" if 3 in allowed else ""
        raise UsageError(
            f"{name} has the shape {shape_text(array.shape)}. Give a matrix, [[1.0, 2.0], …]{also}."
        )
    may_be_masked = name == "mask" or name.endswith("scores")
    infinite = array[(array == math.inf) | (array == -math.inf) & (not may_be_masked)]
    if len(infinite):
        raise UsageError(
            f"{name} holds {infinite[0]:g}, with which nothing can be computed. Give finite numbers."
        )
    return array


def _numbers(value: Any) -> Tensor:
    if np.asarray(value).dtype == bool:
        raise TypeError
    return torch.from_numpy(np.array(value, dtype=np.float64))


def _is_ragged(value: Any) -> bool:
    """Whether the parts are arrays each, though not together."""
    try:
        return isinstance(value, list | tuple) and all(np.asarray(row, np.float64).ndim > 0 for row in value)
    except (TypeError, ValueError):
        return False


def shape_text(shape: Sequence[int]) -> str:
    return "×".join(map(str, shape)) or "a single number"
