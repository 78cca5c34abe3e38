"""Worked examples as text: stages as matrices, and claims beside the computed numbers."""

import math
from collections.abc import Sequence

from torch import Tensor

from pellucid.seeing.records import Record, UnknownTensor, no_such_name
from pellucid.show.code_lines import code_line
from pellucid.show.tables import Cell, Note, Part, Table, view
from pellucid.worked import check
from pellucid.worked.check import Report
from pellucid.worked.examples import Example
from pellucid.worked.stages import STAGES, size
from pellucid.worked.worked_example import WorkedExample

NOTES = ("the notes say", "from their previous line", "from the start", "verdict")
OWN = ("claimed", "from the line before", "from the start", "verdict")
NOT_JUDGED = (
    "Claims about embeddings, Add & Norm and a feed-forward are judged on the page alone: --html FILE."
)
VERDICTS = {"right": "right", "follows": "follow", "wrong": "wrong", "not derivable": "not derivable"}


@view(Example)
def example_parts(example: Example, width: int, stage: str | None = None) -> list[Part]:
    """Show the inputs, every stage, and each claim beside the two computed numbers and its verdict. With
    `stage`, show that stage alone."""
    worked = example.worked()
    report = None if example.is_part else example.report()
    sections: dict[str, list[Part]] = {}
    for name in [*(name for name in worked.given if name not in worked), *worked]:
        called = f" ({example.called[name]})" if name in example.called else ""
        shape = worked.shapes[name] if name in worked else f"({size(worked.given[name].tensor)})"
        at = f"  [line {example.at[name]}]" if name in example.at else ""
        kinds = NOTES if example.note else OWN
        own = report if report and _fits(report, name) else None
        sections[name] = [f"{name}{called}  {shape}{at}", *_stage(worked, name, own, kinds)]
        if report and not own:  # the matrix has no room for the claims: they are a table of their own
            sections[name] += ["", _table_of(report, name)]
    if report:
        unplaced = dict.fromkeys(cell.name for cell in report.cells if cell.name not in sections)
        sections |= {name: [name, _table_of(report, name)] for name in unplaced}
    if stage is not None:
        if stage not in sections:
            raise UnknownTensor(no_such_name(stage, sections))
        return sections[stage]
    parts: list[Part] = [f"{example.name}: {example.about}" if example.about else example.name]
    parts += [f"note {example.note}, lines {example.lines}"] if example.note else []
    parts += [part for section in sections.values() for part in ("", *section)]
    parts += [""] if example.products else []
    for each in example.products:
        parts.append(f"{each.written}  {f'[line {each.lines}]  ' if each.lines else ''}{each}")
    if example.claims and example.is_part:
        return [*parts, "", NOT_JUDGED]
    return [*parts, "", *_sum_up(report)] if report and example.claims else parts


@view(WorkedExample)
def worked_parts(worked: WorkedExample, width: int) -> list[Part]:
    """Show every stage with its shape."""
    return [part for name in worked for part in (f"{name}  {worked.shapes[name]}", *_stage(worked, name), "")]


@view(Report)
def report_parts(report: Report, width: int, says_first: bool = True) -> list[Part]:
    """Show a row for each claimed cell: the claim, the numbers computed from the line before and from the
    start, the verdict and the reason. With `says_first`, name the first stage that goes wrong."""
    parts: list[Part] = []
    for name in dict.fromkeys(cell.name for cell in report.cells):
        parts += [f"{name}  {report.shapes.get(name, '')}".rstrip(), _table_of(report, name), ""]
    return [*parts, *(_sum_up(report) if says_first else [summary(report)])]


def _table_of(report: Report, name: str) -> Table:
    """Make a row for each claimed cell of a stage."""
    cells = [cell for cell in report.cells if cell.name == name]
    rows = []
    for cell in cells:
        numbers = show_number(cell.step), show_number(cell.start)
        rows.append([cell.head, cell.row, cell.column, cell.written, *numbers, cell.verdict, _why(cell)])
    first = 0 if any(cell.head for cell in cells) else 1
    header = ["head", "row", "column", *OWN, "why"][first:]
    return Table(header, [row[first:] for row in rows], left=len(header), longest=1000)


def _fits(report: Report, name: str) -> bool:
    """Tell whether every claimed cell of a stage has a place in its computed matrix."""
    rows, columns = report.starts[name].shape[-2:] if name in report.starts else (0, 0)
    return all(cell.row < rows and cell.column < columns for cell in report.cells if cell.name == name)


def first_wrong(report: Report) -> str:
    """Say which stage goes wrong first: its name, a wrong cell with the claimed and the computed number, and
    the reason. Return "" if no cell is wrong."""
    cell = report.first_wrong
    if cell is None:
        return ""
    here = sum(each.name == cell.name and each.verdict == "wrong" for each in report.cells)
    count = "one cell is" if here == 1 else f"{here} cells are"
    sentence = f"The first stage that goes wrong is {cell.name}, where {count} wrong"
    computed = cell.start if cell.step is None else cell.step
    if computed is None:
        return f"{sentence}: {_why(cell)}."
    where = f"head {cell.head}, " if len(report.starts[cell.name]) > 1 else ""
    places = zip(("row", "column"), (cell.row, cell.column), STAGES[cell.name][-2:], strict=True)
    where += ", ".join(
        f"{kind} {place}{f' ({report.tokens[axis][place]})' if axis in report.tokens else ''}"
        for kind, place, axis in places
    )
    why = f": {_why(cell)}" if _why(cell) else ""
    claims = f"claims {cell.written}, and {show_number(computed)} is computed{why}"
    return f"{sentence}. {where[0].upper()}{where[1:]} {claims}."


