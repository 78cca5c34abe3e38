"""Text for a terminal: columns and paragraphs of a given width in cells; a Chinese letter takes two cells."""

import math
from collections.abc import Sequence
from typing import Any

from rich.console import Console
from rich.text import Text

from pellucid.reading.words import number_text, visible


def blocks(widths: Sequence[int], width: int, left: int, gap: int) -> list[slice]:
    """Split a wide table: return slices of its columns, each of which fits into `width` beside the first
    `left` columns."""
    first = sum(each + gap for each in widths[:left]) - gap
    found, start, used = [], left, first
    for place in range(left, len(widths)):
        if place > start and used + gap + widths[place] > width:
            found.append(slice(start, place))
            start, used = place, first
        used += gap + widths[place]
    return [*found, slice(start, len(widths))]


def paragraph(text: str, width: int) -> list[str]:
    """Wrap a text into lines of at most `width` cells."""
    wrapped = Text(visible(text)).wrap(Console(), width)
    return [line.plain.rstrip() for line in wrapped] or [""]


def short(path: str) -> str:
    """Shorten the path of a module for a table: decoder.layers.1.cross_attention -> decoder 1 cross."""
    words = path.replace(".layers.", " ").replace("_attention", "").replace(".", " ")
    return words.replace("residual_", "residual ").replace("feed_forward", "feed-forward")


def digits(number: float, decimals: int = 4) -> str:
    """Write a number with `decimals` decimals. Write a number too small for them as 1.2e-05, and NaN as ?."""
    tiny = number != 0 and abs(number) < 0.5 * 10**-decimals
    return number_text(number, ".1e" if tiny else f"z.{decimals}f")


def write_cell(cell: Any, form: int | str) -> str:
    """Return the text of a cell: a string unchanged, "" for None, the items of a tuple joined.

    form: how to write floats: a number of decimals, as in `digits`, or a Python format such as ".2f".
    """
    if isinstance(cell, tuple):
        return "".join(write_cell(part, form) for part in cell)
    if not isinstance(cell, float):
        return "" if cell is None else str(cell)
    if cell == -math.inf:
        return "-∞"
    return digits(cell, form) if isinstance(form, int) else number_text(cell, f"z{form}")


def short_share(share: float) -> str:
    """Write a share from 0 to 1 in three characters: .45 or 1.0. Write NaN as ?."""
    if math.isnan(share):
        return "?"
    return "1.0" if share >= 0.995 else f"{share:.2f}"[1:]
