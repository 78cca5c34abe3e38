"""A worked example as text for a terminal: its stages as matrices, claims beside what is computed."""

import math
import textwrap
from collections.abc import Iterator, Mapping, Sequence

from rich.cells import cell_len
from torch import Tensor

from pellucid.reading.words import visible
from pellucid.show.code_lines import code_line
from pellucid.show.columns import BLOCKS, paragraph
from pellucid.worked.check import Report
from pellucid.worked.examples import Example
from pellucid.worked.matrices import matrix_of
from pellucid.worked.part_examples import PartExample, Row, given_rows, stage_rows
from pellucid.worked.reporting import shown_digits, summary
from pellucid.worked.stages import size
from pellucid.worked.worked_example import WorkedExample

GIVEN = {"inputs": "L", "memory": "M", "w_query": "", "w_key": "", "w_value": "", "w_output": ""}
NOTES = ("the notes say", "from their previous line", "from the start", "verdict")
OWN = ("claimed", "from the line before", "from the start", "verdict")


def example_text(example: Example, width: int = 80) -> Iterator[str]:
    """Lines: what is given, every stage, each claim with both computations and its verdict, its rules."""
    worked = example.worked()
    report = worked.check(example.claims, example.decimals)
    yield from paragraph(f"{example.name}: {example.about}" if example.about else example.name, width)
    if example.note:
        yield f"note {example.note}, lines {example.lines}"
    yield ""
    yield from _given(example, worked, width)
    kinds = NOTES if example.note else OWN
    yield from stages_text(worked, report, example.at, example.called, width, kinds)
    for each in example.products:
        yield f"{each.written}  [line {each.lines}]  {each}" if each.lines else f"{each.written}  {each}"
    if example.products:
        yield ""
    if example.claims:
        yield from paragraph(report.first_wrong, width) if report.first_wrong else []
        yield summary(report)


def part_text(example: PartExample, width: int = 80) -> Iterator[str]:
    """Lines: what is given, and every stage of what stands around an attention."""
    yield from paragraph(f"{example.name}: {example.about}", width)
    yield f"note {example.note}, lines {example.lines}"
    yield ""
    for name, matrix in example.given.items():
        yield f"{name}{_theirs(example.called, name)}  ({size(matrix)})"
        yield from _matrix(given_rows(example, name), [], width)
        yield ""
    for name, shape in example.shapes.items():
        yield f"{name}{_theirs(example.called, name)}  {shape}"
        yield from _code(name, width)
        yield from _matrix(stage_rows(example, name), [], width)
        yield ""


def _theirs(called: Mapping[str, str], name: str) -> str:
    return f" ({called[name]})" if name in called else ""


def stages_text(
    worked: WorkedExample,
    report: Report | None = None,
    at: Mapping[str, str] | None = None,
    called: Mapping[str, str] | None = None,
    width: int = 80,
    kinds: Sequence[str] = OWN,
) -> Iterator[str]:
    """Every stage with its shape: as computed, and where there are claims, as claimed too."""
    for name, record in worked.items():
        line = f"  [line {at[name]}]" if at and name in at else ""
        yield f"{name}{_theirs(called or {}, name)}  {worked.shapes[name]}{line}"
        if name not in worked.given.matrices:
            yield from _code(name, width)
        tensor = record.tensor if "H" in record.axes else record.tensor[:, None]
        rows = record.labels(record.axes[-2])
        columns = record.labels(record.axes[-1]) if record.axes[-1] in ("L", "M") else [""] * tensor.shape[-1]
        for head in range(tensor.shape[1]):
            if tensor.shape[1] > 1:
                yield f"  head {head}"
            if report is None:
                cells = [(rows[row], _numbers(name, tensor[0, head, row])) for row in range(len(rows))]
            else:
                cells = list(_judged(name, head, rows, report, kinds))
            yield from _matrix(cells, columns, width)
        yield ""


def _code(name: str, width: int) -> Iterator[str]:
    """The line of the model's code that computes a stage, and where it stands."""
    if code := code_line(name):
        yield from textwrap.wrap(f"{code}", width, initial_indent="  | ", subsequent_indent="  |     ")


