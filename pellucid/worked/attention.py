"""Worked examples of attention: plain arrays in, every stage out, computed by the model's own `attend`."""

import math
from collections.abc import Iterable, Mapping
from dataclasses import replace
from numbers import Real
from typing import Any

import numpy as np
import torch
from torch import Tensor

from pellucid.config.settings import convert
from pellucid.errors import UsageError
from pellucid.worked.stages import ENTRIES, WEIGHTS, Start, read_words, size, split
from pellucid.worked.worked_example import WorkedAttention

Scale = str | float | None
MATRICES = ("inputs", "memory", *WEIGHTS.values(), "w_output", *WEIGHTS, *ENTRIES)


def attention(
    *,
    inputs: Any = None,
    memory: Any = None,
    w_query: Any = None,
    w_key: Any = None,
    w_value: Any = None,
    w_output: Any = None,
    queries: Any = None,
    keys: Any = None,
    values: Any = None,
    scores: Any = None,
    scaled_scores: Any = None,
    masked_scores: Any = None,
    weights: Any = None,
    heads: int | None = None,
    scale: Scale = "sqrt_dk",
    mask: Any = None,
    tokens: Iterable[str] | None = None,
    memory_tokens: Iterable[str] | None = None,
) -> WorkedAttention:
    """Compute an attention from plain arrays, starting at any stage: from inputs and weight matrices (x · W,
    with W as in × out; without its W, a projection is the inputs themselves), from queries, keys and values,
    or from a later stage with values.

    Arrays are L × D, or H × L × K for several heads. `scale` is "sqrt_dk", "sqrt_dmodel", None, or a number
    that the scores are divided by. If the scores are given, d_k is unknown, and "sqrt_dk" does not divide.
    `mask` is None, "causal", or an array: bools (True: may look), or numbers to add, 0 or below (-inf hides).
    NaN stands for an unknown number.
    """
    arguments = {name: value for name, value in locals().items() if value is not None or name == "scale"}
    arrays = {name: check_matrix(name, arguments[name]) for name in MATRICES if name in arguments}
    start = _start(arrays, heads, scale, mask)
    words = _read_words(start, arguments)
    return WorkedAttention(start, words, arguments | arrays)


def _read_words(start: Start, arguments: dict[str, Any]) -> dict[str, list[str]]:
    """Return the words of the queries (axis L) and of the keys (axis M). In self-attention, `tokens` are the
    words of both. Raise an error if there are not as many words as rows."""
    words: dict[str, list[str]] = {}
    for axis, name, rows in zip("LM", ("tokens", "memory_tokens"), start.lengths, strict=True):
        if name in arguments:
            words[axis] = arguments[name] = read_words(name, arguments[name], rows) or []
        elif "L" in words and "memory" not in arguments and len(words["L"]) == rows:
            words[axis] = words["L"]
    return words


def check_matrix(name: str, value: Any, shape: tuple[int, int] | None = None) -> Tensor:
    """Return an argument as float64: a matrix, or one matrix for each head. Raise an error if it is not a
    matrix of numbers, or if it does not have this `shape` (rows, columns)."""
    try:
        given = value.detach().cpu() if isinstance(value, Tensor) else torch.tensor(np.asarray(value))
    except (TypeError, ValueError):
        raise UsageError(
            f"{name} is not a matrix of numbers. Give rows of the same length, [[1.0, 2.0], …]."
        ) from None
    if name == "mask" and given.dtype == torch.bool:
        given = torch.zeros(given.shape).masked_fill(~given, -math.inf)
    matrix, is_single = given.double(), name in ("inputs", "memory")
    if matrix.dim() not in ((2,) if is_single else (2, 3)) or not matrix.numel():
        heads = "" if is_single else ", or one for each head"
        raise UsageError(
            f"{name} has the shape {tuple(matrix.shape)}. Give a matrix, [[1.0, 2.0], …]{heads}."
        )
    if name == "mask" and not bool((matrix <= 0).all()):
        raise UsageError(
            f"mask: {matrix.max():g} is not 0 or below: a mask is added to the scores, 0 where a query may "
            "look, -inf where it may not. Or give bools, True where a query may look: of 0 and 1, mask == 1 "
            "or mask == 0."
        )
    if shape and matrix.shape[-2:] != shape:
        raise UsageError(f"{name} is {size(matrix)}, but must be {shape[0]}×{shape[1]} like the scores.")
    return matrix


def _start(arrays: Mapping[str, Tensor], heads: int | None, scale: Scale, mask: Any) -> Start:
    """Return the numbers that the stages start from; raise an error for an argument that does not fit or has
    no effect."""
    convert("heads", heads, int | None, {"low": 1})
    count = _count_heads(arrays, heads)
    entry = next((name for name in ENTRIES if name in arrays), None)
    matrices: dict[str, Tensor] = {}
    sources: dict[str, str] = {}
    for name in WEIGHTS if entry is None else ("values",):
        source = "memory" if name != "queries" and "memory" in arrays else "inputs"
        if name in arrays or source in arrays:
            matrices[name] = _project(name, source, arrays, count)
            sources |= {} if name in arrays else {name: source}
        elif name != "values":
            raise UsageError(f"there are no {name}. Give {name}=, or inputs= (and {WEIGHTS[name]}=).")
    if entry:
        matrices[entry] = arrays[entry].expand(count, -1, -1)
    if "w_output" in arrays:  # stack one W_O for each head into one matrix
        arrays = {**arrays, "w_output": arrays["w_output"].reshape(-1, arrays["w_output"].shape[-1])}
    start = Start(arrays, matrices, sources, count, causal=isinstance(mask, str))
    _check_products(start)
    _refuse_idle(start, scale, mask)
    start = replace(start, divisor=_read_divisor(scale, start))
    if start.causal and mask != "causal":
        ways = 'Give None, "causal", or an array of 0 and -inf or of bools.'
        raise UsageError(f'mask = "{mask}" is not known. {ways}')
    if start.causal and start.lengths[0] != start.lengths[1]:
        raise UsageError(
            f'mask = "causal": the scores are {start.lengths[0]}×{start.lengths[1]}. It is for '
            "self-attention, where queries and keys share their positions. Give an array of 0 and -inf."
        )
    if start.causal or mask is None:
        return start
    given = check_matrix("mask", mask, start.lengths)
    _count_heads({"mask": given}, count if count > 1 else None)
    matrices["mask"] = given.expand(count, -1, -1)
    return replace(start, arrays={**arrays, "mask": given})


