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
    refuse_what_would_lose(name, value)
    if isinstance(value, list | tuple):
        value = [_plain(part) for part in value]
    try:
        array = value.detach().cpu().double() if isinstance(value, Tensor) else _numbers(value)
    except OverflowError:
        raise UsageError(f"{name} holds a number that is too large for float64. Give smaller ones.") from None
    except (TypeError, ValueError, RuntimeError):
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


def refuse_what_would_lose(name: str, value: Any) -> None:
    """Raises for arrays of which only a part would be used, and for tensors without numbers to read."""
    if isinstance(value, Tensor):
        if value.is_meta:
            raise UsageError(f"{name} is a meta tensor, a shape without numbers. Give one on a real device.")
        if value.layout != torch.strided or value.is_nested:
            raise UsageError(f"{name} is a sparse or nested tensor. Give a dense one, as of to_dense().")
    parts = value if isinstance(value, list | tuple) else [value]
    if any(isinstance(part, np.ma.MaskedArray) for part in parts):
        raise UsageError(
            f"{name} is a masked array, whose masked numbers would be used. Give {name}.filled(numpy.nan): "
            "NaN is a number that is not known."
        )
    try:
        is_complex = value.is_complex() if isinstance(value, Tensor) else np.iscomplexobj(np.asarray(value))
    except (TypeError, ValueError, RuntimeError):
        return
    if is_complex:
        raise UsageError(
            f"{name} holds complex numbers, and only their real parts would be used. Give those."
        )


def _plain(part: Any) -> Any:
    """A tensor in a list as an array, which NumPy cannot always make of it by itself."""
    if not isinstance(part, Tensor) or part.is_meta or part.layout != torch.strided:
        return part
    return part.detach().cpu().numpy() if part.dtype == torch.bool else part.detach().cpu().double().numpy()


def _numbers(value: Any) -> Tensor:
    if np.asarray(value).dtype == bool:
        raise TypeError
    return torch.from_numpy(np.array(value, dtype=np.float64))


def _is_ragged(value: Any) -> bool:
    """Whether the parts are arrays each, though not together."""
    try:
        return isinstance(value, list | tuple) and all(np.asarray(row, np.float64).ndim > 0 for row in value)
    except (TypeError, ValueError, OverflowError):
        return False


def for_each_head(matrix: Tensor, heads: int) -> Tensor:
    """A matrix for each head: the same for all, where one is given."""
    return matrix if matrix.dim() == 3 else matrix.expand(heads, -1, -1)


def shape_text(shape: Sequence[int]) -> str:
    """2×4."""
    return "×".join(map(str, shape)) or "a single number"