def _judged(
    name: str, head: int, labels: Sequence[str], report: Report, kinds: Sequence[str]
) -> Iterator[Row]:
    """The rows of a stage, with up to four lines each; and the rules that are broken."""
    step, start = report.steps[name][head], report.starts[name][head]
    claims = {(c.row, c.column): c for c in report.cells if c.name == name and c.head == head}
    for row, label in enumerate(labels):
        here = [claims.get((row, column)) for column in range(step.shape[1])]
        if not any(here):
            computed = [_numbers(name, step[row]), _numbers(name, start[row])]
            if computed[0] == computed[1]:
                yield visible(label), computed[0]
                continue
            for place, (kind, numbers) in enumerate(zip(kinds[1:], computed, strict=False)):
                yield _label(label if place == 0 else "", kind), numbers
            continue
        yield _label(label, kinds[0]), [cell.written if cell else "…" for cell in here]
        yield _label("", kinds[1]), _numbers(name, step[row])
        yield _label("", kinds[2]), _numbers(name, start[row])
        yield _label("", kinds[3]), [cell.verdict if cell else "" for cell in here]
        for why in dict.fromkeys(cell.rule or cell.remark for cell in here if cell):
            if why:
                yield f"! {why}", []


def _label(label: str, kind: str) -> str:
    return f"{visible(label):<8}{kind}" if kind else visible(label)


def _given(example: Example, worked: WorkedExample, width: int) -> Iterator[str]:
    """The inputs, the memory and the matrices W, before the stages that they make."""
    for name, axis in GIVEN.items():
        if name not in example.arguments:
            continue
        matrices = matrix_of(name, example.arguments[name])
        matrices = matrices if matrices.dim() == 3 else matrices[None]
        yield f"{name}{_theirs(example.called, name)}  ({size(matrices)})"
        for head, matrix in enumerate(matrices):
            if len(matrices) > 1:
                yield f"  head {head}"
            rows = _labels(worked, axis, len(matrix))
            yield from _matrix([(rows[i], _numbers(name, row)) for i, row in enumerate(matrix)], [], width)
        yield ""


def _labels(worked: WorkedExample, axis: str, length: int) -> list[str]:
    """The tokens along an axis, from whichever stage has it."""
    for record in worked.values():
        if axis and axis in record.axes and len(record.labels(axis)) == length:
            return record.labels(axis)
    return [str(row) for row in range(length)]


def _numbers(name: str, numbers: Tensor) -> list[str]:
    shown = [shown_digits(value) for value in numbers.tolist()]
    if name == "mask":
        return [text.removesuffix(".0000") for text in shown]
    if name != "weights":
        return shown
    shares = [
        "" if math.isnan(value) else BLOCKS[round(4 * min(max(value, 0.0), 1.0))]
        for value in numbers.tolist()
    ]
    return [text + share for text, share in zip(shown, shares, strict=True)]


def _matrix(rows: Sequence[Row], columns: Sequence[str], width: int) -> Iterator[str]:
    """The rows below each other; columns that have no room go below."""
    if all(cell == "?" for _, cells in rows for cell in cells):
        yield "  not known"
        return
    names = [visible(column) for column in columns]
    first = max(cell_len(label) for label, cells in rows if cells)
    count = max(len(cells) for _, cells in rows)
    needed = max([cell_len(cell) for _, cells in rows for cell in cells] + [cell_len(name) for name in names])
    together = max(1, (width - 2 - first) // (needed + 2))
    for begin in range(0, count, together):
        lines = [(" " * first, names)] if any(names) else []
        lines += [
            (label + " " * (first - cell_len(label)) if cells else label, cells) for label, cells in rows
        ]
        for label, cells in lines:
            if cells:
                shown = "".join(_right(cell, needed) for cell in cells[begin : begin + together])
                yield f"  {label}{shown}".rstrip()
            elif begin + together >= count:
                yield from (f"    {line}" for line in paragraph(label, width - 4))


def _right(text: str, width: int) -> str:
    return " " * (2 + width - cell_len(text)) + text
