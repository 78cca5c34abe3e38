"""Worked examples as text: stages as matrices, claims beside what is computed, and a table of verdicts."""

import math
import textwrap
from collections.abc import Iterable, Iterator, Sequence

from rich.cells import cell_len
from torch import Tensor

from pellucid.errors import UsageError
from pellucid.reading.words import visible
from pellucid.seeing.records import Record
from pellucid.seeing.viewed import lines
from pellucid.show.code_lines import code_line
from pellucid.show.columns import BLOCKS, layout, paragraph
from pellucid.worked.check import Cell, Report
from pellucid.worked.examples import Example
from pellucid.worked.stages import STAGES, size
from pellucid.worked.worked_example import WorkedAttention, WorkedExample

Row = tuple[str, list[str]]  # a label, cells
NOTES = ("the notes say", "from their previous line", "from the start", "verdict")
OWN = ("claimed", "from the line before", "from the start", "verdict")
ROWS = {"inputs": "L", "sublayer": "L", "w_embedding": "L", "memory": "M"}  # the axis whose tokens label rows
VERDICTS = {"right": "right", "follows": "follow", "wrong": "wrong", "not derivable": "not derivable"}
HEADINGS = ("line", "example", "stage", "row, column", "claimed", *OWN[1:], "why")
LINK = "../pellucid/worked/examples/{}.toml"  # from a page in docs/
WIDE = 1000  # a line for each cell, however narrow the terminal


@lines.register
def example_lines(example: Example, width: int = 80, stage: str | None = None) -> list[str]:
    """Show the inputs, every stage, and each claim with both computed numbers and the verdict; or one stage.

    A stage with the numbers of the one before is only named.
    """
    worked = example.worked()
    report = None if example.is_part else example.report()
    if stage is not None:
        return _one_stage(example, worked, report, stage, width)
    text = paragraph(f"{example.name}: {example.about}" if example.about else example.name, width)
    text += [f"note {example.note}, lines {example.lines}"] if example.note else []
    text.append("")
    for name, matrix in worked.given.items():
        if name not in worked:
            text += [f"{_title(example, name)}  ({size(matrix)})"]
            for head, each in enumerate(matrix if matrix.dim() == 3 else [matrix]):
                text += [f"  head {head}"] if matrix.dim() == 3 else []
                text += _matrix(given_rows(worked, name, each), [], width)
            text.append("")
    for name in worked:
        before = None if name in {*example.at, *example.claims} else _same_before(worked, name)
        if before:
            text += [f"{_title(example, name)}  {worked.shapes[name]}: the numbers of {before}", ""]
        else:
            text += _titled(example, worked, report, name, width)
    for each in example.products:
        text.append(f"{each.written}  {f'[line {each.lines}]  ' if each.lines else ''}{each}")
    text += [""] if example.products else []
    if report and example.claims:
        text += paragraph(first_wrong(report), width) if report.first_wrong else []
        text.append(summary(report))
    return text


def _one_stage(
    example: Example, worked: WorkedExample, report: Report | None, stage: str, width: int
) -> list[str]:
    """Show one stage alone: what goes in, or what is computed."""
    if stage in worked:
        return _titled(example, worked, report, stage, width)[:-1]
    if stage in worked.given:
        matrix = worked.given[stage]
        each = matrix if matrix.dim() == 3 else matrix[None]
        rows = [list(_matrix(given_rows(worked, stage, one), [], width)) for one in each]
        return [f"{_title(example, stage)}  ({size(matrix)})", *(line for head in rows for line in head)]
    raise UsageError(worked.no_such(stage))


def _titled(
    example: Example, worked: WorkedExample, report: Report | None, name: str, width: int
) -> list[str]:
    at = f"  [line {example.at[name]}]" if name in example.at else ""
    title = f"{_title(example, name)}  {worked.shapes[name]}{at}"
    return [title, *_stage(worked, name, width, report, NOTES if example.note else OWN)]


def _same_before(worked: WorkedExample, name: str) -> str | None:
    """Return the stage before, if this one has its numbers: nothing was divided or masked."""
    names = list(worked)
    before = {"scaled_scores": "scores", "masked_scores": "scaled_scores", "concatenated": "context"}.get(
        name
    )
    if before not in names:
        return None
    ours, theirs = worked[name].tensor.squeeze(), worked[before].tensor.squeeze()
    return before if ours.shape == theirs.shape and bool(ours.equal(theirs)) else None


@lines.register
def worked_lines(worked: WorkedExample, width: int = 80) -> list[str]:
    """Show every stage with its shape."""
    text = []
    for name in worked:
        text += [f"{name}  {worked.shapes[name]}", *_stage(worked, name, width)]
    return text


