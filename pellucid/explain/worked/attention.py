"""Worked examples: plain arrays in, every stage of an attention out, through the model's own `attend`."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from torch import Tensor

from pellucid.errors import UsageError
from pellucid.explain.worked.matrices import matrix_of, shape_text
from pellucid.explain.worked.stages import ENTRIES, Given, Projection, run, size, split
from pellucid.explain.worked.worked_example import WorkedExample

Scale = str | float | None
MATRICES = (
    "inputs",
    "memory",
    "w_query",
    "w_key",
    "w_value",
    "w_output",
    "queries",
    "keys",
    "values",
    *ENTRIES,
)
WEIGHTS = {"queries": "w_query", "keys": "w_key", "values": "w_value"}


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
    tokens: Sequence[str] | None = None,
    memory_tokens: Sequence[str] | None = None,
) -> WorkedExample:
    """Attention worked out from plain arrays, entered at any stage: from inputs and W (x · W, W as in × out;
    without a W the inputs themselves), from queries, keys and values, or from a later stage with values.

    Arrays are L × D, or H × L × K for several heads. `scale` is "sqrt_dk", "sqrt_dmodel", None or a number
    that divides; where scores are given there is no d_k, and they are divided only by a number. `mask` is
    None, "causal", or an array of 0 and -inf or of bools (True: may look). NaN is a number that is not known.
    """
    arguments = {name: value for name, value in locals().items() if value is not None or name == "scale"}
    given = {name: value for name, value in arguments.items() if name in MATRICES}
    arrays = {name: matrix_of(name, value) for name, value in given.items()}
    complete = _given(arrays, heads, scale, mask)
    words = _tokens(tokens, memory_tokens, complete, "memory" in arrays)
    return WorkedExample(complete, words, arguments)


def _given(arrays: Mapping[str, Tensor], heads: int | None, scale: Scale, mask: Any) -> Given:
    """What an example starts from; raises where something does not fit, or would have no effect."""
    entry = _entry(arrays, mask)
    count = _heads(arrays, heads)
    matrices: dict[str, Tensor] = {}
    projections: dict[str, Projection] = {}
    for name in WEIGHTS if entry is None else ("values",):
        _take(name, arrays, count, matrices, projections)
    if entry is not None:
        matrices[entry] = _for_each_head(arrays[entry], count)
    _refuse_unused(arrays, matrices, projections)
    example = _joined(entry, count, matrices, projections)
    w_output = _output(arrays.get("w_output"), example)
    divisor = _divisor(scale, example, arrays)
    if mask is not None and not isinstance(mask, str):
        matrices = {**matrices, "mask": _mask(mask, example)}
    causal = isinstance(mask, str)
    return replace(example, matrices=matrices, divisor=divisor, causal=causal, w_output=w_output)


def _entry(arrays: Mapping[str, Tensor], mask: Any) -> str | None:
    """The stage after the queries that is given, if one is."""
    late = [name for name in ENTRIES if name in arrays]
    if len(late) > 1:
        raise UsageError(
            f"{' and '.join(late)} are both given: the first makes the second. Give one of them."
        )
    entry = late[0] if late else None
    idle = [name for name in ("queries", "keys", "w_query", "w_key") if name in arrays] if entry else []
    if mask is not None and entry in ("masked_scores", "weights"):
        idle.append("mask")
    if idle:
        raise UsageError(f"{entry} is given, so {idle[0]} has no effect. Leave one of the two out.")
    if isinstance(mask, str) and mask != "causal":
        raise UsageError(
            f'mask = "{mask}" is not known. Give None, "causal", or an array of 0 and -inf or of bools.'
        )
    return entry


def _heads(arrays: Mapping[str, Tensor], heads: int | None) -> int:
    """The number that `heads` and all arrays with a matrix for each head agree on."""
    if heads is not None and (
        not isinstance(heads, int | np.integer) or isinstance(heads, bool) or heads < 1
    ):
        raise UsageError(f"heads = {heads!r} must be a whole number, 1 or more.")
    counts = {name: array.shape[0] for name, array in arrays.items() if array.dim() == 3}
    if heads is not None:
        counts = {"heads": int(heads)} | counts
    if len(set(counts.values())) > 1:
        said = ", ".join(f"{name} {count}" for name, count in counts.items())
        raise UsageError(f"the numbers of heads differ: {said}. Give every head its matrix.")
    return next(iter(counts.values()), 1)


def _take(
    name: str,
    arrays: Mapping[str, Tensor],
    heads: int,
    matrices: dict[str, Tensor],
    projections: dict[str, Projection],
) -> None:
    """Queries, keys or values: as they are given, or from the inputs or the memory."""
    weight = WEIGHTS[name]
    source = "memory" if name != "queries" and "memory" in arrays else "inputs"
    if name in arrays:
        if weight in arrays:
            raise UsageError(f"{name} are given, so {weight} has no effect. Leave one of the two out.")
        matrix = arrays[name]
        matrices[name] = matrix if matrix.dim() == 3 else _split(name, matrix, heads)
    elif source in arrays:
        matrix, w = arrays[source], arrays.get(weight)
        if w is None:
            _split(name, matrix, heads)
        else:
            _multiply(name, source, matrix, weight, w)
            if w.dim() == 2:
                _split(f"{name}: {weight}", w, heads)
        projections[name] = Projection(source, matrix, weight, w)
    elif name != "values":
        where = "inputs" if name == "queries" else "memory or inputs"
        raise UsageError(f"there are no {name}. Give {name}=, or {where}= (and {weight}=).")


def _split(name: str, matrix: Tensor, heads: int) -> Tensor:
    if matrix.shape[1] % heads:
        raise UsageError(
            f"{name} ({size(matrix)}): {matrix.shape[1]} columns are not a multiple of heads = {heads}."
        )
    return split(matrix, heads)


def _multiply(result: str, left: str, a: Tensor, right: str, b: Tensor) -> None:
    """Raises unless a · b exists."""
    columns, rows = a.shape[-1], b.shape[-2]
    if columns == rows:
        return
    hint = ""
    if b.shape[-1] == columns and right.startswith("w_"):
        hint = f" Its transpose would: {right} is written in × out."
    raise UsageError(
        f"{result}: {left} · {right} is ({size(a)})·({size(b)}), which does not multiply: "
        f"the left has {columns} columns, the right {rows} rows.{hint}"
    )


def _for_each_head(matrix: Tensor, heads: int) -> Tensor:
    return matrix if matrix.dim() == 3 else matrix.expand(heads, -1, -1)


def _refuse_unused(
    arrays: Mapping[str, Tensor], matrices: Mapping[str, Tensor], projections: Mapping[str, Projection]
) -> None:
    used = {*matrices, "w_output"}
    for projection in projections.values():
        used |= {projection.source, projection.weight}
    for name in arrays:
        if name not in used:
            need = {"w_query": "inputs", "w_key": "memory or inputs", "w_value": "memory or inputs"}.get(name)
            why = f"it multiplies {need}, which are not given" if need else "everything is given without it"
            raise UsageError(f"{name} has no effect: {why}. Leave it out, or enter at an earlier stage.")


def _joined(
    entry: str | None, heads: int, matrices: Mapping[str, Tensor], projections: Mapping[str, Projection]
) -> Given:
    """L and M, after a look at whether the stages fit together."""

    def rows_columns(name: str) -> Tensor:
        if name in matrices:
            return matrices[name]
        projection = projections[name]
        rows, w = projection.matrix.shape[0], projection.weights
        columns = (projection.matrix if w is None else w).shape[-1]
        return Tensor(rows, columns if w is not None and w.dim() == 3 else columns // heads)

    if entry is None:
        asking, asked = rows_columns("queries"), rows_columns("keys")
        _multiply("scores", "queries", asking, "keys^T", asked.mT)
        queries, keys = asking.shape[-2], asked.shape[-2]
    else:
        queries, keys = matrices[entry].shape[-2:]
    if "values" in matrices or "values" in projections:
        _multiply("context", "weights", Tensor(queries, keys), "values", rows_columns("values"))
    return Given(heads, queries, keys, None, False, matrices, projections)


def _output(w_output: Tensor | None, example: Given) -> Tensor | None:
    if w_output is None:
        return None
    if not example.has_values:
        raise UsageError(
            "w_output has no effect: there are no values, so it ends at the weights. Give values=."
        )
    stacked = w_output.flatten(0, 1) if w_output.dim() == 3 else w_output
    seen: dict[str, Tensor] = {}
    run(example, lambda name, tensor: seen.setdefault(name, tensor))
    _multiply("output", "concatenated", seen["concatenated_BLD"][0], "w_output", stacked)
    return stacked


def _divisor(scale: Scale, example: Given, arrays: Mapping[str, Tensor]) -> float | None:
    """What divides the scores."""
    if scale is None:
        return None
    if isinstance(scale, str):
        if scale not in ("sqrt_dk", "sqrt_dmodel"):
            raise UsageError(
                f'scale = "{scale}" is not known. Give "sqrt_dk", "sqrt_dmodel", None, or a number that '
                "divides."
            )
        if scale == "sqrt_dk" and example.entry is not None:
            return None  # without queries nobody knows d_k
        seen: dict[str, Tensor] = {}
        run(example, lambda name, tensor: seen.setdefault(name, tensor))
        width = seen["queries_BHLK"].shape[-1] if "queries_BHLK" in seen else 0
        if scale == "sqrt_dmodel":
            width = arrays["inputs"].shape[1] if "inputs" in arrays else width * example.heads
        if not width:
            raise UsageError(
                'scale = "sqrt_dmodel": no inputs or queries say d_model. Give its root, a number.'
            )
        return math.sqrt(width)
    is_number = isinstance(scale, int | float | np.number) and not isinstance(scale, bool)
    if not is_number or not (math.isfinite(scale) and scale > 0):
        raise UsageError(f"scale = {scale!r} must be a number above 0: it divides the scores.")
    return float(scale)


def _mask(mask: Any, example: Given) -> Tensor:
    """0 and -inf, H × L × M."""
    array = mask.cpu().numpy() if isinstance(mask, Tensor) else np.array(mask)
    additive = np.where(array, 0.0, -np.inf) if array.dtype == bool else array
    matrix = matrix_of("mask", additive)
    wrong = matrix[~(matrix <= 0)]
    if len(wrong):
        raise UsageError(
            f"mask: {wrong[0]:g} is neither 0 (may look) nor -inf (may not): a mask is added to the scores. "
            "Or give bools, True where a query may look."
        )
    rows_columns = (example.queries, example.keys)
    if matrix.shape[-2:] != rows_columns or (matrix.dim() == 3 and len(matrix) != example.heads):
        heads = f", of each of {example.heads} heads," if example.heads > 1 else ""
        raise UsageError(
            f"mask is {shape_text(matrix.shape)} and the scores{heads} are {shape_text(rows_columns)}: "
            "they are added, so they must be alike."
        )
    return _for_each_head(matrix, example.heads)


def _tokens(
    tokens: Sequence[str] | None, memory_tokens: Sequence[str] | None, given: Given, has_memory: bool
) -> dict[str, list[list[str]]]:
    """The words along L and M; in self-attention they are the same."""
    if memory_tokens is None and not has_memory and given.queries == given.keys:
        memory_tokens = tokens
    found = {}
    for name, axis, words, length in (
        ("tokens", "L", tokens, given.queries),
        ("memory_tokens", "M", memory_tokens, given.keys),
    ):
        if words is not None:
            if len(words) != length:
                raise UsageError(f"{name}: {len(words)} words for {length} rows. Give one for each.")
            found[axis] = [list(words)]
    return found
