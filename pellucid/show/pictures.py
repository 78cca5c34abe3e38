"""The pictures of an explanation: any tensor by its name, all heads of a part, and these:

looked     the mean of the last cross-attention's heads: where each step looked
words      the same between words, where the vocabulary cuts words into pieces
heads      the weights of every cross-attention, head by head
entropy    how spread each head's attention is, layers × heads: 0 one word alone, 1 all alike
mask       who may look at whom in the decoder: 0, and −∞ hatched
positions  the positional encodings of the source's places, L × D
"""

import dataclasses
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from pellucid.reading.looking import heads_entropies, merge_words
from pellucid.reading.reading import Reading
from pellucid.seeing.records import AXES, Record, UnknownTensor, attentions, no_such_name
from pellucid.show.columns import short
from pellucid.show.panels import drawing, shade

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Array = np.ndarray[Any, Any]
NAMES = ("looked", "words", "heads", "entropy", "mask", "positions")
BEST = 4  # words of each position, where an axis is the whole vocabulary
WRITTEN = 120  # cells of a single matrix that get their number


@dataclass(frozen=True)
class Picture:
    """Panels of one shape with the same labels: heads, layers, or a single matrix."""

    title: str
    panels: Array  # panels × rows × columns
    rows: list[str]
    columns: list[str]
    asks: str = "what was read"  # what a row is
    asked: str = "the source, which is looked at"  # what a column is
    decimals: int | None = 2  # of the numbers in the cells; 2: shares of 1, 0: a mask; None: no numbers
    titles: tuple[str, ...] = ("",)  # of the panels


def plot(reading: Reading, name: str, path: str | Path) -> None:
    """Draw the picture of this name into `path`, whose ending chooses the format."""
    shown = picture(reading, name)
    with drawing(path, name, "".join([*shown.rows, *shown.columns])) as figure:
        draw(figure, shown)


def picture(reading: Reading, name: str) -> Picture:
    """Make the picture of this name: one of NAMES, a tensor, or a part (its weights or its output)."""
    if name in NAMES:
        return _named(reading, name)
    trace = reading.trace
    for full in (name, f"{name}.weights", f"{name}.output"):
        if full in trace:
            return _of_record(reading, trace[full])
    parts = {full.rpartition(".")[0] for full in trace if full.count(".") > 1}
    raise UnknownTensor(no_such_name(name, [*trace, *sorted(parts), *NAMES]))


def whole_set(reading: Reading) -> list[str]:
    """List the pictures that show most: each attention, those of NAMES, and the probabilities."""
    weights = [f"{part}.weights" for part in attentions(reading.trace)]
    return [*weights, *NAMES, "decoder.probabilities"]


def _of_record(reading: Reading, record: Record) -> Picture:
    """Make a panel of each head; of an axis V show the best words only."""
    values = record.tensor.numpy()
    values = values[0] if record.axes[0] == "B" else values
    axes = (record.axes[-2], record.axes[-1]) if values.ndim > 1 else (record.axes[-1], "")
    rows, columns = record.labels(axes[0]), record.labels(axes[1]) if axes[1] else [""]
    if axes[1] == "V":
        best = sorted({int(word) for row in values for word in np.argsort(-row, kind="stable")[:BEST]})
        values, columns = values[:, best], reading.vocabulary.target_tokens(best)
    panels = values.reshape(-1, len(rows), len(columns))
    asks, asked = (f"{axis}: {AXES[axis]}" if axis else "" for axis in axes)
    asks = "L: position" if record.name.endswith(".positions") else asks  # positions are not queries
    title = f"{record.name}\n{' × '.join(map(str, record.tensor.shape))} ({record.axes})"
    titles = tuple(f"head {head}" for head in range(len(panels))) if len(panels) > 1 else ("",)
    return Picture(title, panels, rows, columns, asks, asked, 2 if record.is_shares else None, titles)


def _named(reading: Reading, name: str) -> Picture:
    trace, weights = reading.trace, f"{reading.watched_layer}.weights"
    if name == "positions":
        return _of_record(reading, trace["encoder.positions"])
    if name == "mask":
        return _mask(_of_record(reading, trace["decoder.layers.0.self_attention.mask"]))
    if name == "entropy":
        parts, shares = heads_entropies(reading)
        heads = [f"head {head}" for head in range(shares.shape[1])]
        title = "How spread each head's attention is\n0: one word alone, 1: all that it may look at alike"
        return Picture(title, shares.numpy()[None], list(map(short, parts)), heads, "attention", "")
    if name == "heads":
        records = [trace[f"{part}.weights"] for part in attentions(trace, "cross")]
        panels = np.concatenate([record.tensor[0].numpy() for record in records])
        counts = [record.tensor.shape[1] for record in records]
        titles = tuple(f"layer {n}, head {head}" for n, count in enumerate(counts) for head in range(count))
        title, asked = "Cross-attention: which source words each head looked at", "the source"
        labels = records[0].labels("L"), records[0].labels("M")
        return dataclasses.replace(Picture(title, panels, *labels), titles=titles, asked=asked)
    record = merge_words(reading)[weights] if name == "words" else trace[weights]
    between = " between words" if name == "words" else ""
    title = f"Where each step looked{between}\nthe mean of the {record.tensor.shape[1]} heads of {weights}"
    return Picture(title, record.tensor.mean(1).numpy(), record.labels("L"), record.labels("M"))


def _mask(shown: Picture) -> Picture:
    """Keep one panel where the mask is the same for all heads."""
    if any(not np.array_equal(panel, shown.panels[0]) for panel in shown.panels):
        return dataclasses.replace(shown, decimals=0)
    title = f"{shown.title}\nthe same for each of the {len(shown.panels)} heads"
    return dataclasses.replace(shown, title=title, panels=shown.panels[:1], titles=("",), decimals=0)


def draw(figure: "Figure", shown: Picture) -> None:
    """Draw the panels beside and below each other, in one scale of colours."""
    panels, rows, columns, shares = shown.panels, shown.rows, shown.columns, shown.decimals == 2
    longest = max(map(len, columns))
    width = min(10.0, 1.8 + 0.42 * len(columns))
    height = min(10.0, 1.5 + 0.36 * len(rows) + 0.06 * longest)
    down = -(-len(panels) // max(1, int(16 // width)))
    across = -(-len(panels) // down)  # so that the last row is nearly as long as the others
    figure.set_size_inches(max(4.5, width * across), height * down + 0.5)
    figure.suptitle(shown.title, fontsize=9)
    finite = np.abs(panels[np.isfinite(panels)])
    most = 1.0 if shares or not finite.any() else float(finite.max())
    grid = figure.subplots(down, across, squeeze=False).flatten()
    for title, panel, axes in zip(shown.titles, panels, grid, strict=False):
        written = _written(panel, shown.decimals) if panels.size <= WRITTEN and len(panels) == 1 else []
        names: dict[str, Any] = dict(rows=rows, columns=columns, turned=longest > 2, written=written)
        image = shade(axes, panel, most, signed=not shares, **names)
        axes.set_title(title, fontsize=9)
        axes.set_ylabel(shown.asks, fontsize=8)
        axes.set_xlabel(shown.asked, fontsize=8)
    for axes in grid[len(panels) :]:
        axes.remove()
    figure.colorbar(image, ax=list(grid[: len(panels)]), shrink=0.8)


def _written(panel: Array, decimals: int | None) -> list[list[str]]:
    """Write the number of each cell, for readers who cannot tell the colours apart."""
    if decimals is None:
        return []
    return [[f"{n:.{decimals}f}" if np.isfinite(n) else "−∞" for n in row] for row in panel.tolist()]
