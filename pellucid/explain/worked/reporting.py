"""A report on claims as text: a table of cells for each claimed line."""

import math
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from pellucid.explain.columns import columns
from pellucid.explain.worked.check import VERDICTS, Cell, Report

if TYPE_CHECKING:
    from pellucid.explain.worked.examples import Example

WIDE = 1000  # a line for each cell, however narrow the terminal
BOTH = ("from the line before", "from the start")
COLUMNS = ("line", "example", "stage", "row, column", "claimed", *BOTH, "verdict", "why")
LINK = "../pellucid/explain/worked/examples/{}.toml"  # from a page in docs/


def table(report: Report) -> str:
    """A line for each cell: claimed, from the claimed line before, from the start, verdict, rule."""
    lines: list[str] = []
    for name in dict.fromkeys(cell.name for cell in report.cells):
        cells = [cell for cell in report.cells if cell.name == name]
        lines += [f"{name}  {report.shapes.get(name, '')}".rstrip(), *_rows(cells), ""]
    return "\n".join([*lines, summary(report)])


def summary(report: Report) -> str:
    """12 cells: 7 right, 2 follow, 3 wrong."""
    counts = {verdict: report.count(verdict) for verdict in VERDICTS}
    words = {"follows": "follow"}
    told = [f"{count} {words.get(verdict, verdict)}" for verdict, count in counts.items() if count]
    return f"{len(report.cells)} cells{': ' if told else ''}{', '.join(told)}"


def first_wrong(report: Report) -> str:
    """The first stage that goes wrong, and the rule that it breaks, in one sentence; "" where none does."""
    wrong = [cell for cell in report.cells if cell.verdict == "wrong"]
    if not wrong:
        return ""
    first = wrong[0]
    here = [cell for cell in wrong if cell.name == first.name]
    rules = [cell.rule for cell in here if cell.rule]
    count = "one cell is" if len(here) == 1 else f"{len(here)} cells are"
    computed = claimed_digits(first.start if first.step is None else first.step)
    several = {cell.name for cell in report.cells if cell.head}
    head = f"head {first.head}, " if first.name in several else ""
    place = f"{head}row {first.row}, column {first.column} claims {first.written}, and {computed} is computed"
    why = rules[0] if rules else place
    return f"The first stage that goes wrong is {first.name}, where {count} wrong: {why}."


def _rows(cells: list[Cell]) -> Iterator[str]:
    places = ["head", "row", "column"] if any(cell.head for cell in cells) else ["row", "column"]
    rows = [
        [
            *(str(getattr(cell, place)) for place in places),
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
            place = f"{f'head {cell.head}: ' if cell.head else ''}{cell.row}, {cell.column}"
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
