"""Worked examples: plain arrays in, every stage of an attention out, through the model's own `attend`."""

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

from torch import Tensor

from pellucid.errors import UsageError
from pellucid.worked.matrices import for_each_head, matrix_of
from pellucid.worked.settings import Scale, check_mask, divisor_of, heads_of, mask_of, words_of
from pellucid.worked.stages import ENTRIES, Given, Projection, run, size, split
from pellucid.worked.worked_example import WorkedExample

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
    tokens: Iterable[str] | None = None,
    memory_tokens: Iterable[str] | None = None,
) -> WorkedExample:
    """Attention worked out from plain arrays, entered at any stage: from inputs and W (x · W, W as in × out;
    without a W the inputs themselves), from queries, keys and values, or from a later stage with values.

    Arrays are L × D, or H × L × K for several heads. `scale` is "sqrt_dk", "sqrt_dmodel", None or a number
    that divides; where scores are given there is no d_k, and they are divided only by a number. `mask` is
    None, "causal", or an array: bools (True: may look), or numbers that are added, 0 or below; -inf hides.
    NaN is a number that is not known.
    """
    arguments = {name: value for name, value in locals().items() if value is not None or name == "scale"}
    given = {name: value for name, value in arguments.items() if name in MATRICES}
    arrays = {name: matrix_of(name, value) for name, value in given.items()}
    words: dict[str, list[str]] = {
        name: words_of(name, arguments[name]) for name in ("tokens", "memory_tokens") if name in arguments
    }
    complete = _given(arrays, heads, scale, mask)
    worked = WorkedExample(complete, _along(words, complete, "memory" in arrays), arguments | arrays | words)
    _refuse_overflow(worked)
    return worked


def _given(arrays: Mapping[str, Tensor], heads: int | None, scale: Scale, mask: Any) -> Given:
    """What an example starts from; raises where something does not fit, or would have no effect."""
    entry = _entry(arrays, scale, mask)
    count = heads_of(arrays, heads)
    matrices: dict[str, Tensor] = {}
    projections: dict[str, Projection] = {}
    for name in WEIGHTS if entry is None else ("values",):
        _take(name, arrays, count, matrices, projections)
    if entry is not None:
        matrices[entry] = for_each_head(arrays[entry], count)
    _refuse_unused(arrays, matrices, projections)
    example = _joined(entry, count, matrices, projections)
    w_output = _output(arrays.get("w_output"), example)
    divisor = divisor_of(scale, example, arrays)
    if mask is not None and not isinstance(mask, str):
        matrices = {**matrices, "mask": mask_of(mask, example)}
    causal = isinstance(mask, str)
    return replace(example, matrices=matrices, divisor=divisor, causal=causal, w_output=w_output)


def _entry(arrays: Mapping[str, Tensor], scale: Scale, mask: Any) -> str | None:
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
    is_default = scale is None or (isinstance(scale, str) and scale == "sqrt_dk")
    if not is_default and entry in ENTRIES[1:]:
        idle.append("scale")
    if idle:
        raise UsageError(f"{entry} is given, so {idle[0]} has no effect. Leave one of the two out.")
    check_mask(mask)
    return entry


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


def _along(words: Mapping[str, list[str]], given: Given, has_memory: bool) -> dict[str, list[list[str]]]:
    """The words along L and M; in self-attention they are the same."""
    along = {"L": ("tokens", given.queries), "M": ("memory_tokens", given.keys)}
    if "memory_tokens" not in words and not has_memory and given.queries == given.keys:
        along["M"] = along["L"]
    found = {}
    for axis, (name, length) in along.items():
        if name in words:
            if len(words[name]) != length:
                raise UsageError(f"{name}: {len(words[name])} words for {length} rows. Give one for each.")
            found[axis] = [words[name]]
    return found


def _refuse_overflow(worked: WorkedExample) -> None:
    """Raises where a stage leaves float64: what follows from it would look like numbers not known."""
    given = worked.given
    start = [*given.matrices.values(), *([] if given.w_output is None else [given.w_output])]
    for projection in given.projections.values():
        start += (
            [projection.matrix] if projection.weights is None else [projection.matrix, projection.weights]
        )
    is_known = not any(bool(matrix.isnan().any()) for matrix in start)
    for name, record in worked.items():
        if name in given.matrices:
            continue
        beyond = record.tensor.isinf()
        if name == "scaled_scores":
            beyond &= worked["scores"].tensor.isfinite()
        if name in ("mask", "masked_scores"):
            beyond &= record.tensor > 0  # -inf is what masks
        if bool(beyond.any()) or (is_known and bool(record.tensor.isnan().any())):
            raise UsageError(f"{name}: from these numbers it overflows float64 (1.8e308). Give smaller ones.")