def summary(report: Report) -> str:
    """Count the verdicts: "12 cells: 7 right, 2 follow, 3 wrong"."""
    counts = [f"{report.count(each)} {word}" for each, word in VERDICTS.items() if report.count(each)]
    cells = "1 cell" if len(report.cells) == 1 else f"{len(report.cells)} cells"
    return f"{cells}{': ' if counts else ''}{', '.join(counts)}"


def show_number(value: float | None) -> str:
    """Write a number as in tables: 0.2120, −∞, and ? for an unknown number."""
    if value is None or math.isnan(value):
        return "?"
    if math.isinf(value):
        return "∞" if value > 0 else "−∞"
    if abs(value) < 1e-12:  # what float64 leaves of terms that cancel
        return "0"
    small_or_large = not 5e-4 <= abs(value) < 1e6
    return f"{value:{'.3g' if small_or_large else 'z.4f'}}".replace("-", "−")


def _sum_up(report: Report) -> list[Part]:
    return [*([first_wrong(report)] if report.first_wrong else []), summary(report)]


def _why(cell: check.Cell) -> str:
    return cell.rule or cell.remark or ""


def _stage(
    worked: WorkedExample, name: str, report: Report | None = None, kinds: Sequence[str] = OWN
) -> list[Part]:
    """Show a stage: the line of code that computes it, and the matrix of each head, beside the claims about
    it if there is a report."""
    code = None if name in worked.given else code_line(name)
    parts: list[Part] = [Note(str(code), "code")] if code else []
    record = worked[name] if name in worked else worked.given[name]
    for head, matrix in enumerate(record.matrices):
        parts += [f"head {head}"] if len(record.matrices) > 1 else []
        claimed = report is not None and name in worked
        parts += _claims(report, record, head, kinds) if report and claimed else _matrix(record, matrix)
    return parts


def _matrix(record: Record, matrix: Tensor) -> list[Part]:
    """Show a matrix with labels for its rows, and for columns that are words; "not known" if all is NaN."""
    if bool(matrix.isnan().all()):
        return ["not known"]
    rows = zip(record.labels(record.sides[0]), matrix, strict=True)
    body = [[label, *_cells(record.name, row)] for label, row in rows]
    return [Table(["", *_titles(record, matrix.shape[1])], body)]


def _claims(report: Report, record: Record, head: int, kinds: Sequence[str]) -> list[Part]:
    """Show each row of a head in up to four lines (the claim, the number from the line before, from the
    start, the verdict), and below them the reasons."""
    name = record.name
    step, start = report.steps[name][head], report.starts[name][head]
    claims = {
        (cell.row, cell.column): cell for cell in report.cells if (cell.name, cell.head) == (name, head)
    }
    if not claims and bool(step.isnan().all()):
        return ["not known"]
    rows: list[list[str | Cell]] = []
    reasons: list[Part] = []
    for row, label in enumerate(record.labels(record.sides[0])):
        here = [claims.get((row, column)) for column in range(step.shape[1])]
        computed = [_cells(name, step[row]), _cells(name, start[row])]
        lines: dict[str, Sequence[str | Cell]] = dict(zip(kinds[1:3], computed, strict=True))
        if any(here):
            claimed = [cell.written if cell else "…" for cell in here]
            lines = {kinds[0]: claimed, **lines, kinds[3]: [cell.verdict if cell else "" for cell in here]}
        elif computed[0] == computed[1]:
            lines = {"": computed[0]}
        rows += [[label if not place else "", kind, *lines[kind]] for place, kind in enumerate(lines)]
        reasons += [f"! {label}: {why}" for why in dict.fromkeys(_why(cell) for cell in here if cell) if why]
    left = 2 if any(row[1] for row in rows) else 1
    titles = ["", "", *_titles(record, step.shape[1])]
    return [Table(titles[2 - left :], [[row[0], *row[3 - left :]] for row in rows], left), *reasons]


def _titles(record: Record, count: int) -> list[str]:
    """Return the words of the columns, or empty strings if the columns are not words."""
    axis = record.axes[-1]
    return record.labels(axis) if axis in "LM" and record.tensor.dim() > 1 and count > 1 else [""] * count


def _cells(name: str, numbers: Tensor) -> list[str | Cell]:
    """Return numbers as cells with four decimals. Weights also get a shade; whole numbers in masks, ids and
    one-hot rows have no decimals."""
    texts = [show_number(value) for value in numbers.tolist()]
    if name in ("mask", "ids", "one_hot"):
        return [text.removesuffix(".0000") for text in texts]
    if name == "weights":
        return [Cell(text, share) for text, share in zip(texts, numbers.tolist(), strict=True)]
    return list(texts)
