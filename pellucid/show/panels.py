"""Picture files, drawn with matplotlib: panels with a heat map, bars or lines, in fonts that have all letters
of the text. The same data always gives the same bytes."""

import functools
import io
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from pellucid.errors import PellucidError, UsageError
from pellucid.folder.whole_file import write
from pellucid.reading.words import visible

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

FORMATS = ("png", "svg", "pdf")
METADATA: dict[str, dict[str, str | None]] = {
    "svg": {"Date": None, "Creator": "Pellucid"},
    "png": {"Software": "Pellucid"},
    "pdf": {"CreationDate": None, "Creator": "Pellucid"},
}
LABELLED = 40  # rows or columns that get a name each; of more, some
PURPLE, PALE_PURPLE, ORANGE = "#6b43bd", "#c9b6ec", "#c4621d"
STYLES = ((PURPLE, ""), (ORANGE, "///"), (PALE_PURPLE, "..."))  # colours and hatches of bars


@dataclass(frozen=True)
class Shades:
    """A heat map of a matrix: shades from 0, or if `signed` from -most, to most. ∞ and NaN are hatched."""

    title: str
    grid: Sequence[Sequence[float]]
    rows: Sequence[str] = ()
    columns: Sequence[str] = ()
    written: Sequence[Sequence[str]] = ()  # a text for each cell
    most: float | None = None  # by default the largest number without its sign
    signed: bool = False

    def draw(self, axes: "Axes") -> None:
        """Draw the matrix with the names of its rows and columns."""
        finite = np.ma.masked_invalid(np.asarray(self.grid, dtype=float))
        most = self.most or float(np.abs(finite).max() or 0) or 1.0
        low, colours = (-most, "PuOr") if self.signed else (0.0, "Purples")
        axes.patch.set(facecolor="0.85", hatch="////", edgecolor="0.6")
        axes.imshow(finite, cmap=colours, vmin=low, vmax=most, aspect="auto")
        _name_ticks(axes.set_xticks, self.columns, turned=True)
        _name_ticks(axes.set_yticks, self.rows)
        for (row, column), number in np.ndenumerate(finite) if self.written else ():
            text, ink = self.written[row][column], "white" if abs(number) > 0.65 * most else "black"
            box = {"facecolor": "0.85", "edgecolor": "none", "pad": 1.0} if text == "−∞" else None
            axes.text(column, row, text, ha="center", va="center", fontsize=7, color=ink, bbox=box)


@dataclass(frozen=True)
class Bars:
    """A group of bars for each name, with one bar for each series."""

    title: str
    names: Sequence[str]
    series: Mapping[str, Sequence[float]]
    log: str = ""  # "y" for a logarithmic axis

    def draw(self, axes: "Axes") -> None:
        """Draw the bars of a name side by side."""
        wide = 0.8 / len(self.series)
        for number, (label, heights) in enumerate(self.series.items()):
            places = [place + number * wide for place in range(len(heights))]
            colour, hatch = STYLES[number]
            axes.bar(places, heights, wide, color=colour, hatch=hatch, edgecolor="white", label=label)
        _name_ticks(axes.set_xticks, self.names, turned=True)
        axes.set_yscale("log" if "y" in self.log else "linear")
        axes.legend(fontsize=7)


@dataclass(frozen=True)
class Lines:
    """A chart with a line, or with marks only, for each label in `series`."""

    title: str
    x: str
    series: Mapping[str, tuple[Sequence[float], Sequence[float], str]]  # x, y, matplotlib's style, as "o-"
    log: str = ""  # "x", "y" or "xy" for logarithmic axes

    def draw(self, axes: "Axes") -> None:
        """Draw each line in its own style."""
        for label, points in self.series.items():
            axes.plot(*points, label=label)
        axes.set(xlabel=self.x, xscale="log" if "x" in self.log else "linear")
        axes.set_yscale("log" if "y" in self.log else "linear")
        axes.legend(fontsize=7)


