"""What an experiment returns, and the one way to show it: as text, in a notebook, as a picture, as JSON."""

import html
import json
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from pellucid.folder.seal import jsonable
from pellucid.folder.version import __version__
from pellucid.folder.whole_file import write
from pellucid.reading.words import visible
from pellucid.seeing.viewed import Viewed, lines
from pellucid.show.columns import columns, digits, paragraph, stacked
from pellucid.show.drawing import ORANGE, PALE_PURPLE, PURPLE, drawing, shade

if TYPE_CHECKING:
    from matplotlib.axes import Axes

Cell = str | float | tuple[str | float, ...] | None
Form = int | str
STYLES = ((PURPLE, ""), (ORANGE, "///"), (PALE_PURPLE, "..."))  # colours and hatches of bars


@dataclass(frozen=True)
class Shades:
    """A panel of a picture: a matrix as shades from 0 to `most`, or `signed` from -most to most; −∞ is
    hatched."""

    title: str
    grid: Sequence[Sequence[float]]
    rows: Sequence[str] | None = None
    columns: Sequence[str] | None = None
    written: Sequence[Sequence[str]] = ()  # a text for each cell
    most: float | None = None  # the largest number without its sign, where it is not given
    signed: bool = False

    def draw(self, axes: "Axes") -> None:
        """Draw the matrix with its names and a colour bar."""
        grid = np.ma.masked_invalid(np.array(self.grid, dtype=float))
        axes.patch.set(facecolor="0.85", hatch="////", edgecolor="0.6")
        most = self.most or float(np.abs(grid).max()) or 1.0
        rows, across = (names and [visible(name) for name in names] for names in (self.rows, self.columns))
        turned = sum(map(len, across or ())) > 40
        image = shade(
            axes,
            grid,
            most,
            signed=self.signed,
            rows=rows,
            columns=across,
            written=self.written,
            turned=turned,
        )
        if axes.figure and not np.ma.is_masked(grid):
            axes.figure.colorbar(image, ax=axes, shrink=0.8)


@dataclass(frozen=True)
class Bars:
    """A panel: for each name a bar of each series."""

    title: str
    names: Sequence[str]
    series: dict[str, Sequence[float]]
    log: bool = False

    def draw(self, axes: "Axes") -> None:
        """Draw the bars of a name beside each other."""
        wide = 0.8 / len(self.series)
        for number, (label, heights) in enumerate(self.series.items()):
            colour, hatch = STYLES[number]
            places = [place + number * wide for place in range(len(heights))]
            axes.bar(places, heights, wide, color=colour, hatch=hatch, edgecolor="white", label=label)
        middle = [place + 0.4 - wide / 2 for place in range(len(self.names))]
        turned = sum(map(len, self.names)) > 50
        axes.set_xticks(middle, map(visible, self.names), fontsize=7, rotation=90 if turned else 0)
        axes.set_yscale("log" if self.log else "linear")
        axes.legend(fontsize=7)


@dataclass(frozen=True)
class Lines:
    """A panel: a line through points (x, y), or only marks, for each label; a style is matplotlib's."""

    title: str
    points: dict[str, tuple[Sequence[float], Sequence[float], str]]  # label: x, y, style as in "o-"
    x: str
    log: str = ""  # "x", "y" or "xy"

    def draw(self, axes: "Axes") -> None:
        """Draw each line in its own style."""
        for label, (x, y, style) in self.points.items():
            axes.plot(x, y, style, label=label)
        axes.set(xscale="log" if "x" in self.log else "linear", yscale="log" if "y" in self.log else "linear")
        axes.set_xlabel(self.x, fontsize=8)
        axes.legend(fontsize=7)


Panel = Shades | Bars | Lines


@dataclass(frozen=True)
class Table:
    """Rows of cells: words, numbers, nothing, or tuples of words and numbers that stand together.

    `form` says how numbers are written, in all columns or in each: ".2f" as in Python; 4 with 4 decimals, or
    as a power of ten where these would all be 0.
    """

    title: str
    header: Sequence[str]
    rows: Sequence[Sequence[Cell]]
    form: Form | Sequence[Form] = field(default=4, kw_only=True)
    left: int = field(default=1, kw_only=True)  # columns that stand on the left

    def column(self, name: str) -> list[Any]:
        """Return the cells below a name of the header."""
        place = list(self.header).index(name)
        return [row[place] for row in self.rows]

    def lines(self, width: int) -> list[str]:
        """Write the title and the table."""
        forms = [self.form] * len(self.header) if isinstance(self.form, int | str) else self.form
        rows = [[_written(*each) for each in zip(row, forms, strict=True)] for row in self.rows]
        table = columns(self.header, rows, width, left=self.left, longest=min(44, max(6, width // 3)))
        return [*(paragraph(self.title, width) if self.title else ()), *table]

    def shades(self, most: float | None = None, signed: bool = False) -> Shades:
        """Return a panel that shows the numbers beside the first column."""
        grid, names = [row[1:] for row in self.rows], [str(row[0]) for row in self.rows]
        return Shades(self.title, grid, names, self.header[1:], most=most, signed=signed)  # type: ignore[arg-type]


@dataclass(frozen=True)
class Result(Viewed):
    """What an experiment found: a conclusion, and the tables from which it follows."""

    title: str
    conclusion: str
    tables: Sequence[Table]
    picture: Sequence[Panel]
    note: str = ""  # what the columns mean

    def plot(self, path: str | Path) -> None:
        """Draw the picture to a .png, .svg or .pdf; needs pip install "pellucid[plot]"."""
        with drawing(path, self.title, _letters(self)) as figure:
            across = min(2, len(self.picture))
            down = -(-len(self.picture) // across)
            figure.set_size_inches(5.5 * across, 3.4 * down)
            for place, panel in enumerate(self.picture, start=1):
                axes = figure.add_subplot(down, across, place)
                axes.set_title(visible(panel.title), fontsize=8)
                panel.draw(axes)

    def to_json(self, path: str | Path) -> None:
        """Write every table, its numbers in full."""
        tables = [{"title": t.title, "header": t.header, "rows": t.rows} for t in self.tables]
        texts = {"title": self.title, "conclusion": self.conclusion, "note": self.note}
        found = jsonable({"pellucid": __version__, **texts, "tables": tables})
        write(Path(path), json.dumps(found, ensure_ascii=False, allow_nan=False).encode())

    def _repr_html_(self) -> str:
        return f"<pre>{html.escape(chr(10).join(self.lines(100)))}</pre>"


@lines.register
def result_lines(result: Result, width: int = 80) -> list[str]:
    """Write the conclusion, then the tables."""
    tables = [table.lines(width) for table in result.tables]
    texts = [[text] if text else [] for text in (result.title, result.note)]
    return stacked(width, result.conclusion, *texts[0], *tables, *texts[1])


def _written(cell: Cell, form: Form) -> str:
    if isinstance(cell, tuple):
        return "".join(_written(part, form) for part in cell)
    if not isinstance(cell, float):
        return "" if cell is None else str(cell)
    if cell == -math.inf:
        return "-∞"
    return digits(cell, form) if isinstance(form, int) else format(cell, f"z{form}")


def _letters(result: Result) -> str:
    """Return the letters that the font needs."""
    cells: Iterable[Any] = (cell for table in result.tables for row in table.rows for cell in row)
    headers = "".join(name for table in result.tables for name in table.header)
    return headers + "".join(map(str, cells))