@lines.register
def report_lines(report: Report, width: int = WIDE, says_first: bool = True) -> list[str]:
    """Show a line for each cell: claimed, from the line before, from the start, verdict, reason. Below
    them name the first stage that goes wrong, unless finding it is an exercise."""
    text: list[str] = []
    for name in dict.fromkeys(cell.name for cell in report.cells):
        cells = [cell for cell in report.cells if cell.name == name]
        has_heads = any(cell.head for cell in cells)
        rows = [
            [
                *([str(cell.head)] if has_heads else []),
                *(str(cell.row), str(cell.column), cell.written),
                *map(show_number, (cell.step, cell.start)),
            ]
            for cell in cells
        ]
        header = [*(["head"] if has_heads else []), "row", "column", *OWN[:3]]
        laid = layout([header, *rows], WIDE, left=0, longest=WIDE)
        first, *below = ["  ".join(cell for _, _, cell in line).rstrip() for line in laid]
        text += [f"{name}  {report.shapes.get(name, '')}".rstrip(), f"  {first}  verdict"]
        for cell, line in zip(cells, below, strict=True):
            text += [f"  {line}  {cell.verdict}", *([f"      {why}"] if (why := _why(cell)) else [])]
        text.append("")
    first_sentence = [visible(first_wrong(report))] if says_first and report.first_wrong else []
    return [*text, *first_sentence, summary(report)]


def verdict_table(examples: Iterable[Example]) -> list[str]:
    """Return all claims about a note as a Markdown table, in the order of its lines."""
    rows: list[tuple[int, str]] = []
    for example in examples:
        for cell in example.report().cells:
            line = example.at.get(cell.name, "")
            place = f"{f'head {cell.head}: ' if cell.head else ''}{cell.row}, {cell.column}"
            texts = [line, f"[{example.name}]({LINK.format(example.name)})", cell.name, place, cell.written]
            texts += [show_number(cell.step), show_number(cell.start), cell.verdict, _why(cell)]
            rows.append((int(line or 0), f"| {' | '.join(texts)} |".replace("|  |", "| |")))
    body = [row for _, row in sorted(rows, key=lambda numbered: numbered[0])]
    return [f"| {' | '.join(HEADINGS)} |", "|---" * len(HEADINGS) + "|", *body]


def first_wrong(report: Report) -> str:
    """Name the first stage that goes wrong, a cell of it with both numbers, and why; "" where none does."""
    cell = report.first_wrong
    if cell is None:
        return ""
    here = sum(each.name == cell.name and each.verdict == "wrong" for each in report.cells)
    count = "one cell is" if here == 1 else f"{here} cells are"
    sentence = f"The first stage that goes wrong is {cell.name}, where {count} wrong"
    computed = cell.start if cell.step is None else cell.step
    if computed is None:
        return f"{sentence}: {_why(cell)}."
    places = [f"head {cell.head}"] if len(report.starts[cell.name]) > 1 else []
    axes = STAGES[cell.name][-2:]
    for kind, place, axis in zip(("row", "column"), (cell.row, cell.column), axes, strict=True):
        word = f" ({report.tokens[axis][place]})" if axis in report.tokens else ""
        places.append(f"{kind} {place}{word}")
    where = ", ".join(places)
    why = f": {_why(cell)}" if _why(cell) else ""
    claims = f"claims {cell.written}, and {show_number(computed)} is computed{why}"
    return f"{sentence}. {where[0].upper()}{where[1:]} {claims}."


def summary(report: Report) -> str:
    """Count the verdicts: "12 cells: 7 right, 2 follow, 3 wrong"."""
    counts = [f"{report.count(each)} {word}" for each, word in VERDICTS.items() if report.count(each)]
    return f"{len(report.cells)} cells{': ' if counts else ''}{', '.join(counts)}"


def given_rows(worked: WorkedExample, name: str, matrix: Tensor) -> list[Row]:
    """Return the rows of an input matrix, labelled by words or by numbers; a vector has no label."""
    labels = [str(row) for row in range(len(matrix))]
    if name in ROWS:
        found = (record.labels(ROWS[name]) for record in worked.values() if ROWS[name] in record.axes)
        labels = next((each for each in found if len(each) == len(matrix)), labels)
    if isinstance(worked, WorkedAttention):
        return [(label, _numbers(name, row)) for label, row in zip(labels, matrix, strict=True)]
    numbers = [[f"{number:g}".replace("-", "−") for number in row] for row in matrix.tolist()]
    return list(zip(labels if len(matrix) > 1 else [""], numbers, strict=True))


def stage_rows(record: Record) -> list[list[Row]]:
    """Return the rows of a stage, for each head."""
    axes = record.axes.lstrip("B")
    heads = record.tensor[0] if record.axes.startswith("B") else record.tensor
    heads = heads if axes.startswith("H") else heads[None]
    rows = record.labels(axes.lstrip("H")[0])
    return [
        [(label, _numbers(record.name, row)) for label, row in zip(rows, matrix, strict=True)]
        for matrix in (heads if heads.dim() == 3 else heads[..., None])
    ]


