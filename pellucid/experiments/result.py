"""What an experiment returns, and the one way to show it: as text, in a notebook, as a picture, as JSON."""

import html
import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from pellucid.folder.manifest import jsonable
from pellucid.folder.version import __version__
from pellucid.folder.whole_file import write
from pellucid.reading.words import visible
from pellucid.seeing.viewed import Viewed, lines
from pellucid.show.columns import columns, digits, paragraph, stacked
from pellucid.show.drawing import ORANGE, PALE_PURPLE, PURPLE, drawing, shade

if TYPE_CHECKING:
    from matplotlib.axes import Axes

Row = list[Any]  # the cells of a table, or a column of them

STYLES = ((PURPLE, ""), (ORANGE, "///"), (PALE_PURPLE, "..."))  # colours and hatches of bars


@dataclass(frozen=True)
class Shades:
    """A panel: a matrix as shades from 0 to `most`, or `signed` from -most to most; −∞ is hatched."""

    title: str
    grid: Sequence[Sequence[float]]
    rows: Sequence[str] | None = None
    columns: Sequence[str] | None = None
    written: Sequence[Sequence[str]] = ()  # a text for each cell
    most: float | None = None  # by default the largest number without its sign
    signed: bool = False

    def draw(self, axes: "Axes") -> None:
        """Draw the matrix with its names and a colour bar."""
        grid = np.ma.masked_invalid(np.array(self.grid, dtype=float))
        axes.patch.set(facecolor="0.85", hatch="////", edgecolor="0.6")
        most = self.most or float(np.abs(grid).max()) or 1.0
        names: dict[str, Any] = {"rows": self.rows, "columns": self.columns, "written": self.written}
        image = shade(axes, grid, most, signed=self.signed, **names)
        if axes.figure and not np.ma.is_masked(grid):
            axes.figure.colorbar(image, ax=axes, shrink=0.8)


@dataclass(frozen=True)
class Bars:
    """A panel: for each name a bar of each series."""

    title: str
    names: Sequence[str]
    series: Mapping[str, Sequence[float]]
    log: str = ""  # "y" for a logarithmic axis

    def draw(self, axes: "Axes") -> None:
        """Draw the bars of a name beside each other."""
        wide = 0.8 / len(self.series)
        for number, (label, heights) in enumerate(self.series.items()):
            places = [place + number * wide for place in range(len(heights))]
            colour, hatch = STYLES[number]
            axes.bar(places, heights, wide, color=colour, hatch=hatch, edgecolor="white", label=label)
        turned = 90 if sum(map(len, self.names)) > 60 else 0
        axes.set_xticks(range(len(self.names)), self.names, fontsize=7, rotation=turned)


@dataclass(frozen=True)
class Lines:
    """A panel: a line or marks through points for each label."""

    title: str
    x: str
    series: Mapping[str, tuple[Sequence[float], Sequence[float], str]]  # x, y, matplotlib's style, as "o-"
    log: str = ""  # "x", "y" or "xy" for logarithmic axes

    def draw(self, axes: "Axes") -> None:
        """Draw each line in its own style."""
        for label, points in self.series.items():
            axes.plot(*points, label=label)
        axes.set(xlabel=self.x, xscale="log" if "x" in self.log else "linear")


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

    def lines(self, width: int) -> list[str]:
        """Write the title and the table."""
        forms = [self.form] * len(self.header) if isinstance(self.form, int | str) else self.form
        rows = [[_written(*each) for each in zip(row, forms, strict=True)] for row in self.rows]
        table = columns(self.header, rows, width, left=self.left, longest=min(44, max(6, width // 2 - 8)))
        return [*(paragraph(self.title, width) if self.title else ()), *table]

    def shades(self, most: float | None = None, signed: bool = False) -> Shades:
        """Return a panel that shows the numbers beside the first column."""
        grid, names = [row[1:] for row in self.rows], [row[0] for row in self.rows]
        return Shades(self.title, grid, names, self.header[1:], most=most, signed=signed)


@dataclass(frozen=True)
class Result(Viewed):
    """What an experiment found: a conclusion, and the tables from which it follows."""

    title: str
    conclusion: str
    tables: Sequence[Table]
    picture: Sequence[Shades | Bars | Lines]
    note: str = ""  # what the columns mean

    def plot(self, path: str | Path) -> None:
        """Draw the picture to a .png, .svg or .pdf; needs pip install "pellucid[plot]"."""
        letters = " ".join(" ".join(table.header) + str(table.rows) for table in self.tables)
        with drawing(path, self.title, letters) as figure:
            across = min(2, len(self.picture))
            figure.set_size_inches(5.5 * across, 3.4 * -(-len(self.picture) // across))
            for place, panel in enumerate(self.picture, start=1):
                axes = figure.add_subplot(-(-len(self.picture) // across), across, place)
                axes.set_title(visible(panel.title), fontsize=8)
                panel.draw(axes)
                if not isinstance(panel, Shades):
                    axes.set_yscale("log" if "y" in panel.log else "linear")
                    axes.legend(fontsize=7)

    def to_json(self, path: str | Path) -> None:
        """Write all of it, the numbers in full."""
        found = jsonable({"pellucid": __version__} | asdict(self))
        write(Path(path), json.dumps(found, ensure_ascii=False, allow_nan=False).encode())

    def _repr_html_(self) -> str:
        return f"<pre>{html.escape(chr(10).join(self.lines(100)))}</pre>"


@lines.register
def result_lines(result: Result, width: int = 80) -> list[str]:
    """Write the conclusion, then the tables."""
    texts = [[text] if text else [] for text in (result.title, result.note)]
    tables = [table.lines(width) for table in result.tables]
    return stacked(width, result.conclusion, *texts[0], *tables, *texts[1])


def _written(cell: Any, form: int | str) -> str:
    if isinstance(cell, tuple):
        return "".join(_written(part, form) for part in cell)
    if not isinstance(cell, float):
        return "" if cell is None else str(cell)
    if cell == -math.inf:
        return "-∞"
    return digits(cell, form) if isinstance(form, int) else format(cell, f"z{form}")
