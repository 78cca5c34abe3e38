"""What several experiments use: probabilities, tables of numbers, panels of pictures, and the Result, which
can be shown as text, in a notebook, as a picture and as JSON."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from pellucid.explanation import Explanation
from pellucid.folder.manifest import jsonable
from pellucid.folder.version import __version__
from pellucid.folder.whole_file import write
from pellucid.reading.reading import log_probabilities
from pellucid.seeing.trace import Edit, Trace
from pellucid.seeing.viewed import Viewed
from pellucid.show.panels import Bars, Lines, Panel, Shades, draw_panels
from pellucid.show.tables import Part, view
from pellucid.show.tables import Table as Table

LINES = ("o-", "s--")  # the styles of a panel's lines
Row = list[Any]  # the cells of a table, or a column of them


def probability(explanation: Explanation, edits: Mapping[str, Edit] | None = None) -> float:
    """Return the probability of the whole translation when its pass is run again with `edits`."""
    return probability_in(explanation.again(edits, only="decoder.logits"), explanation)


def probability_in(seen: Trace, explanation: Explanation) -> float:
    """Return the probability of the whole translation in this recorded pass."""
    return float(torch.tensor(log_probabilities(seen, explanation.target_ids)).double().sum().exp())


def matrix(
    title: str, rows: Sequence[str], columns: Sequence[str], numbers: Tensor, form: int | str = 4
) -> Table:
    """Return a matrix as a table, with the names of its rows and columns."""
    body = [[name, *row] for name, row in zip(rows, numbers.tolist(), strict=True)]
    return Table(["", *columns], body, form=form, title=title)


def span(numbers: Tensor) -> tuple[float, str, float]:
    """Return a table cell with the range of a tensor's numbers, such as "0.12 to 0.98"."""
    return float(numbers.min()), " to ", float(numbers.max())


def numbers(table: Table, name: str) -> list[list[float]]:
    """Return the numbers of a column: one list for each number that a cell holds. Cells 3 | 4 and 5 | 6 give
    [[3, 5], [4, 6]]."""
    cells = [cell if isinstance(cell, tuple) else (cell,) for cell in table.column(name)]
    return [list(part) for part in zip(*cells, strict=True) if not isinstance(part[0], str)]


def shades(table: Table, most: float | None = None, signed: bool = False) -> Shades:
    """Return a heat map of all columns of a table except the first, which names the rows."""
    grid, names = [row[1:] for row in table.rows], table.column(table.header[0])
    return Shades(table.title, grid, names, table.header[1:], most=most, signed=signed)


def bars(table: Table, title: str, *columns: str) -> Bars:
    """Return a bar chart of these columns of a table; the table's first column names the bars."""
    return Bars(title, table.column(table.header[0]), {name: table.column(name) for name in columns})


def lines(table: Table, title: str, *columns: str, labels: Sequence[str] = (), log: str = "x") -> Lines:
    """Return a line chart of these columns: one line for each number in a cell, but at most two lines. The
    table's first column is the x axis."""
    places = [float(row[0]) for row in table.rows]
    found = [each for name in columns for each in numbers(table, name)]
    drawn = zip(labels or columns, found, LINES, strict=False)
    series = {label: (places, numbers, style) for label, numbers, style in drawn}
    return Lines(title, table.header[0], series, log)


@dataclass(frozen=True)
class Result(Viewed):
    """The result of an experiment: a conclusion, the tables that support it, and a picture."""

    conclusion: str
    tables: Sequence[Table]
    picture: Sequence[Panel]
    note: str = ""  # what the columns mean
    title: str = ""  # by default that of the translation

    def plot(self, path: str | Path) -> None:
        """Save the picture as .png, .svg or .pdf; needs pip install "pellucid[plot]"."""
        draw_panels(path, self.picture, self.title)

    def to_json(self, path: str | Path) -> None:
        """Write the result as JSON, with all digits: conclusion, tables, and the picture's numbers."""
        found = jsonable({"pellucid": __version__} | asdict(self))
        write(Path(path), json.dumps(found, ensure_ascii=False, allow_nan=False).encode())


@view(Result)
def result_parts(result: Result, width: int) -> list[Part]:
    """Return what is shown, from top to bottom: the conclusion, the title, the tables, the note."""
    shown: list[Part] = [result.title, *result.tables, result.note]
    return [result.conclusion, *(part for each in shown if each for part in ("", each))]