def show_number(value: float | None) -> str:
    """Write a number as tables have it: 0.2120, −∞, and ? for what is not known."""
    if value is None or math.isnan(value):
        return "?"
    if math.isinf(value):
        return "∞" if value > 0 else "−∞"
    if value == 0:
        return "0"
    small_or_large = not 5e-4 <= abs(value) < 1e6
    return f"{value:{'.3g' if small_or_large else 'z.4f'}}".replace("-", "−")


def _why(cell: Cell) -> str:
    return cell.rule or cell.remark or ""


def _title(example: Example, name: str) -> str:
    return f"{name} ({example.called[name]})" if name in example.called else name


def _stage(
    worked: WorkedExample, name: str, width: int, report: Report | None = None, kinds: Sequence[str] = OWN
) -> Iterator[str]:
    """Yield the line of our code and the matrix of each head; claims stand beside what is computed."""
    record, code = worked[name], code_line(name)
    if code and name not in worked.given:
        yield from textwrap.wrap(f"{code}", width, initial_indent="  | ", subsequent_indent="  |     ")
    heads, last = stage_rows(record), record.axes[-1]
    titles = record.labels(last) if last in "LM" and record.tensor.dim() > 2 else [""] * len(heads[0][0][1])
    for head, rows in enumerate(heads):
        if len(heads) > 1:
            yield f"  head {head}"
        labels = [label for label, _ in rows]
        yield from _matrix(
            list(_judged(name, head, labels, report, kinds)) if report else rows, titles, width
        )
    if name == "weights" and bool((record.tensor.sum(-1) == 0).any()):
        yield "  A row of −∞ alone has no softmax, which would be 0 / 0. Here its weights are 0,"
        yield "  and so is its context: it looks at nothing."
    yield ""


def _judged(
    name: str, head: int, labels: Sequence[str], report: Report, kinds: Sequence[str]
) -> Iterator[Row]:
    """Yield the rows of a stage, with up to four lines each, and the reasons of the verdicts."""
    step, start = report.steps[name][head], report.starts[name][head]
    claims = {(c.row, c.column): c for c in report.cells if c.name == name and c.head == head}
    for row, label in enumerate(labels):
        here = [claims.get((row, column)) for column in range(step.shape[1])]
        computed = [_numbers(name, step[row]), _numbers(name, start[row])]
        cells = [computed[0]] if computed[0] == computed[1] else computed
        names = [""] if len(cells) == 1 else kinds[1:3]
        if any(here):
            claimed = [cell.written if cell else "…" for cell in here]
            cells, names = [claimed, *computed, [cell.verdict if cell else "" for cell in here]], kinds
        for place, (kind, numbers) in enumerate(zip(names, cells, strict=True)):
            shown = visible(label if place == 0 else "")
            yield f"{shown:<8}{kind}" if kind else shown, numbers
        for why in dict.fromkeys(_why(cell) for cell in here if cell):
            if why:
                yield f"! {why}", []


def _numbers(name: str, numbers: Tensor) -> list[str]:
    """Write numbers with four decimals; 0 for what float64 leaves of terms that cancel."""
    values = [0.0 if abs(value) < 1e-12 else value for value in numbers.tolist()]
    shown = [show_number(value) for value in values]
    if name == "mask":
        return [text.removesuffix(".0000") for text in shown]
    if name != "weights":
        return shown
    shares = ["" if math.isnan(value) else BLOCKS[round(4 * min(max(value, 0.0), 1.0))] for value in values]
    return [text + share for text, share in zip(shown, shares, strict=True)]


def _matrix(rows: Sequence[Row], titles: Sequence[str], width: int) -> Iterator[str]:
    """Yield the rows below each other; columns that have no room go below."""
    if all(cell == "?" for _, cells in rows for cell in cells):
        yield "  not known"
        return
    names = [visible(title) for title in titles]
    first = max(cell_len(label) for label, cells in rows if cells)
    count = max(len(cells) for _, cells in rows)
    needed = max(map(cell_len, [*names, *(cell for _, cells in rows for cell in cells)]))
    together = max(1, (width - 2 - first) // (needed + 2))
    for begin in range(0, count, together):
        for label, cells in [("", names), *rows] if any(names) else rows:
            here = "".join(f"  {' ' * (needed - cell_len(cell))}{cell}" for cell in cells[begin:][:together])
            if cells:
                yield f"  {label}{' ' * (first - cell_len(label))}{here}".rstrip()
            elif begin + together >= count:
                yield from (f"    {line}" for line in paragraph(label, width - 4))
