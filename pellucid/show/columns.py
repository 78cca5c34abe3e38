"""Text of a terminal: columns and paragraphs that fit a width, in cells: a Chinese letter takes two."""

import math
from collections.abc import Sequence
from typing import Any

from rich.console import Console
from rich.text import Text

from pellucid.reading.words import number_text, visible


def blocks(widths: Sequence[int], width: int, left: int, gap: int) -> list[slice]:
    """Cut columns of these widths into blocks that fit beside the first `left` columns."""
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
    """Shorten a part's path for a table: decoder.layers.1.cross_attention -> decoder 1 cross."""
    words = path.replace(".layers.", " ").replace("_attention", "").replace(".", " ")
    return words.replace("residual_", "residual ").replace("feed_forward", "feed-forward")


def digits(number: float, decimals: int = 4) -> str:
    """Write a number with these decimals, or as a power of ten where they would all be 0; write NaN as ?."""
    tiny = number != 0 and abs(number) < 0.5 * 10**-decimals
    return number_text(number, ".1e" if tiny else f"z.{decimals}f")


def written(cell: Any, form: int | str) -> str:
    """Write a cell: a text as it is, None as nothing, the parts of a tuple side by side. A number has as many
    decimals as the form says, or is a power of ten where these would all be 0; or has a format of Python."""
    if isinstance(cell, tuple):
        return "".join(written(part, form) for part in cell)
    if not isinstance(cell, float):
        return "" if cell is None else str(cell)
    if cell == -math.inf:
        return "-∞"
    return digits(cell, form) if isinstance(form, int) else number_text(cell, f"z{form}")


def short_share(share: float) -> str:
    """Write a share of 1 in three characters, .45 or 1.0; write NaN as ?."""
    if math.isnan(share):
        return "?"
    return "1.0" if share >= 0.995 else f"{share:.2f}"[1:]
