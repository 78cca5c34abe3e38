"""One traced tensor as HTML: its caption, and a table for each head with its tokens on both axes."""

from collections.abc import Sequence
from html import escape
from typing import Any

import numpy as np

from pellucid.explain.explanation import Explanation, most_probable
from pellucid.explain.page.captions import axis, caption
from pellucid.explain.words import visible
from pellucid.see import Record

LEVELS = 9  # of shading
BEST = 20  # words of each position, where an axis is the whole vocabulary
FIRST, LAST = 16, 8  # of an axis that is abridged
SHARES = ("weights", "probabilities")  # between 0 and 1

Numbers = np.ndarray[Any, Any]


def figure(explanation: Explanation, record: Record, abridged: bool) -> str:
    """The tensor with its caption; `abridged` leaves out the middle of long axes, and says so."""
    about = caption(record.name)
    values = record.tensor.numpy()
    shape = " × ".join(map(str, values.shape))
    letters = record.axes.removeprefix("B").removeprefix("H")
    shown = f"rows: {axis(letters[0], record.name)}"
    if len(letters) > 1:
        shown += f" · columns: {axis(letters[1], record.name)}"
    if letters[-1] == "V":
        tables, legend = _words(explanation, record), f"the {BEST} highest of each row"
    else:
        tables, legend = _heads(record, values, abridged), _legend(record.name, values)
    name = escape(record.name)
    return (
        f'<figure class="m {about.role}" id="{name}"><figcaption><b class=symbol>{about.symbol}</b>'
        f"<h4>{about.title}</h4><p class=equation>{about.equation}</p><p class=name><code>{name}</code> "
        f"<span class=shape>{shape} ({' '.join(record.axes)})</span></p>"
        f"<p class=axes>{shown} · {legend}</p></figcaption>{tables}</figure>\n"
    )


def number(value: float) -> str:
    """Four decimals, as every table has them."""
    return "−∞" if value == -np.inf else f"{value:z.4f}"


def word(token: str) -> str:
    """A token as HTML, kept from turning its neighbours round where it is written from the right."""
    return f"<bdi>{escape(visible(token))}</bdi>"


def box(label: str, table: str) -> str:
    """A table that scrolls by itself, with the keyboard too."""
    return f'<div class=box tabindex=0 role=region aria-label="{escape(label)}">{table}</div>'


def table(rows: Sequence[str], columns: Sequence[str], values: Numbers, most: float, corner: str = "") -> str:
    """Numbers with four decimals, shaded from 0 to `most`; `rows` and `columns` are HTML."""
    head = "".join(f"<th scope=col>{column}" for column in columns)
    body = "".join(
        f"<tr><th scope=row>{label}{''.join(_cell(value, most) for value in row)}"
        for label, row in zip(rows, values.tolist(), strict=True)
    )
    return f"<table><thead><tr><td class=corner>{corner}{head}<tbody>{body}</table>"


def _cell(value: float | None, most: float, before: str = "") -> str:
    if value is None:
        return "<td class=gap>…"
    if value == -np.inf:
        return "<td class=no>−∞"
    level = round(min(1.0, abs(value) / most) * LEVELS) if most and np.isfinite(value) else 0
    shade = f" class={'n' if value < 0 else 'p'}{level}" if level else ""
    return f"<td{shade}>{before}{number(value)}"


def _heads(record: Record, values: Numbers, abridged: bool) -> str:
    last = record.name.rpartition(".")[2]
    letters = record.axes.removeprefix("B").removeprefix("H")
    rows = [word(token) for token in record.labels(letters[0])]
    columns = [word(token) for token in record.labels(letters[1])] if len(letters) > 1 else [last]
    corner = "asks ↓<br>attended to →" if letters == "LM" else ""
    panels = values.reshape(-1, len(rows), len(columns)).astype(object)
    most = 1.0 if last in SHARES else _most(values)
    if abridged:
        panels, rows, columns = _abridged(_abridged(panels, 1), 2), _shortened(rows), _shortened(columns)
    html = []
    for head, panel in enumerate(panels):
        several = f"head {head}" if "H" in record.axes else ""
        title = f"<h5>{several}</h5>" if several else ""
        inside = box(f"{record.name} {several}".strip(), table(rows, columns, panel, most, corner))
        html.append(f"<div class=head>{title}{inside}</div>")
    return f"<div class=heads>{''.join(html)}</div>"


def _words(explanation: Explanation, record: Record) -> str:
    """Each row's best words with their numbers, the best first."""
    rows = []
    most = 1.0 if record.name.endswith("probabilities") else _most(record.tensor.numpy())
    for label, numbers in zip(record.labels("L"), record.tensor[0], strict=True):
        best = most_probable(numbers, explanation.vocabulary, BEST)
        cells = "".join(_cell(value, most, f"{word(token)} ") for token, value in best)
        rows.append(f"<tr><th scope=row>{word(label)}{cells}")
    ranks = "".join(f"<th scope=col>{rank}" for rank in range(1, min(BEST, record.tensor.shape[-1]) + 1))
    inside = f"<table class=words><thead><tr><td class=corner>after ↓{ranks}<tbody>{''.join(rows)}</table>"
    return f"<div class=heads><div class=head>{box(record.name, inside)}</div></div>"


def _legend(name: str, values: Numbers) -> str:
    if name.endswith(".mask"):
        return "hatched: −∞"
    if name.endswith(".weights"):
        return f"shading: <span class=scale>0 {_swatches('p0', 'p2', 'p4', 'p6', 'p9')} 1</span>"
    most = number(_most(values))
    steps = _swatches("n9", "n5", "n2", "p0", "p2", "p5", "p9")
    hatched = ", hatched: −∞" if np.isneginf(values).any() else ""
    return f"shading: <span class=scale>-{most} {steps} {most}</span>{hatched}"


def _swatches(*shades: str) -> str:
    return "".join(f"<i class={shade}></i>" for shade in shades)


def _most(values: Numbers) -> float:
    finite = np.abs(values[np.isfinite(values)])
    return float(finite.max()) if finite.size else 0.0


def _abridged(panels: Numbers, along: int) -> Numbers:
    """The first and the last entries of an axis, and None between them."""
    if panels.shape[along] <= FIRST + LAST:
        return panels
    gap = np.full_like(panels.take([0], axis=along), None)
    first, last = panels.take(range(FIRST), axis=along), panels.take(range(-LAST, 0), axis=along)
    return np.concatenate((first, gap, last), axis=along)


def _shortened(labels: list[str]) -> list[str]:
    return labels if len(labels) <= FIRST + LAST else [*labels[:FIRST], "…", *labels[-LAST:]]
