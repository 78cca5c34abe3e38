"""Matrices as people give them: lists, arrays or tensors, as float64."""

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
        rows = (
            [np.shape(row) for row in value] if isinstance(value, list | tuple) and _is_ragged(value) else []
        )
        ragged = (
            f": its parts have the shapes {', '.join(map(shape_text, rows))}" if len(set(rows)) > 1 else ""
        )
        raise UsageError(f"{name} is not a matrix of numbers{ragged}. Give parts that are alike.") from None
    allowed = (2,) if name in ("inputs", "memory") else (2, 3)
    if array.dim() not in allowed or not array.numel():
        also = ", or one for each head" if 3 in allowed else ""
        raise UsageError(
            f"{name} has the shape {shape_text(array.shape)}. Give a matrix, [[1.0, 2.0], …]{also}."
        )
    return array


def _numbers(value: Any) -> Tensor:
    return torch.from_numpy(np.array(value, dtype=np.float64))


def _is_ragged(value: Any) -> bool:
    try:
        return all(np.asarray(row, dtype=np.float64).ndim > 0 for row in value)
    except (TypeError, ValueError):
        return False


def shape_text(shape: Sequence[int]) -> str:
    return "×".join(map(str, shape)) or "a single number"
