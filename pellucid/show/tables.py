"""Notes and tables as data, and two writers for them: text for a terminal, HTML for a notebook.

A view is a function that turns a result into parts, a list of notes and tables. `@view(Kind)` registers it
for both writers, so each table is described once. The HTML needs no scripts and no other files, so every
notebook shows it, even offline or untrusted.
"""

import math
import textwrap
from collections.abc import Callable, Sequence
from dataclasses import KW_ONLY, dataclass
from html import escape
from itertools import repeat
from typing import Any

from rich.console import Console
from rich.text import Text

from pellucid.reading.words import visible
from pellucid.seeing.viewed import html, lines, print_lines
from pellucid.show.columns import blocks, paragraph, write_cell

# Of a number's share, nothing to full: in text a pattern, which shows without colours, and a colour.
PATTERNS = " ░▒▓█"
COLOURS = ("", "#e9e1f7", "#c9b6ec", "#9c7ddb", "#6b43bd")
NOTEBOOK = 200  # cells that a table has in a notebook
TABLE = (
    "<div style='overflow:auto;max-width:100%;max-height:40em'>"
    "<table style='border-collapse:collapse;font-size:13px;color:inherit'>{}</table></div>"
)
CELL = "padding:2px 6px;border:1px solid #8886;white-space:nowrap;text-align:{};{}"


@dataclass(frozen=True)
class Cell:
    """A cell of a table. A shade from 0 to 1 becomes a pattern in text and a colour in HTML."""

    text: str
    shade: float | None = None
    style: str = ""  # "bold", "bold red", "dim"

    @property
    def level(self) -> int:
        """Return the shade as an index of PATTERNS and COLOURS."""
        shade = 0.0 if self.shade is None or math.isnan(self.shade) else max(0.0, min(self.shade, 1.0))
        return round(shade * (len(PATTERNS) - 1))

    @property
    def colours(self) -> tuple[str, str]:
        """Return the text colour and the background colour of the shade. Both are set, so that dark notebooks
        and terminals show them too."""
        return "white" if self.level == len(COLOURS) - 1 else "black", COLOURS[self.level]

    @property
    def for_terminal(self) -> Text:
        """Return the text with the pattern of its shade; −∞ is hatched."""
        ink, ground = self.colours
        pattern = "" if self.shade is None else "╱" if self.text == "−∞" else PATTERNS[self.level]
        return Text.assemble((visible(self.text) + pattern, f"{ink} on {ground}" if ground else self.style))


@dataclass(frozen=True)
class Table:
    """Rows under a header (no header if all its names are empty). The first `left` columns are the names of
    the rows."""

    header: Sequence[str]
    rows: Sequence[Sequence[Any]]  # cells, texts, numbers, None for nothing; tuples of these stand together
    left: int = 1
    _: KW_ONLY
    form: int | str | Sequence[int | str] = 4  # how numbers are written, in all columns or in each
    title: str = ""
    longest: int | None = None  # cells of a text in a terminal; by default 44, or half of a narrow one
    gap: int = 2  # cells between columns in a terminal

    @property
    def cells(self) -> list[list[Cell]]:
        """Return the rows, with every text and number as a cell."""
        forms = repeat(self.form) if isinstance(self.form, int | str) else self.form
        return [
            [
                cell if isinstance(cell, Cell) else Cell(write_cell(cell, form))
                for cell, form in zip(row, forms, strict=False)
            ]
            for row in self.rows
        ]

    def column(self, name: str) -> list[Any]:
        """Return the content of the column with this name in the header."""
        return [row[list(self.header).index(name)] for row in self.rows]


@dataclass(frozen=True)
class Note:
    """A paragraph: plain, "bold", "dim", or "code"."""

    text: str
    style: str = ""


Part = str | Note | Table  # a text is a plain note; an empty one is an empty line, and nothing in HTML
View = Callable[..., list[Part]]


def view(kind: type) -> Callable[[View], View]:
    """Return a decorator that registers a view, (data, width) -> parts, for this type of data."""

    def register(parts: View) -> View:
        lines.register(kind, lambda shown, width=80, **how: text_lines(parts(shown, width, **how), width))
        html.register(kind, lambda shown: html_text(parts(shown, NOTEBOOK)))
        return parts

    return register


def text_lines(parts: Sequence[Part], width: int) -> list[str]:
    """Write parts as lines of at most `width` cells."""
    return [line.plain for part in parts for line in _lines(part, width)]


def print_parts(parts: Callable[[int], Sequence[Part]]) -> None:
    """Call `parts` with the terminal's width and print the result, in colours if the terminal has them."""
    console = Console(soft_wrap=True, highlight=False)
    with console.capture() as captured:
        for part in parts(console.width):
            for line in _lines(part, console.width):
                console.print(line)
    print_lines(captured.get().splitlines())


def _lines(part: Part, width: int) -> list[Text]:
    if isinstance(part, Table):
        return _table_lines(part, width)
    note = Note(part) if isinstance(part, str) else part
    if note.style == "code":
        code = textwrap.wrap(note.text, width, initial_indent="| ", subsequent_indent="|     ")
        return list(map(Text, code))
    return [Text(line, note.style) for line in paragraph(note.text, width)]


def _table_lines(table: Table, width: int) -> list[Text]:
    """Align the columns. Columns that do not fit side by side continue in further blocks of lines."""
    rows = [[cell.for_terminal for cell in row] for row in table.cells]
    if any(table.header):
        shaded = {place for row in table.cells for place, cell in enumerate(row) if cell.shade is not None}
        titles = [f"{title} " if place in shaded else title for place, title in enumerate(table.header)]
        rows = [[Cell(title, style="dim").for_terminal for title in titles], *rows]
    widths, longest = [], table.longest or min(44, max(6, width // 2))
    for place, column in enumerate(zip(*rows, strict=True)):
        for text in column:
            text.truncate(longest, overflow="ellipsis")
        widths.append(max(text.cell_len for text in column))
        for text in column:
            text.align("left" if place < table.left else "right", widths[-1])
    lines = [Text(line) for line in paragraph(table.title, width)] if table.title else []
    first = len(lines)
    for block in blocks(widths, width, table.left, table.gap):
        lines += [Text()] if len(lines) > first else []
        for row in rows:
            lines.append(Text(" " * table.gap).join([*row[: table.left], *row[block]]))
            lines[-1].rstrip()
    return lines


def html_text(parts: Sequence[Part]) -> str:
    """Write parts as HTML."""
    return "".join(_html_table(part) if isinstance(part, Table) else _html_note(part) for part in parts)


def _html_note(part: str | Note) -> str:
    note = Note(part) if isinstance(part, str) else part
    text = escape(visible(note.text))
    tag = {"bold": "b", "code": "code", "dim": "small"}.get(note.style, "span")
    return f"<p style='margin:4px 0'><{tag}>{text}</{tag}></p>" if text else ""


def _html_table(table: Table) -> str:
    header = [[Cell(title, style="bold") for title in table.header]] if any(table.header) else []
    rows = "".join(
        f"<tr>{''.join(_html_cell(cell, place < table.left) for place, cell in enumerate(row))}</tr>"
        for row in (*header, *table.cells)
    )
    return TABLE.format(rows)


def _html_cell(cell: Cell, left: bool) -> str:
    ink, ground = cell.colours
    style = f"background:{ground};color:{ink}" if ground else "font-weight:bold" * ("bold" in cell.style)
    tag, align = ("th", "left") if left else ("td", "right")
    return f"<{tag} style='{CELL.format(align, style)}'>{escape(visible(cell.text))}</{tag}>"
