"""A picture of an explanation as a file, one panel for each head."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from pellucid.reading.reading import Reading
from pellucid.show.drawing import drawing
from pellucid.show.pictures import Picture, picture

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

LABELLED = 40  # rows or columns that still get a label each
WRITTEN = 120  # cells of a single matrix of shares that still get their number


def plot(reading: Reading, name: str, path: str | Path) -> None:
    """The picture of this name in `path`, whose ending chooses the format."""
    shown = picture(reading, name)
    with drawing(path, name, "".join([*shown.rows, *shown.columns])) as figure:
        draw(figure, shown)


def draw(figure: "Figure", shown: Picture) -> None:
    """The panels beside and below each other, in one scale of colours; what is −∞ is hatched."""
    panels = shown.panels
    wide = max(map(len, shown.columns)) if len(shown.columns) <= LABELLED else 1
    width = min(14.0, 1.8 + 0.42 * len(shown.columns) if len(shown.columns) <= LABELLED else 10.0)
    height = min(10.0, 1.5 + 0.36 * len(shown.rows) + 0.06 * wide)
    down = -(-len(panels) // max(1, int(16 // width)))
    across = -(-len(panels) // down)  # so that the last row is nearly as long as the others
    figure.set_size_inches(max(4.5, width * across), height * down + 0.5)
    figure.suptitle(shown.title, fontsize=9)
    finite = np.abs(panels[np.isfinite(panels)])
    most = float(finite.max()) if finite.size and finite.max() > 0 else 1.0
    low, high, colours = (0.0, 1.0, "Purples") if shown.shares else (-most, most, "PuOr")
    grid = figure.subplots(down, across, squeeze=False).flatten()
    for title, panel, axes in zip(shown.titles, panels, grid, strict=False):
        masked = np.ma.masked_invalid(panel)
        image = axes.imshow(masked, cmap=colours, vmin=low, vmax=high, aspect="auto")
        axes.set_facecolor("0.85")  # what is masked
        axes.patch.set(hatch="////", edgecolor="0.6")
        axes.set_title(title, fontsize=9)
        _label(axes, shown)
        if (shown.shares or shown.whole) and len(panels) == 1 and panel.size <= WRITTEN:
            _number(axes, panel, 2 if shown.shares else 0)
    for axes in grid[len(panels) :]:
        axes.remove()
    figure.colorbar(image, ax=list(grid[: len(panels)]), shrink=0.8)


def _label(axes: "Axes", shown: Picture) -> None:
    axes.set_ylabel(shown.asks, fontsize=8)
    axes.set_xlabel(shown.asked, fontsize=8)
    every = -(-len(shown.rows) // LABELLED)
    axes.set_yticks(range(0, len(shown.rows), every), shown.rows[::every], fontsize=8)
    every = -(-len(shown.columns) // LABELLED)
    turned = 90 if max(map(len, shown.columns)) > 2 else 0
    places = range(0, len(shown.columns), every)
    axes.set_xticks(places, shown.columns[::every], fontsize=8, rotation=turned)


def _number(axes: "Axes", panel: "np.ndarray[Any, Any]", decimals: int) -> None:
    """The number in each cell, so that nothing is said by colour alone."""
    for row, values in enumerate(panel):
        for column, value in enumerate(values):
            text = f"{value:.{decimals}f}" if np.isfinite(value) else "−∞"
            ink = "white" if value > 0.6 else "black"
            ground = None if np.isfinite(value) else {"facecolor": "0.85", "edgecolor": "none", "pad": 1.0}
            axes.text(column, row, text, ha="center", va="center", fontsize=7, color=ink, bbox=ground)
