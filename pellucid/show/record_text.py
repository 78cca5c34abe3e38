"""One tensor as a matrix for a terminal: tokens on both axes, who asks, what is attended to, shapes in words.

Beside each number is a block (░ ▒ ▓ █) for its share: of 1 in weights and probabilities, elsewhere of the
largest number without its sign. −∞ is hatched (╱), and what is exactly 0 is a bare 0.
"""

import math
import re
import textwrap
from collections.abc import Sequence
from html import unescape

import torch
from torch import Tensor

from pellucid.config.whole import is_whole
from pellucid.errors import UsageError
from pellucid.reading.tensors import TensorKind, describe
from pellucid.seeing.records import AXES, Record, stack_of
from pellucid.seeing.viewed import lines
from pellucid.show.code_lines import code_line
from pellucid.show.columns import BLOCKS, columns, digits, paragraph

SHARES = ("weights", "probabilities")  # whose rows sum to 1
ENDS = {
    72: (4, 2),
    0: (2, 2),
}  # of a wide matrix's columns that are no tokens: first, last, from this width on
ALL = 8  # columns that are no tokens and are still all shown
BEST = 3  # words of each row that are shown, where an axis is the vocabulary
LONGEST = 16  # cells of a token


@lines.register
def record_lines(
    record: Record, width: int = 80, head: int | None = None, words: Sequence[str] = ()
) -> list[str]:
    """Its name and what it is, then a matrix for each head; the first sentence of several."""
    values = record.tensor.detach().cpu().double()
    axes = record.axes
    text = [record.name, *_about(record.name, width)]
    if axes.startswith("B"):
        if len(values) > 1:
            text += paragraph(f"the first of {len(values)} sentences", width)
        values, axes = values[0], axes[1:]
    heads = values if axes.startswith("H") else values[None]
    axes = axes.removeprefix("H")
    shown = range(len(heads)) if head is None else [_checked(record, head)]
    text += paragraph(_sides(record.name, axes), width)
    largest = 1.0 if _is_shares(record) else _largest(values)
    for number in shown:
        panel = heads[number] if len(axes) > 1 else heads[number][:, None]
        which = f"head {number} of {len(heads)}: " if "H" in record.axes else ""
        text += ["", *paragraph(f"{which}{_shape(record.name, axes, panel)}", width)]
        text += _matrix(record, axes, panel, largest, words, width)
    return text


def _checked(record: Record, head: int) -> int:
    """A head that there is."""
    if "H" not in record.axes:
        raise UsageError(
            f"head = {head!r:.60}: {record.name} has none, its axes are {record.axes}. Leave the head out."
        )
    count = record.tensor.shape[record.axes.index("H")]
    if not is_whole(head, 0, count - 1):
        raise UsageError(
            f"head = {head!r:.60}: {record.name} has {count} heads. Give one from 0 to {count - 1}."
        )
    return int(head)


def _about(name: str, width: int) -> list[str]:
    """Its symbol, what it is, what the notes call it, and the line of the model that computes it."""
    lines = []
    about = _caption(name)
    if about:
        lines += paragraph(f"{about.symbol} · {about.title}: {_plain(about.equation)}", width)
        if about.notes:
            lines += paragraph(f"in the notes: {_plain(about.notes)}", width)
    if code := code_line(name):
        lines += textwrap.wrap(f"{code}", width, initial_indent="| ", subsequent_indent="|     ")
    return lines


def _caption(name: str) -> TensorKind | None:
    """Of a tensor of a model, or of a stage of a worked example; None of anything else."""
    try:
        return describe(name if "." in name else f"self_attention.{name}")
    except KeyError:
        return None


def _plain(html: str) -> str:
    """W<sup>Q</sup> as W^Q, d<sub>k</sub> as d_k."""
    marked = re.sub("<sup>", "^", re.sub("<sub>", "_", html))
    return unescape(re.sub("<[^>]*>", "", marked))


def _of(name: str, axis: str) -> str:
    """What an axis counts, in a word or some: target, source, model width."""
    if axis in "LM" and "." in name:
        return {"encoder": "source", "decoder": "target"}[stack_of(name, axis)]
    return AXES[axis]


def _sides(name: str, axes: str) -> str:
    """Who asks, and what is attended to."""
    asks = ", which asks" if "M" in axes or name.endswith((".queries", ".context")) else ""
    rows = f"rows: {_of(name, axes[0])}{asks if axes[0] == 'L' else ''} ({axes[0]})"
    if len(axes) == 1:
        return rows
    asked = ", which is attended to" if axes[1] == "M" else ""
    return f"{rows} · columns: {_of(name, axes[1])}{asked} ({axes[1]})"


def _shape(name: str, axes: str, panel: Tensor) -> str:
    """6 × 6 = target × target."""
    sizes = " × ".join(str(size) for size in panel.shape[: len(axes)])
    return f"{sizes} = {' × '.join(_of(name, axis) for axis in axes)}"


def _matrix(
    record: Record, axes: str, panel: Tensor, largest: float, words: Sequence[str], width: int
) -> list[str]:
    """The rows below each other, in parts where they are wide; what is left out is said."""
    rows, is_shares = record.labels(axes[0]), _is_shares(record)
    titles = _titles(record, axes, words)
    first, last = next(ends for least, ends in ENDS.items() if width >= least)
    places, left_out = _places(axes, panel, first, last)
    header = ["", *("…" if place is None else f"{titles[place]} " for place in places)]
    table = []
    for label, numbers in zip(rows, panel.tolist(), strict=True):
        cells = ["…" if place is None else _cell(numbers[place], largest) for place in places]
        table.append([label, *cells, *([digits(sum(numbers))] if is_shares else [])])
    header += ["sum"] if is_shares else []
    lines = columns(header, table, width, longest=LONGEST)
    return [*lines, *paragraph(left_out, width)] if left_out else lines


def _titles(record: Record, axes: str, words: Sequence[str]) -> list[str]:
    if len(axes) == 1:
        return [""]
    own = record.labels(axes[1])
    return list(words) if axes[1] == "V" and len(words) == len(own) else own


def _places(axes: str, panel: Tensor, first: int, last: int) -> tuple[list[int | None], str]:
    """The columns that are shown, with None for those left out, and a sentence that says so."""
    count = panel.shape[1]
    if axes.endswith("V"):
        best = {int(word) for row in panel for word in row.argsort(descending=True, stable=True)[:BEST]}
        shown = f"the {BEST} best words of each row, of {count} in the vocabulary"
        return list(sorted(best)), f"Shown: {shown}." if len(best) < count else ""
    if len(axes) == 1 or axes[1] == "M" or count <= ALL:
        return list(range(count)), ""
    ends = f"the first {first} and the last {last} of {count} columns"
    return [*range(first), None, *range(count - last, count)], f"Shown: {ends}."


def _cell(value: float, largest: float) -> str:
    """The number, and a block that is the fuller the larger it is."""
    if math.isnan(value):
        return "? "
    if math.isinf(value):
        return "−∞╱" if value < 0 else "∞█"
    level = round(min(1.0, abs(value) / largest) * (len(BLOCKS) - 1))
    return f"{'0' if value == 0 else digits(value)}{BLOCKS[level]}"


def _largest(values: Tensor) -> float:
    finite = torch.where(values.isfinite(), values, 0.0).abs()
    return float(finite.max()) or 1.0 if finite.numel() else 1.0


def _is_shares(record: Record) -> bool:
    return record.name.rpartition(".")[2] in SHARES
