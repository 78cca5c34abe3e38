"""Text of a terminal: columns and paragraphs that fit a width, in cells: a Chinese letter takes two."""

import math
from collections.abc import Sequence

from rich.cells import cell_len, set_cell_size
from rich.console import Console
from rich.text import Text

from pellucid.reading.words import number_text, visible

GAP = 2  # cells between columns
LONGEST = 24  # cells of a word that a column shows
BLOCKS = " ░▒▓█"  # for a number's share: a pattern that shows without colours


def layout(
    rows: Sequence[Sequence[str]], width: int, left: int = 1, longest: int = LONGEST, gap: int = GAP
) -> list[list[tuple[int, int, str]]]:
    """Lay out rows as lines of (row, column, padded text).

    The first `left` columns are aligned left and repeated in each block; the others are aligned right.
    Columns that do not fit beside each other go into further blocks, after an empty line. A text of more
    than `longest` cells is cut.
    """
    table = [[_cut(visible(cell), longest) for cell in row] for row in rows]
    widths = [max(map(cell_len, column)) for column in zip(*table, strict=True)]
    lines: list[list[tuple[int, int, str]]] = []
    for start, end in _blocks(widths, width, left, gap):
        lines += [[]] if lines else []
        shown = [*range(left), *range(start, end)]
        for number, row in enumerate(table):
            lines.append([(number, place, _pad(row[place], widths[place], place < left)) for place in shown])
    return lines


def _blocks(widths: Sequence[int], width: int, left: int, gap: int) -> list[tuple[int, int]]:
    """Return the first and the last (exclusive) column of each block."""
    first = sum(each + gap for each in widths[:left]) - gap
    blocks, start, used = [], left, first
    for place in range(left, len(widths)):
        if place > start and used + gap + widths[place] > width:
            blocks.append((start, place))
            start, used = place, first
        used += gap + widths[place]
    return [*blocks, (start, len(widths))]


def _pad(cell: str, width: int, left: bool) -> str:
    room = " " * (width - cell_len(cell))
    return cell + room if left else room + cell


def _cut(cell: str, longest: int) -> str:
    return cell if cell_len(cell) <= longest else set_cell_size(cell, longest - 1).rstrip() + "…"


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


def short_share(share: float) -> str:
    """Write a share of 1 in three characters, .45 or 1.0; write NaN as ?."""
    if math.isnan(share):
        return "?"
    return "1.0" if share >= 0.995 else f"{share:.2f}"[1:]
