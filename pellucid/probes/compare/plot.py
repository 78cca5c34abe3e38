"""One word in two sentences as a picture: its cosines stage by stage, and what moved it in the last layer."""

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from pellucid.probes.compare.comparison import Comparison
from pellucid.reading.words import visible
from pellucid.show.drawing import drawing, shade

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from pellucid.probes.compare.movers import LayerChange

ACROSS = 4  # panels beside each other
MOVERS = 8  # words that have a row


def plot(comparison: Comparison, path: str | Path) -> None:
    """Cosines at the left, and each layer's words by head at the right."""
    texts = [visible(each.text) for each in (comparison.first, comparison.second)]
    words = "".join(mover.word for layer in comparison.layers for mover in layer.movers)
    with drawing(path, comparison.word, "".join(texts) + words) as figure:
        count = 1 + len(comparison.layers)
        down = -(-count // ACROSS)
        across = -(-count // down)
        figure.set_size_inches(4.2 * across, 4.2 * down)
        figure.suptitle(f"{visible(comparison.word)}: {texts[0]} · {texts[1]}", fontsize=10)
        first, *others = figure.subplots(down, across, squeeze=False).flatten()
        _cosines(first, comparison)
        for axes, layer in zip(others, comparison.layers, strict=False):
            _movers(axes, layer)
        for axes in others[len(comparison.layers) :]:
            axes.remove()


def _cosines(axes: "Axes", comparison: Comparison) -> None:
    titles = [stage.title for stage in comparison.stages]
    lines = {
        "as it is": ("o-", [stage.cosine for stage in comparison.stages]),
        "position alone": ("s--", [stage.position for stage in comparison.stages]),
        "context alone": ("^:", [stage.context for stage in comparison.stages]),
    }
    for label, (style, cosines) in lines.items():
        axes.plot(range(len(titles)), cosines, style, label=label)
    axes.set_xticks(range(len(titles)), titles, rotation=30)
    axes.set_ylim(min(0.0, *(stage.cosine for stage in comparison.stages)), 1.05)
    axes.set_title("cosine of its two vectors", fontsize=9)
    axes.legend(fontsize=8)


def _movers(axes: "Axes", layer: "LayerChange") -> None:
    movers = layer.movers[:MOVERS]
    shares = np.array([mover.shares for mover in movers])
    most = max(float(np.abs(shares).max()), 1e-9)
    labels = [
        f"{visible(mover.word)}{' itself' if mover.itself else f' ({mover.sentences})'}" for mover in movers
    ]
    heads = [f"head {head}" for head in range(shares.shape[1])]
    written = [[f"{share:+.2f}" for share in row] for row in shares]
    shade(axes, shares, most, signed=True, rows=labels, columns=heads, written=written)
    axes.set_title(f"moved by: {layer.attention}", fontsize=9)