Panel = Shades | Bars | Lines


def _name_ticks(set_ticks: Callable[..., Any], names: Sequence[str], turned: bool = False) -> None:
    """Label rows or columns; if there are many, label only every second, third and so on. With `turned`, long
    labels are vertical."""
    some = slice(None, None, -(-len(names) // LABELLED) or 1)
    rotation = 90 if turned and sum(map(len, names)) > 60 else 0
    set_ticks(range(len(names))[some], list(map(visible, names[some])), fontsize=7, rotation=rotation)


def draw_panels(path: str | Path, panels: Sequence[Panel], name: str, title: str = "") -> None:
    """Draw panels, two side by side, and save them as .png, .svg or .pdf; raise an error for another ending.
    `name` fixes the ids inside an SVG, so that its bytes stay the same."""
    form = Path(path).suffix.lower().removeprefix(".")
    if form not in FORMATS:
        raise UsageError(f"{path}: a plot is a .png, .svg or .pdf. Give the file one of these endings.")
    require_matplotlib()
    from matplotlib import rc_context
    from matplotlib.figure import Figure

    style: dict[Any, Any] = {"font.family": _fonts(str(panels)), "svg.hashsalt": name}
    style["text.parse_math"] = False  # a token may have dollars
    content = io.BytesIO()
    with rc_context(style), warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Glyph .* missing from", UserWarning)  # it is drawn as a box
        figure = Figure(layout="constrained")
        _fill(figure, panels, title)
        figure.savefig(content, format=form, dpi=150, metadata=METADATA.get(form))
    write(path, content.getvalue())


def require_matplotlib() -> None:
    """Raise an error if no plot can be drawn."""
    if find_spec("matplotlib") is None:
        raise PellucidError('a plot needs matplotlib. Run: pip install "pellucid[plot]"')


def _fill(figure: "Figure", panels: Sequence[Panel], title: str) -> None:
    """Draw the panels into the figure, with a colour bar for each matrix whose numbers are all finite."""
    down = -(-len(panels) // 2)
    across = -(-len(panels) // down)
    sizes = [(len(each.columns), len(each.rows)) for each in panels if isinstance(each, Shades)]
    wide, high = map(max, zip((0, 0), *sizes, strict=True))
    width, height = min(10, max(5.5, 1.8 + 0.42 * wide)), min(10, max(3.4, 1.5 + 0.36 * high))
    figure.set_size_inches(across * width, down * height)
    if title:
        figure.suptitle("\n".join(map(visible, title.split("\n"))), fontsize=10)
    for place, panel in enumerate(panels, start=1):
        axes = figure.add_subplot(down, across, place)
        axes.set_title(visible(panel.title), fontsize=8)
        panel.draw(axes)
    for axes in figure.axes:
        for image in axes.images:
            if not np.ma.is_masked(image.get_array()):
                figure.colorbar(image, ax=axes, shrink=0.8)


def _fonts(text: str) -> list[str]:
    """Return matplotlib's default font, and installed fonts for the letters that it does not have."""
    from matplotlib import font_manager

    fonts = ["DejaVu Sans"]
    missing = set(map(ord, text)) - _letters(font_manager.findfont("DejaVu Sans"))
    # The font "Last Resort" has every letter, but only as a box with the name of its script.
    others = [font for font in font_manager.fontManager.ttflist if "Last Resort" not in font.name]
    for font in others if missing else ():
        if font.style == "normal" and font.name not in fonts and font.weight in (400, "normal", "regular"):
            has = _letters(font.fname)
            if missing & has:
                fonts.append(font.name)
                missing -= has
    return fonts


@functools.cache
def _letters(path: str) -> frozenset[int]:
    from matplotlib.ft2font import FT2Font

    try:
        return frozenset(FT2Font(path).get_charmap())
    except (OSError, RuntimeError):  # the font cannot be read, or has no table of letters
        return frozenset()
