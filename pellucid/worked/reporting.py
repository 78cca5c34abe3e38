"""A report on claims as text: a table of cells for each claimed line."""

import math
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from pellucid.reading.words import visible
from pellucid.show.columns import columns
from pellucid.worked.check import VERDICTS, Cell, Report
from pellucid.worked.stages import STAGES

if TYPE_CHECKING:
    from pellucid.worked.examples import Example

WIDE = 1000  # a line for each cell, however narrow the terminal
BOTH = ("from the line before", "from the start")
COLUMNS = ("line", "example", "stage", "row, column", "claimed", *BOTH, "verdict", "why")
LINK = "../pellucid/worked/examples/{}.toml"  # from a page in docs/


def table(report: Report, says_first: bool = True) -> str:
    """A line for each cell: claimed, from the claimed line before, from the start, verdict, rule; and below
    them the first that goes wrong, unless that is somebody's exercise."""
    lines: list[str] = []
    for name in dict.fromkeys(cell.name for cell in report.cells):
        cells = [cell for cell in report.cells if cell.name == name]
        lines += [f"{name}  {report.shapes.get(name, '')}".rstrip(), *_rows(cells), ""]
    first = [visible(report.first_wrong)] if says_first and report.first_wrong else []
    return "\n".join([*lines, *first, summary(report)])


def summary(report: Report) -> str:
    """12 cells: 7 right, 2 follow, 3 wrong."""
    counts = {verdict: report.count(verdict) for verdict in VERDICTS}
    words = {"follows": "follow"}
    told = [f"{count} {words.get(verdict, verdict)}" for verdict, count in counts.items() if count]
    return f"{len(report.cells)} cells{': ' if told else ''}{', '.join(told)}"


def first_wrong(report: Report) -> str:
    """The first stage that goes wrong, a cell of it with its numbers, and why; "" where none does.

    What may be rounding alone counts only where nothing else is wrong.
    """
    wrong = [cell for cell in report.cells if cell.verdict == "wrong"]
    if not wrong:
        return ""
    certain = [cell for cell in wrong if not cell.remark] or wrong
    name = certain[0].name
    cell = next((each for each in certain if each.name == name and each.rule), certain[0])
    here = sum(each.name == name for each in wrong)
    count = "one cell is" if here == 1 else f"{here} cells are"
    stage = f"The first stage that goes wrong is {name}, where {count}"
    why = cell.rule or cell.remark
    if cell.step is None and cell.start is None:
        return f"{stage} wrong: {why}."
    computed = claimed_digits(cell.start if cell.step is None else cell.step)
    told = f"{_place(report, cell)} claims {cell.written}, and {computed} is computed"
    return f"{stage} wrong. {told[0].upper()}{told[1:]}{f': {why}' if why else ''}."


def _place(report: Report, cell: Cell) -> str:
    """head 1, row 2 (dich), column 0 (ich): a head where there are several, tokens where they are known."""
    axes = STAGES[cell.name]
    column = cell.column if cell.whole_column is None else cell.whole_column
    places = [("row", cell.row, axes[-2]), ("column", column, axes[-1])]
    told = [f"head {cell.head}"] if len(report.starts[cell.name]) > 1 and cell.whole_column is None else []
    for kind, number, axis in places:
        word = report.tokens[axis][number] if axis in report.tokens else ""
        told.append(f"{kind} {number} ({word})" if word else f"{kind} {number}")
    return ", ".join(told)


def _rows(cells: list[Cell]) -> Iterator[str]:
    is_whole = cells[0].whole_column is not None
    has_heads = any(cell.head for cell in cells) and not is_whole
    places = ["head", "row", "column"] if has_heads else ["row", "column"]
    fields = ["row", "whole_column"] if is_whole else places
    rows = [
        [
            *(str(getattr(cell, place)) for place in fields),
            cell.written,
            claimed_digits(cell.step),
            claimed_digits(cell.start),
        ]
        for cell in cells
    ]
    first, *lines = columns([*places, "claimed", *BOTH], rows, WIDE, left=0, longest=WIDE)
    yield f"  {first}  verdict"
    for cell, line in zip(cells, lines, strict=True):
        yield f"  {line}  {cell.verdict}"
        if why := cell.rule or cell.remark:
            yield f"      {why}"


def verdicts(examples: "Iterable[Example]") -> Iterator[str]:
    """All claims about a note as a Markdown table, in the order of its lines."""
    yield f"| {' | '.join(COLUMNS)} |"
    yield "|---" * len(COLUMNS) + "|"
    rows: list[tuple[int, str]] = []
    for example in examples:
        for cell in example.report().cells:
            line = example.at.get(cell.name, "")
            head = f"head {cell.head}: " if cell.head and cell.whole_column is None else ""
            column = cell.column if cell.whole_column is None else cell.whole_column
            place = f"{head}{cell.row}, {column}"
            texts = [f"[{example.name}]({LINK.format(example.name)})", cell.name, place, cell.written]
            texts += [
                claimed_digits(cell.step),
                claimed_digits(cell.start),
                cell.verdict,
                cell.rule or cell.remark or "",
            ]
            rows.append((int(line or 0), f"| {line} | {' | '.join(texts)} |"))
    for _, row in sorted(rows, key=lambda numbered: numbered[0]):
        yield row.replace("|  |", "| |")


def claimed_digits(value: float | None) -> str:
    """0.2120, −∞, and ? for what is not known."""
    if value is None or math.isnan(value):
        return "?"
    if math.isinf(value):
        return "∞" if value > 0 else "−∞"
    small_or_large = value != 0 and not 5e-4 <= abs(value) < 1e6
    return f"{value:{'.3g' if small_or_large else 'z.4f'}}".replace("-", "−")


def shown_digits(value: float) -> str:
    """A computed number: what float64 leaves of terms that cancel is 0 to a reader."""
    return claimed_digits(0.0 if abs(value) < 1e-12 else value)
