"""Tables as lines of text that fit a width, whatever letters they hold, and printed."""

import math
import textwrap
from collections.abc import Sequence

from rich.cells import cell_len, chop_cells, set_cell_size

from pellucid.reading.words import visible

GAP = 2  # cells between columns
BLOCKS = " ░▒▓█"  # a number's share, so that a pattern shows without colours and without reading the numbers


def columns(
    header: Sequence[str], rows: Sequence[Sequence[str]], width: int, left: int = 1, longest: int = 24
) -> list[str]:
    """A table: the first `left` columns stand at the left of each block, the others right-aligned; those that
    do not fit beside each other stand in further blocks below. A word of more than `longest` cells is cut."""
    table = [[_cut(visible(cell), longest) for cell in row] for row in [header, *rows]]
    widths = [max(map(cell_len, column)) for column in zip(*table, strict=True)]
    lines: list[str] = []
    for start, end in _blocks(widths, width, left):
        if lines:
            lines.append("")
        shown = [*range(left), *range(start, end)]
        for row in table:
            cells = [_aligned(row[place], widths[place], place < left) for place in shown]
            lines.append((" " * GAP).join(cells).rstrip())
    return lines


def _blocks(widths: Sequence[int], width: int, left: int) -> list[tuple[int, int]]:
    """The first and the last (exclusive) column of each block."""
    first = sum(each + GAP for each in widths[:left]) - GAP
    blocks, start, used = [], left, first
    for place in range(left, len(widths)):
        if place > start and used + GAP + widths[place] > width:
            blocks.append((start, place))
            start, used = place, first
        used += GAP + widths[place]
    return [*blocks, (start, len(widths))]


def _aligned(cell: str, width: int, left: bool) -> str:
    room = " " * (width - cell_len(cell))
    return cell + room if left else room + cell


def _cut(cell: str, longest: int) -> str:
    return cell if cell_len(cell) <= longest else set_cell_size(cell, longest - 1).rstrip() + "…"


def paragraph(text: str, width: int) -> list[str]:
    """A text as lines of at most `width` cells of a terminal, of which a Chinese letter takes two."""
    seen = visible(text)
    if cell_len(seen) == len(seen):
        return textwrap.wrap(seen, width) or [""]
    lines = [""]
    for word in seen.split():
        joined = f"{lines[-1]} {word}" if lines[-1] else word
        if cell_len(joined) <= width:
            lines[-1] = joined
            continue
        pieces = chop_cells(word, width)  # of a word that is longer than a line
        lines = [*lines, *pieces] if lines[-1] else pieces
    return lines


def stacked(width: int, *parts: str | list[str]) -> list[str]:
    """Parts with an empty line between them: a text as a paragraph, lines as they are."""
    lines: list[str] = []
    for part in parts:
        if lines:
            lines.append("")
        lines += paragraph(part, width) if isinstance(part, str) else part
    return lines


def short(path: str) -> str:
    """A part's path as a table has room for it: decoder.layers.1.cross_attention -> decoder 1 cross."""
    words = path.replace(".layers.", " ").replace("_attention", "").replace(".", " ")
    return words.replace("residual_", "residual ").replace("feed_forward", "feed-forward")


def known(number: float, form: str) -> str:
    """A number in this form, or ? where it is none (NaN)."""
    return "?" if math.isnan(number) else format(number, form)


def digits(number: float, decimals: int = 4) -> str:
    """A number with so many decimals, or, where that would leave nothing of it, in powers of ten;
    ? for what is none (NaN)."""
    if math.isnan(number):
        return "?"
    if number != 0 and abs(number) < 0.5 * 10**-decimals:
        return f"{number:.1e}"
    return f"{number:z.{decimals}f}"


def short_share(share: float) -> str:
    """A share of 1 in three letters: .45, 1.0 for what rounds to one, and ? for what is no number."""
    if math.isnan(share):
        return "?"
    return "1.0" if share >= 0.995 else f"{share:.2f}"[1:]
