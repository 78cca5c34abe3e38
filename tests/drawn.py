"""What a figure shows, read back from its pixels as a reader sees them: from the top left."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

Array = np.ndarray[Any, Any]


def assert_matrices(figure: Figure, panels: Sequence[Array]) -> None:
    """Each cell has the colour that the colour bar gives to its number; −∞ is hatched in grey."""
    figure.set_dpi(300)  # so that a cell is larger than the line around the matrix is thick
    canvas = FigureCanvasAgg(figure)
    canvas.draw()
    pixels = np.asarray(canvas.buffer_rgba())[..., :3].astype(int)
    for panel, axes in zip(panels, figure.axes, strict=False):  # a colour bar comes after them
        window = axes.get_window_extent()
        (rows, columns), top = panel.shape, len(pixels) - window.y1
        for (row, column), value in np.ndenumerate(panel):
            # The upper part of the cell: in the middle a number may stand.
            upper, lower = (round(top + window.height / rows * (row + part)) for part in (0.15, 0.3))
            across = window.width / columns
            left, right = (round(window.x0 + across * (column + part)) for part in (0.15, 0.85))
            cell = pixels[upper:lower, left:right].reshape(-1, 3)
            if np.isfinite(value):
                colour = np.array(axes.images[0].to_rgba(value, bytes=True)[:3], int)
                assert np.abs(cell - colour).max() <= 3, (row, column, value)
            else:
                assert (np.ptp(cell, axis=1) == 0).all() and len(np.unique(cell)) > 1, (row, column, value)


def read_labels(axes: Axes) -> tuple[list[str], list[str]]:
    """The words beside the rows, from the top, and those below the columns, from the left."""
    rows = sorted(axes.get_yticklabels(), key=lambda label: -label.get_window_extent().y0)
    columns = sorted(axes.get_xticklabels(), key=lambda label: label.get_window_extent().x0)
    return [label.get_text() for label in rows], [label.get_text() for label in columns]