def _count_heads(arrays: Mapping[str, Tensor], heads: int | None) -> int:
    """Return the number of heads; raise an error if arguments with one matrix per head disagree."""
    counts = {} if heads is None else {"heads": heads}
    counts |= {name: len(array) for name, array in arrays.items() if array.dim() == 3}
    if len(set(counts.values())) > 1:
        listed = ", ".join(f"{name} {count}" for name, count in counts.items())
        raise UsageError(f"different numbers of heads are given: {listed}. Give one matrix for each head.")
    return next(iter(counts.values()), 1)


def _project(name: str, source: str, arrays: Mapping[str, Tensor], heads: int) -> Tensor:
    """Return queries, keys or values for each head: the argument itself, or x · W, or x if W is missing."""
    weight = WEIGHTS[name]
    matrix = arrays.get(name, arrays.get(source, torch.empty(0)))
    if name not in arrays and weight in arrays:
        matrix = _multiply(name, source, matrix, weight, arrays[weight])
    if matrix.dim() == 2 and matrix.shape[1] % heads:
        raise UsageError(f"{name}: {matrix.shape[1]} columns are not a multiple of heads = {heads}.")
    return matrix if matrix.dim() == 3 else split(matrix, heads)


def _check_products(start: Start) -> None:
    """Raise an error unless the shapes of Q · K^T, weights · V and concatenated · W_O can be multiplied."""
    matrices, (queries, keys) = start.matrices, start.lengths
    if start.entry is None:
        _multiply("scores", "queries", matrices["queries"], "keys^T", matrices["keys"].mT)
    if (values := matrices.get("values")) is not None:
        _multiply("context", "weights", values.new_zeros(queries, keys), "values", values)
        if "w_output" in start.arrays:
            whole = values.new_zeros(queries, start.heads * values.shape[-1])
            _multiply("output", "concatenated", whole, "w_output", start.arrays["w_output"])


def _multiply(result: str, left: str, a: Tensor, right: str, b: Tensor) -> Tensor:
    """Return a · b. If their shapes do not fit, raise an error with the names `result`, `left`, `right`."""
    columns, rows = a.shape[-1], b.shape[-2]
    if columns == rows:
        return a @ b
    turned = b.shape[-1] == columns and right.startswith("w_")
    hint = f" Its transpose would: {right} is written in × out." if turned else ""
    raise UsageError(
        f"{result}: {left} · {right} is ({size(a)})·({size(b)}), which does not multiply: "
        f"the left has {columns} columns, the right {rows} rows.{hint}"
    )


def _refuse_idle(start: Start, scale: Scale, mask: Any) -> None:
    """Raise an error if an argument has no effect because nothing is computed from it."""
    used = {*start.matrices, *start.sources.values(), *(WEIGHTS[name] for name in start.sources)}
    used |= {"w_output"} if "values" in start.matrices else set()
    idle = [name for name in start.arrays if name not in used]
    idle += ["mask"] if mask is not None and start.entry in ("masked_scores", "weights") else []
    idle += ["scale"] if start.entry in ENTRIES[1:] and scale not in (None, "sqrt_dk") else []
    if idle:
        others = ", ".join(name for name in start.arrays if name in used)
        raise UsageError(
            f"{idle[0]} has no effect beside {others}: nothing is computed from it. Leave it out, or start "
            "from another stage."
        )


def _read_divisor(scale: Scale, start: Start) -> float | None:
    """Return the number that the scores are divided by. Return None for scale=None, and for "sqrt_dk" without
    queries, because d_k is their width."""
    width = start.matrices["queries"].shape[-1] if "queries" in start.matrices else None
    if scale is None or scale == "sqrt_dk":
        return None if scale is None or width is None else math.sqrt(width)
    if scale == "sqrt_dmodel":
        whole = start.arrays["inputs"].shape[1] if "inputs" in start.arrays else width and width * start.heads
        if whole is None:
            raise UsageError(
                'scale = "sqrt_dmodel" needs inputs or queries, whose width is d_model. Give them, or give '
                "the square root of d_model as a number."
            )
        return math.sqrt(whole)
    number = float(scale) if isinstance(scale, Real) and not isinstance(scale, bool) else math.nan
    if not 0 < number < math.inf:
        raise UsageError(
            f'scale = {scale!r:.40} is not known. Give "sqrt_dk", "sqrt_dmodel", None, or a number above 0 '
            "that divides the scores."
        )
    return number
