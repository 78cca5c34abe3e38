"""What every experiment uses: how probable a translation is; tables of numbers; and the result, with the one
way to show it as text, in a notebook, as a picture and as JSON."""

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from pellucid.explanation import Explanation
from pellucid.folder.manifest import jsonable
from pellucid.folder.version import __version__
from pellucid.folder.whole_file import write
from pellucid.reading.steps import log_probabilities
from pellucid.seeing.trace import Edit, Trace
from pellucid.seeing.viewed import Viewed
from pellucid.show import tables
from pellucid.show.columns import digits
from pellucid.show.panels import Bars, Lines, Panel, Shades, draw_panels
from pellucid.show.tables import Part, view

LINES = ("o-", "s--")  # the styles of a panel's lines
Row = list[Any]  # the cells of a table, or a column of them


def probability(explanation: Explanation, edits: Mapping[str, Edit] | None = None) -> float:
    """Return the probability of the whole translation with `edits` in effect."""
    return probability_in(explanation.again(edits, only="decoder.logits"), explanation)


def probability_in(seen: Trace, explanation: Explanation) -> float:
    """Return the probability of the whole translation in a pass."""
    return float(torch.tensor(log_probabilities(seen, explanation.target_ids)).double().sum().exp())


@dataclass(frozen=True)
class Table:
    """Rows of cells: words, numbers, None for nothing, or tuples of words and numbers that stand together.

    `form` says how numbers are written, in all columns or in each: ".2f" as in Python; 4 with 4 decimals, or
    as a power of ten where these would all be 0.
    """

    title: str
    header: Sequence[str]
    rows: Sequence[Sequence[Any]]
    form: int | str | Sequence[int | str] = field(default=4, kw_only=True)
    left: int = field(default=1, kw_only=True)  # columns that stand on the left

    def column(self, name: str) -> list[Any]:
        """Return the cells below a name of the header."""
        return [row[list(self.header).index(name)] for row in self.rows]

    def numbers(self, name: str) -> list[list[float]]:
        """Return the numbers below a name of the header; of cells that hold several, a list for each."""
        cells = [cell if isinstance(cell, tuple) else (cell,) for cell in self.column(name)]
        return [list(part) for part in zip(*cells, strict=True) if not isinstance(part[0], str)]

    def parts(self, width: int) -> list[Part]:
        """Return the title and the table, its numbers written."""
        forms = [self.form] * len(self.header) if isinstance(self.form, int | str) else self.form
        rows = [[_written(*each) for each in zip(row, forms, strict=True)] for row in self.rows]
        table = tables.Table(self.header, rows, self.left, longest=min(44, max(6, width // 2)))
        return [self.title, table] if self.title else [table]

    def shades(self, most: float | None = None, signed: bool = False) -> Shades:
        """Return a panel that shows the numbers beside the first column."""
        grid, names = [row[1:] for row in self.rows], [row[0] for row in self.rows]
        return Shades(self.title, grid, names, self.header[1:], most=most, signed=signed)

    def bars(self, title: str, *columns: str, log: str = "") -> Bars:
        """Return a panel with a bar for each row of these columns, beside the first column."""
        return Bars(title, [row[0] for row in self.rows], {name: self.column(name) for name in columns}, log)

    def lines(self, title: str, *columns: str, labels: Sequence[str] = (), log: str = "x") -> Lines:
        """Return a panel with a line for the numbers of these columns, over those of the first column."""
        places = [float(row[0]) for row in self.rows]
        found = [numbers for name in columns for numbers in self.numbers(name)]
        lines = zip(labels or columns, found, LINES, strict=False)
        series = {label: (places, numbers, style) for label, numbers, style in lines}
        return Lines(title, self.header[0], series, log)


def matrix(
    title: str, rows: Sequence[str], columns: Sequence[str], numbers: Tensor, form: int | str = 4
) -> Table:
    """Return the table of a matrix, with the names of its rows and columns."""
    body = [[name, *row] for name, row in zip(rows, numbers.tolist(), strict=True)]
    return Table(title, ["", *columns], body, form=form)


def span(numbers: Tensor) -> tuple[float, str, float]:
    """Return a cell with the least and the greatest of some numbers."""
    return float(numbers.min()), " to ", float(numbers.max())


@dataclass(frozen=True)
class Result(Viewed):
    """What an experiment found: a conclusion, and the tables from which it follows."""

    conclusion: str
    tables: Sequence[Table]
    picture: Sequence[Panel]
    note: str = ""  # what the columns mean
    title: str = ""  # by default that of the translation

    def plot(self, path: str | Path) -> None:
        """Draw the picture to a .png, .svg or .pdf; needs pip install "pellucid[plot]"."""
        letters = " ".join(" ".join(table.header) + str(table.rows) for table in self.tables)
        draw_panels(path, self.picture, self.title, letters)

    def to_json(self, path: str | Path) -> None:
        """Write all of it, the numbers in full."""
        found = jsonable({"pellucid": __version__} | asdict(self))
        write(Path(path), json.dumps(found, ensure_ascii=False, allow_nan=False).encode())


@view(Result)
def result_parts(result: Result, width: int) -> list[Part]:
    """Show the conclusion, then the tables."""
    shown: list[list[Part]] = [[result.title], *(each.parts(width) for each in result.tables), [result.note]]
    return [result.conclusion, *(part for parts in shown if any(parts) for part in ("", *parts))]


def _written(cell: Any, form: int | str) -> str:
    if isinstance(cell, tuple):
        return "".join(_written(part, form) for part in cell)
    if not isinstance(cell, float):
        return "" if cell is None else str(cell)
    if cell == -math.inf:
        return "-∞"
    return digits(cell, form) if isinstance(form, int) else format(cell, f"z{form}")
