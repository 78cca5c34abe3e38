"""A tensor as a picture, one panel for each head, drawn with matplotlib."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from pellucid.explain.drawing import drawing
from pellucid.explain.explanation import Explanation
from pellucid.explain.words import visible
from pellucid.see import AXES, Record

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

BEST = 4  # words of each position, where an axis is the whole vocabulary
LABELLED = 40  # rows or columns that still get a label each


def plot(explanation: Explanation, name: str, path: str | Path) -> None:
    """The tensor of this name as a picture in `path`, whose ending chooses the format."""
    record = explanation.trace[name]
    panels, rows, columns = _panels(explanation, record)
    with drawing(path, name, "".join([*rows, *columns])) as figure:
        _draw(figure, record, panels, rows, columns)


def _panels(explanation: Explanation, record: Record) -> tuple[np.ndarray[Any, Any], list[str], list[str]]:
    """Heads, rows, columns; and the labels of the rows and of the columns."""
    values = record.tensor.numpy()
    values = values[0] if record.axes[0] == "B" else values
    rows_axis, columns_axis = (record.axes[-2], record.axes[-1]) if values.ndim > 1 else (record.axes[-1], "")
    rows, columns = record.labels(rows_axis), record.labels(columns_axis) if columns_axis else [""]
    if columns_axis == "V":
        best = sorted({int(word) for row in values for word in np.argsort(-row, kind="stable")[:BEST]})
        values, columns = values[:, best], explanation.vocabulary.target_tokens(best)
    panels = values.reshape(-1, len(rows), len(columns))
    return panels, [visible(word) for word in rows], [visible(word) for word in columns]


def _draw(
    figure: "Figure", record: Record, panels: np.ndarray[Any, Any], rows: list[str], columns: list[str]
) -> None:
    width = min(14.0, 1.8 + 0.42 * len(columns) if len(columns) <= LABELLED else 10.0)
    height = min(10.0, 1.5 + 0.36 * len(rows))
    across = min(len(panels), max(1, int(16 // width)))
    down = -(-len(panels) // across)
    figure.set_size_inches(max(4.5, width * across), height * down + 0.5)
    shape = " × ".join(map(str, record.tensor.shape))
    figure.suptitle(f"{record.name}\n{shape} ({record.axes})", fontsize=9)
    finite = np.abs(panels[np.isfinite(panels)])
    most = float(finite.max()) if finite.size and finite.max() > 0 else 1.0
    is_share = record.name.rpartition(".")[2] in ("weights", "probabilities")
    low, high, colours = (0.0, 1.0, "Purples") if is_share else (-most, most, "PuOr")
    grid = figure.subplots(down, across, squeeze=False).flatten()
    for head, axes in enumerate(grid[: len(panels)]):
        image = axes.imshow(
            np.ma.masked_invalid(panels[head]), cmap=colours, vmin=low, vmax=high, aspect="auto"
        )
        axes.set_facecolor("0.85")  # what is masked
        axes.patch.set(hatch="////", edgecolor="0.6")
        _label(axes, record, rows, columns)
        if len(panels) > 1:
            axes.set_title(f"head {head}", fontsize=9)
    for axes in grid[len(panels) :]:
        axes.remove()
    figure.colorbar(image, ax=list(grid[: len(panels)]), shrink=0.8)


def _label(axes: "Axes", record: Record, rows: list[str], columns: list[str]) -> None:
    named = record.axes.removeprefix("B").removeprefix("H")
    axes.set_ylabel(f"{named[0]}: {AXES[named[0]]}", fontsize=8)
    axes.set_xlabel(f"{named[1]}: {AXES[named[1]]}" if len(named) > 1 else "", fontsize=8)
    every = -(-len(rows) // LABELLED)
    axes.set_yticks(range(0, len(rows), every), rows[::every], fontsize=8)
    every = -(-len(columns) // LABELLED)
    turned = 90 if max(map(len, columns)) > 2 else 0
    axes.set_xticks(range(0, len(columns), every), columns[::every], fontsize=8, rotation=turned)
