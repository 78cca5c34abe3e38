"""Panels of a picture, as data: a matrix as shades, bars, lines; and how to draw them beside each other."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from pellucid.reading.words import visible
from pellucid.show.drawing import ORANGE, PALE_PURPLE, PURPLE, drawing, shade

if TYPE_CHECKING:
    from matplotlib.axes import Axes

STYLES = ((PURPLE, ""), (ORANGE, "///"), (PALE_PURPLE, "..."))  # colours and hatches of bars


@dataclass(frozen=True)
class Shades:
    """A matrix as shades from 0 to `most`, or `signed` from -most to most; −∞ is hatched."""

    title: str
    grid: Sequence[Sequence[float]]
    rows: Sequence[str] = ()
    columns: Sequence[str] = ()
    written: Sequence[Sequence[str]] = ()  # a text for each cell
    most: float | None = None  # by default the largest number without its sign
    signed: bool = False

    def draw(self, axes: "Axes") -> None:
        """Draw the matrix with its names and a colour bar."""
        finite = np.isfinite(np.array(self.grid, dtype=float))
        most = self.most or float(np.abs(self.grid, where=finite, out=np.zeros(finite.shape)).max()) or 1.0
        names: dict[str, Any] = {"rows": self.rows, "columns": self.columns}
        image = shade(axes, self.grid, most, signed=self.signed, written=self.written, **names)
        if axes.figure and finite.all():
            axes.figure.colorbar(image, ax=axes, shrink=0.8)


@dataclass(frozen=True)
class Bars:
    """For each name a bar of each series."""

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
        axes.set_yscale("log" if "y" in self.log else "linear")
        axes.legend(fontsize=7)


@dataclass(frozen=True)
class Lines:
    """A line or marks through points for each label."""

    title: str
    x: str
    series: Mapping[str, tuple[Sequence[float], Sequence[float], str]]  # x, y, matplotlib's style, as "o-"
    log: str = ""  # "x", "y" or "xy" for logarithmic axes
    names: Sequence[str] = ()  # of the places 0, 1, … on the axis of x
    low: float | None = None  # where the axis of y begins, if no number is below it

    def draw(self, axes: "Axes") -> None:
        """Draw each line in its own style."""
        for label, points in self.series.items():
            axes.plot(*points, label=label)
        axes.set(xlabel=self.x, xscale="log" if "x" in self.log else "linear")
        axes.set_yscale("log" if "y" in self.log else "linear")
        if self.low is not None:
            axes.set_ylim(bottom=min(self.low, axes.get_ylim()[0]))
        if self.names:
            axes.set_xticks(range(len(self.names)), self.names, rotation=30)
        axes.legend(fontsize=7)


Panel = Shades | Bars | Lines


def draw_panels(
    path: str | Path, panels: Sequence[Panel], name: str, letters: str = "", title: str = "", most: int = 2
) -> None:
    """Draw the panels into a file, at most so many beside each other, in a font that has the letters."""
    down = -(-len(panels) // most)
    across = -(-len(panels) // down)
    with drawing(path, name, letters) as figure:
        figure.set_size_inches(5.5 * across, 3.4 * down)
        if title:
            figure.suptitle(visible(title), fontsize=10)
        for place, panel in enumerate(panels, start=1):
            axes = figure.add_subplot(down, across, place)
            axes.set_title(visible(panel.title), fontsize=8)
            panel.draw(axes)
