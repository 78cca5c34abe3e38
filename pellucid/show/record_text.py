"""Text for a tensor (as matrices) and for a trace (as a list of tensors).

The shade of a cell shows the size of its number: relative to 1 for weights and probabilities, otherwise
relative to the largest absolute number. In a terminal −∞ is hatched, and an exact 0 is written without
decimals.
"""

import math
import re
from collections.abc import Sequence
from html import unescape

from torch import Tensor

from pellucid.errors import UsageError
from pellucid.reading.tensors import describe
from pellucid.seeing.records import AXES, Record, stack_of
from pellucid.seeing.trace import Trace
from pellucid.show.code_lines import code_line
from pellucid.show.columns import digits
from pellucid.show.tables import Cell, Note, Part, Table, view

FIRST, LAST = 4, 2  # columns of a wide matrix that are shown
ALL = 8  # columns that are always shown, if they are no tokens
BEST = 3  # words of each row that are shown, where an axis is the vocabulary
LONGEST = 16  # cells of a token


@view(Record)
def record_parts(
    record: Record, width: int, head: int | None = None, words: Sequence[str] = ()
) -> list[Part]:
    """Describe a tensor, and show the matrix of each head, or of one `head`, for the first sentence. `words`:
    the vocabulary's tokens, as labels of an axis V."""
    matrices, sentences = record.matrices.double(), record.axes.startswith("B") and len(record.tensor)
    heads = range(len(matrices)) if "H" in record.axes else range(0)
    if head is not None and head not in heads:
        remedy = f"Give one from 0 to {heads[-1]}." if heads else "Leave the head out."
        raise UsageError(f"head = {head!r:.60}: {record.name} has {len(heads) or 'no'} heads. {remedy}")
    sides = [_axis(record.name, axis) for axis in record.sides]
    parts: list[Part] = [Note(record.name, "bold"), *_about(record.name)]
    parts += [f"the first of {sentences} sentences"] if sentences > 1 else []
    parts.append(_sides(record.name, record.sides, sides))
    finite = matrices[matrices.isfinite()].abs()
    largest = 1.0 if record.is_shares or not finite.any() else float(finite.max())
    for number, matrix in enumerate(matrices):
        if head in (None, number):
            which = f"head {number} of {len(heads)}: " if heads else ""
            sizes = " × ".join(map(str, matrix.shape[: len(sides)]))
            parts += ["", f"{which}{sizes} = {' × '.join(sides)}"]
            parts += _matrix(record, matrix, largest, words)
    return parts


@view(Trace)
def trace_parts(trace: Trace, width: int) -> list[Part]:
    """List the tensors of a pass by name, with their axes and shapes."""
    rows = [
        [name, " ".join(record.axes), "×".join(map(str, record.tensor.shape))]
        for name, record in trace.items()
    ]
    legend = "; ".join(f"{axis} {meaning}" for axis, meaning in AXES.items())
    title = f"{len(trace)} tensors of one pass: trace[name].tensor"
    return [Table(["name", "axes", "shape"], rows, left=3, longest=width, title=title), legend]


def _about(name: str) -> list[Part]:
    """Describe a tensor of the model or a stage of a worked example: symbol, equation, line of code."""
    parts: list[Part] = []
    try:
        about = describe(name if "." in name else f"self_attention.{name}")
        parts.append(f"{about.symbol} · {about.title}: {_plain(about.equation)}")
        parts += [f"in the notes: {_plain(about.notes)}"] if about.notes else []
    except KeyError:
        pass  # the tensor of a model of one's own
    code = code_line(name)
    return [*parts, Note(str(code), "code")] if code else parts


def _plain(html: str) -> str:
    """Turn HTML into plain text: W<sup>Q</sup> becomes W^Q, and d<sub>k</sub> becomes d_k."""
    marked = re.sub("<sup>", "^", re.sub("<sub>", "_", html))
    return unescape(re.sub("<[^>]*>", "", marked))


def _axis(name: str, axis: str) -> str:
    """Say what an axis stands for: "source" or "target" for L and M of a model's tensor, otherwise its
    meaning in AXES."""
    if axis in "LM" and "." in name:
        return {"encoder": "source", "decoder": "target"}[stack_of(name, axis)]
    return AXES[axis]


def _sides(name: str, axes: str, sides: Sequence[str]) -> str:
    """Say what rows and columns are: "rows: target, which asks (L) · columns: source, which is attended to
    (M)"."""
    asks = axes[0] == "L" and ("M" in axes or name.endswith((".queries", ".context")))
    written = [f"rows: {sides[0]}{', which asks' if asks else ''} ({axes[0]})"]
    if len(axes) > 1:
        asked = ", which is attended to" if axes[1] == "M" else ""
        written.append(f"columns: {sides[1]}{asked} ({axes[1]})")
    return " · ".join(written)


def _matrix(record: Record, matrix: Tensor, largest: float, words: Sequence[str]) -> list[Part]:
    """Show rows and columns, and say which columns are left out."""
    axes = record.sides
    titles: Sequence[str] = record.labels(axes[1]) if len(axes) > 1 else [""]
    titles = words if axes.endswith("V") and len(words) == len(titles) else titles
    places, left_out = _columns(axes, matrix)
    header = ["", *("…" if place is None else titles[place] for place in places)]
    rows: list[list[str | Cell]] = []
    for label, row in zip(record.labels(axes[0]), matrix.tolist(), strict=True):
        cells = ["…" if place is None else _cell(row[place], largest) for place in places]
        rows.append([label, *cells, *([digits(sum(row))] if record.is_shares else [])])
    header += ["sum"] if record.is_shares else []
    return [Table(header, rows, longest=LONGEST), *([left_out] if left_out else [])]


def _columns(axes: str, matrix: Tensor) -> tuple[list[int | None], str]:
    """Choose the columns to show. Return their indices, with None for a gap, and a sentence that describes
    the choice, or "" if all are shown."""
    count = matrix.shape[1]
    if axes.endswith("V"):
        best = {int(word) for row in matrix for word in row.argsort(descending=True, stable=True)[:BEST]}
        shown = f"the {BEST} best words of each row, of {count} in the vocabulary"
        return list(sorted(best)), f"Shown: {shown}." if len(best) < count else ""
    if len(axes) == 1 or axes[1] == "M" or count <= ALL:
        return list(range(count)), ""
    ends = f"the first {FIRST} and the last {LAST} of {count} columns"
    return [*range(FIRST), None, *range(count - LAST, count)], f"Shown: {ends}."


def _cell(value: float, largest: float) -> Cell:
    if math.isnan(value):
        return Cell("?", 0.0)
    if math.isinf(value):
        return Cell("−∞", 0.0) if value < 0 else Cell("∞", 1.0)
    return Cell("0" if value == 0 else digits(value), min(1.0, abs(value) / largest))
