"""What a notebook shows of Pellucid's objects: HTML that is complete in itself, without scripts and files.

Jupyter, VS Code and Colab all show it, offline too, and in a notebook that nobody has trusted yet; a page
with scripts in a frame they would not all run. Colours are set in pairs, text and ground, so that it can be
read on a dark ground as well.
"""

import math
from collections.abc import Iterable, Sequence
from html import escape
from typing import TYPE_CHECKING

from pellucid.reading.reading import Reading
from pellucid.reading.words import visible
from pellucid.seeing.records import AXES, Record
from pellucid.seeing.trace import Trace
from pellucid.seeing.viewed import html
from pellucid.show.columns import known
from pellucid.show.terminal import summaries

if TYPE_CHECKING:
    import numpy as np

CELL = "padding:2px 6px;border:1px solid #8886;text-align:{};white-space:nowrap"
GROUNDS = ("", "#e9e1f7", "#c9b6ec", "#9c7ddb", "#6b43bd")  # with black text, white on the last
ROWS, COLUMNS = 12, 16  # of a matrix that are shown; the middle of a longer axis is left out
NAMES = 200  # tensors of a trace that are listed


@html.register
def explanation_html(reading: Reading) -> str:
    """The steps, where they looked, and the summaries."""
    translation = reading.translation
    title = f"{_text(translation.source)} → <b>{_text(translation.text)}</b>"
    steps = [
        [
            str(number),
            _text(step.input),
            f"<b>{_text(step.expected)}</b>",
            known(step.probability, ".4f"),
            known(step.loss, ".4f"),
            " · ".join(f"{_text(token)}&nbsp;{known(rate, '.2f')}" for token, rate in step.alternatives[:3]),
        ]
        for number, step in enumerate(reading.steps, start=1)
    ]
    looked = [
        [_text(step.input), *(_share(share) for share in row)]
        for step, row in zip(reading.steps, reading.attention_to_source().tolist(), strict=True)
    ]
    told = "".join(
        f"<p style='margin:2px 0'><b>{_text(name)}</b> {_text(text)} <code>{_text(where)}</code></p>"
        for name, text, where in summaries(reading)
        if name != "more"
    )
    heads = reading.trace[f"{reading.watched_layer}.weights"].tensor.shape[1]
    about = f"{_text(reading.watched_layer)}.weights, the mean of {heads} heads: the row asks"
    return _block(
        f"<p>{title}</p>",
        _table(["", "input", "expected", "probability", "loss", "most probable"], steps),
        f"<p style='margin:8px 0 2px'>{about}</p>",
        _table(["", *map(_text, reading.source_tokens)], looked),
        told,
        '<p>Every number: <code>explanation.to_html("page.html")</code>, a page to open in a browser.</p>',
    )


@html.register
def trace_html(trace: Trace) -> str:
    """The names, axes and shapes of all tensors."""
    rows = [
        [f"<code>{escape(name)}</code>", escape(" ".join(record.axes)), _shape(record)]
        for name, record in list(trace.items())[:NAMES]
    ]
    more = f"<p>… {len(trace) - NAMES} more.</p>" if len(trace) > NAMES else ""
    legend = "; ".join(f"{axis} {meaning}" for axis, meaning in AXES.items())
    return _block(
        f"<p>{len(trace)} tensors of one pass: <code>trace[name].tensor</code></p>",
        _table(["name", "axes", "shape"], rows),
        f"{more}<p>{escape(legend)}</p>",
    )


@html.register
def record_html(record: Record) -> str:
    """A tensor: its first sentence, and of several heads each, as matrices with their labels."""
    values = record.tensor.detach().cpu().double().numpy()  # for NumPy has no bfloat16
    values = values[0] if record.axes.startswith("B") else values
    panels = values if values.ndim == 3 else [values]
    axes = record.axes.lstrip("BH")
    rows = record.labels(axes[0])
    columns = record.labels(axes[1]) if len(axes) > 1 else [""]
    several = record.axes.startswith("B") and record.tensor.shape[0] > 1
    which = f"; shown: the first of {record.tensor.shape[0]} sentences" if several else ""
    about = f"{escape(record.legend())}{which}"
    parts = [f"<p><code>{escape(record.name)}</code> {_shape(record)} {about}</p>"]
    shares = record.name.rpartition(".")[2] in ("weights", "probabilities")
    for head, panel in enumerate(panels):
        if len(panels) > 1:
            parts.append(f"<p style='margin:6px 0 2px'>head {head}</p>")
        parts.append(_matrix(panel.reshape(len(rows), -1), rows, columns, shares))
    return _block(*parts)


def preformatted(lines: Iterable[str]) -> str:
    """Lines of text as they stand in a terminal."""
    return f"<pre style='line-height:1.25'>{_text(chr(10).join(lines), keep=chr(10))}</pre>"


def _matrix(
    values: "np.ndarray[tuple[int, ...], np.dtype[np.float64]]",
    rows: Sequence[str],
    columns: Sequence[str],
    shares: bool,
) -> str:
    down, across = _shown(len(rows), ROWS), _shown(len(columns), COLUMNS)
    body = []
    for row in down:
        if row is None:
            body.append(["⋮"] * (len(across) + 1))
            continue
        cells = ["…" if column is None else _number(float(values[row, column]), shares) for column in across]
        body.append([_text(rows[row]), *cells])
    return _table(["", *("…" if column is None else _text(columns[column]) for column in across)], body)


def _shown(length: int, most: int) -> list[int | None]:
    """All places, or the first and the last with None between them."""
    if length <= most:
        return list(range(length))
    return [*range(most - 3), None, length - 2, length - 1]


def _number(value: float, share: bool) -> str:
    if math.isnan(value):
        return "?"
    if value == float("-inf"):
        return "−∞"
    return _share(value) if share else f"{value:.4f}".replace("-", "−")


def _share(share: float) -> str:
    """A share of 1 on a ground that is the darker the larger it is; the number says it too."""
    if math.isnan(share):
        return "?"
    level = min(len(GROUNDS) - 1, round(share * (len(GROUNDS) - 1)))
    ink = "#fff" if level == len(GROUNDS) - 1 else "#000"
    pair = f";background:{GROUNDS[level]};color:{ink}" if level else ""
    return f"<span style='display:block;padding:0 3px{pair}'>{share:.2f}</span>"


def _table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Cells are HTML already; the first column and the first row are headings."""
    top = "".join(f"<th style='{CELL.format('center')}'>{cell}</th>" for cell in header)
    body = "".join(
        f"<tr><th style='{CELL.format('left')}'>{row[0]}</th>"
        + "".join(f"<td style='{CELL.format('right')}'>{cell}</td>" for cell in row[1:])
        + "</tr>"
        for row in rows
    )
    style = "border-collapse:collapse;font-size:13px;color:inherit"
    return f"<table style='{style}'><tr>{top}</tr>{body}</table>"


def _block(*parts: str) -> str:
    return f"<div style='overflow-x:auto;max-width:100%'>{''.join(parts)}</div>"


def _shape(record: Record) -> str:
    return "×".join(map(str, record.tensor.shape))


def _text(text: str, keep: str = "") -> str:
    return escape(keep.join(map(visible, text.split(keep))) if keep else visible(text))
