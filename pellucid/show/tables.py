"""What a view shows, as data: notes and tables; and two writers, text for a terminal and HTML for a notebook.

A view is a function from data to parts. `@view(Kind)` registers it for both, so each table is described once.
The HTML is complete in itself, without scripts, so every notebook shows it, also offline and untrusted.
"""

import math
import textwrap
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from html import escape
from typing import Any

from rich.console import Console
from rich.text import Text

from pellucid.reading.words import visible
from pellucid.seeing.viewed import html, lines, print_lines
from pellucid.show.columns import BLOCKS, GAP, LONGEST, layout, paragraph

# Of a number's share, pale to full, with black text, white on the last.
COLOURS = ("", "#e9e1f7", "#c9b6ec", "#9c7ddb", "#6b43bd")
NOTEBOOK = 200  # cells that a table has in a notebook
CELL = "padding:2px 6px;border:1px solid #8886;white-space:nowrap;text-align:{};{}"


@dataclass(frozen=True)
class Cell:
    """A cell of a table. A shade from 0 to 1 becomes a block in text and a colour in HTML."""

    text: str
    shade: float | None = None
    style: str = ""  # "bold", "bold red", "dim"

    @property
    def level(self) -> int:
        """The shade as a place in BLOCKS and COLOURS."""
        known = self.shade is not None and not math.isnan(self.shade)
        return min(len(BLOCKS) - 1, round((self.shade or 0) * (len(BLOCKS) - 1))) if known else 0

    @property
    def with_block(self) -> str:
        """The text with the block of its shade; −∞ is hatched."""
        return self.text + ("" if self.shade is None else "╱" if self.text == "−∞" else BLOCKS[self.level])


@dataclass(frozen=True)
class Table:
    """Rows of cells under a header (none where all its titles are empty); the first `left` columns name the
    rows."""

    header: Sequence[str]
    rows: Sequence[Sequence[str | Cell]]
    left: int = 1
    longest: int = LONGEST  # cells of a text in a terminal
    gap: int = GAP
    most: int | None = None  # rows and columns in a notebook; the middle of more is left out


@dataclass(frozen=True)
class Note:
    """A paragraph: plain, "bold", "dim", or "code"."""

    text: str
    style: str = ""
    indent: int = 0  # of its first line in a terminal; the others have twice as much


Part = str | Note | Table  # a text is a plain note; an empty one is an empty line, and nothing in HTML
View = Callable[..., list[Part]]


def view(kind: type) -> Callable[[View], View]:
    """Register a view of this kind of data, (data, width) -> parts, as text and as HTML."""

    def register(parts: View) -> View:
        def as_lines(shown: Any, width: int = 80, **options: Any) -> list[str]:
            return text_lines(parts(shown, width, **options), width)

        lines.register(kind, as_lines)
        html.register(kind, lambda shown: html_text(parts(shown, NOTEBOOK)))
        return parts

    return register


def text_lines(parts: Sequence[Part], width: int) -> list[str]:
    """Write parts as lines of at most `width` cells."""
    return [line.plain.rstrip() for line in _styled_lines(parts, width)]


def print_parts(parts: Callable[[int], Sequence[Part]]) -> None:
    """Print the parts for the width of the terminal, with colours where it has them."""
    console = Console(soft_wrap=True, highlight=False)
    with console.capture() as captured:
        for line in _styled_lines(parts(console.width), console.width):
            console.print(line)
    print_lines(captured.get().splitlines())


def _styled_lines(parts: Sequence[Part], width: int) -> list[Text]:
    lines: list[Text] = []
    for part in parts:
        if isinstance(part, Table):
            lines += _table_lines(part, width)
            continue
        note = Note(part) if isinstance(part, str) else part
        if note.style == "code":
            wrapped = textwrap.wrap(note.text, width, initial_indent="| ", subsequent_indent="|     ")
            lines += map(Text, wrapped)
        else:
            for number, line in enumerate(paragraph(note.text, width - 2 * note.indent)):
                lines.append(Text(" " * note.indent * (2 if number else 1) + line, note.style))
    return lines


def _table_lines(table: Table, width: int) -> list[Text]:
    rows = _cells(table)
    shaded = {place for row in rows for place, cell in enumerate(row) if cell.shade is not None}
    texts = [[cell.with_block for cell in row] for row in rows]
    if any(table.header):
        header = [f"{title} " if place in shaded else title for place, title in enumerate(table.header)]
        rows, texts = [[Cell(title, style="dim") for title in header], *rows], [header, *texts]
    lines = []
    for line in layout(texts, width, table.left, table.longest, table.gap):
        text = Text(" " * table.gap).join(
            Text.assemble(padded.removesuffix(cell), (cell, _style(rows[row][place])))
            for row, place, padded in line
            for cell in [padded.lstrip()]
        )
        text.rstrip()
        lines.append(text)
    return lines


def _cells(table: Table) -> list[list[Cell]]:
    return [[cell if isinstance(cell, Cell) else Cell(cell) for cell in row] for row in table.rows]


def _style(cell: Cell) -> str:
    ground = COLOURS[cell.level]
    ink = "white" if cell.level == len(COLOURS) - 1 else "black"
    return f"{ink} on {ground}" if ground else cell.style


def html_text(parts: Sequence[Part]) -> str:
    """Write parts as HTML. Colours come in pairs, text and ground, for dark notebooks too."""
    written = "".join(_html_table(part) if isinstance(part, Table) else _html_note(part) for part in parts)
    return f"<div style='overflow-x:auto;max-width:100%'>{written}</div>"


def _html_note(part: str | Note) -> str:
    note = Note(part) if isinstance(part, str) else part
    text = escape(visible(note.text))
    tag = {"bold": "b", "code": "code", "dim": "small"}.get(note.style)
    return f"<p style='margin:4px 0'>{f'<{tag}>{text}</{tag}>' if tag else text}</p>" if text else ""


def _html_table(table: Table) -> str:
    header = [[Cell(title, style="bold") for title in table.header]] if any(table.header) else []
    cells = [*header, *_cells(table)]
    cells = _ends([_ends(row, table.most, Cell("…")) for row in cells], table.most, [Cell("⋮")])
    rows = "".join(
        f"<tr>{''.join(_html_cell(cell, place < table.left) for place, cell in enumerate(row))}</tr>"
        for row in cells
    )
    return f"<table style='border-collapse:collapse;font-size:13px;color:inherit'>{rows}</table>"


def _ends(items: list[Any], most: int | None, gap: Any) -> list[Any]:
    """Return all items, or the first and the last ones with a gap between them."""
    return items if most is None or len(items) <= most else [*items[: most - 4], gap, *items[-3:]]


def _html_cell(cell: Cell, left: bool) -> str:
    ground, ink = COLOURS[cell.level], "#fff" if cell.level == len(COLOURS) - 1 else "#000"
    style = "font-weight:bold" if "bold" in cell.style else ""
    style = f"background:{ground};color:{ink}" if ground else style
    tag, align = ("th", "left") if left else ("td", "right")
    return f"<{tag} style='{CELL.format(align, style)}'>{escape(visible(cell.text))}</{tag}>"
