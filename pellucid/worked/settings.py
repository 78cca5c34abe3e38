"""The settings of a worked example: its heads, its scale, its mask and its words, each checked."""

import math
import sys
from collections.abc import Mapping
from numbers import Real
from typing import Any

import numpy as np
import torch
from torch import Tensor

from pellucid.config.whole import is_whole
from pellucid.errors import UsageError
from pellucid.worked.matrices import for_each_head, matrix_of, shape_text
from pellucid.worked.stages import Given, run

Scale = str | float | None


def heads_of(arrays: Mapping[str, Tensor], heads: int | None) -> int:
    """The number that `heads` and all arrays with a matrix for each head agree on."""
    if heads is not None and not is_whole(heads, 1):
        raise UsageError(f"heads = {heads!r} must be a whole number, 1 or more.")
    counts = {name: array.shape[0] for name, array in arrays.items() if array.dim() == 3}
    if heads is not None:
        counts = {"heads": int(heads)} | counts
    if len(set(counts.values())) > 1:
        said = ", ".join(f"{name} {count}" for name, count in counts.items())
        raise UsageError(f"the numbers of heads differ: {said}. Give every head its matrix.")
    return next(iter(counts.values()), 1)


def divisor_of(scale: Scale, example: Given, arrays: Mapping[str, Tensor]) -> float | None:
    """What divides the scores; None where nothing does."""
    if scale is None:
        return None
    if isinstance(scale, str):
        return _root(scale, example, arrays)
    try:
        number = float(scale) if isinstance(scale, Real) and not isinstance(scale, bool) else math.nan
    except OverflowError:
        raise UsageError(
            "scale is too large for float64. Give a number above 0: it divides the scores."
        ) from None
    if not 1 / sys.float_info.max <= number < math.inf:
        raise UsageError(f"scale = {scale!r} must be a number above 0: it divides the scores.")
    return number


def _root(scale: str, example: Given, arrays: Mapping[str, Tensor]) -> float | None:
    """The root of d_k or of d_model."""
    if scale not in ("sqrt_dk", "sqrt_dmodel"):
        raise UsageError(
            f'scale = "{scale}" is not known. Give "sqrt_dk", "sqrt_dmodel", None, or a number that divides.'
        )
    if scale == "sqrt_dk" and example.entry is not None:
        return None  # without queries nobody knows d_k
    seen: dict[str, Tensor] = {}
    run(example, lambda name, tensor: seen.setdefault(name, tensor))
    width = seen["queries_BHLK"].shape[-1] if "queries_BHLK" in seen else 0
    if scale == "sqrt_dmodel":
        width = arrays["inputs"].shape[1] if "inputs" in arrays else width * example.heads
    if not width:
        raise UsageError('scale = "sqrt_dmodel": no inputs or queries say d_model. Give its root, a number.')
    return math.sqrt(width)


def check_mask(mask: Any) -> None:
    """Raises for a word that names no mask."""
    if isinstance(mask, str) and mask != "causal":
        raise UsageError(
            f'mask = "{mask}" is not known. Give None, "causal", or an array of 0 and -inf or of bools.'
        )


def mask_of(mask: Any, example: Given) -> Tensor:
    """What is added to the scores, H × L × M: 0 or below."""
    matrix = matrix_of("mask", _additive(mask))
    wrong = matrix[~(matrix <= 0)]
    if len(wrong):
        is_zero_or_one = bool(((matrix == 0) | (matrix == 1)).all())
        which = ": of 0 and 1, mask == 1 or mask == 0" if is_zero_or_one else ""
        raise UsageError(
            f"mask: {wrong[0]:g} is not 0 or below: a mask is added to the scores, 0 where a query may look, "
            f"-inf where it may not. Or give bools, True where a query may look{which}."
        )
    rows_columns = (example.queries, example.keys)
    if matrix.shape[-2:] != rows_columns or (matrix.dim() == 3 and len(matrix) != example.heads):
        heads = f", of each of {example.heads} heads," if example.heads > 1 else ""
        raise UsageError(
            f"mask is {shape_text(matrix.shape)} and the scores{heads} are {shape_text(rows_columns)}: "
            "they are added, so they must be alike."
        )
    return for_each_head(matrix, example.heads)


def _additive(mask: Any) -> Any:
    """Bools as 0 and -inf; anything else as it is."""
    if isinstance(mask, Tensor):
        return (
            torch.zeros(mask.shape).masked_fill(~mask.cpu(), -math.inf) if mask.dtype == torch.bool else mask
        )
    try:
        array = np.asarray(mask)
    except (TypeError, ValueError, RuntimeError):
        return mask  # of which `matrix_of` says what is wrong
    return np.where(array, 0.0, -math.inf) if array.dtype == bool else mask


def words_of(name: str, words: Any) -> list[str]:
    """Words, one for each row."""
    try:
        listed: list[Any] = [None] if isinstance(words, str) else list(words)
    except TypeError:
        listed = [None]
    if not all(isinstance(word, str) for word in listed):
        raise UsageError(f'{name} must be a list of words, ["Me", "gustan"].')
    return listed
