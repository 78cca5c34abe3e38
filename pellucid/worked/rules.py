"""Rules that true numbers keep, whatever was rounded: each says why a claim cannot be right.

A rule counts as broken only beyond the slack that rounding leaves, half a unit of each printed number.
"""

import math
from collections.abc import Iterator, Mapping

import torch
from torch import Tensor

from pellucid.worked.claims import EXACT
from pellucid.worked.rounding import Line, softmax_bounds

Cell = tuple[int, int, int]  # head, row, column


def broken(name: str, lines: Mapping[str, Line]) -> dict[Cell, list[str]]:
    """The rules that the claimed line `name` breaks, by cell."""
    found: dict[Cell, list[str]] = {}
    rules = _of_weights(lines) if name == "weights" else ()
    if name == "masked_scores" and "scaled_scores" in lines and "mask" in lines:
        rules = _of_masked_scores(lines)
    if name in ("context", "concatenated") and "values" in lines:
        rules = _of_context(_by_heads(lines[name], len(lines["values"].numbers)), lines)
    for (head, row, column), rule in rules:
        # Side by side, the columns of the second head come after those of the first.
        width = lines["values"].numbers.shape[-1] if name == "concatenated" else 0
        cell = (0, row, head * width + column) if name == "concatenated" else (head, row, column)
        if rule not in found.setdefault(cell, []):
            found[cell].append(rule)
    return found


def _of_masked_scores(lines: Mapping[str, Line]) -> Iterator[tuple[Cell, str]]:
    mask, before, after = lines["mask"].numbers, lines["scaled_scores"], lines["masked_scores"]
    hidden = after.numbers == -math.inf
    is_left = (mask == -math.inf) & ~hidden & ~after.numbers.isnan()
    is_off = (after.numbers - before.numbers).abs() > after.halves + before.halves + EXACT
    if before.is_written is not None:
        is_off &= before.is_written  # a score that stands nowhere may have been computed wrongly instead
    is_changed = (mask == 0) & (hidden & (before.numbers != -math.inf) | ~hidden & is_off)
    for is_broken, rule in (
        (is_left, "a masked score is −∞"),
        (is_changed, "a score that may be looked at stays as it is"),
    ):
        for head, row, column in is_broken.nonzero().tolist():
            yield (head, row, column), rule


def _of_weights(lines: Mapping[str, Line]) -> Iterator[tuple[Cell, str]]:
    weights = lines["weights"]
    scores = lines.get("masked_scores")
    for head, rows in enumerate(weights.numbers):
        for row, numbers in enumerate(rows):
            halves = weights.halves[head, row]
            cells: list[Cell] = [(head, row, column) for column in range(len(numbers))]
            if abs(numbers.sum() - 1) > halves.sum() + EXACT:
                rule = f"a row of weights sums to 1, this one to {_six_digits(numbers.sum())}"
                yield from ((cell, rule) for cell in cells)
            if scores is not None:
                yield from _against_scores(cells, numbers, halves, scores)
                yield from _equal_rows(cells, weights, scores)


def _against_scores(
    cells: list[Cell], numbers: Tensor, halves: Tensor, scores: Line
) -> Iterator[tuple[Cell, str]]:
    head, row, _ = cells[0]
    asked, moved = scores.numbers[head, row], scores.halves[head, row]
    for cell in cells:
        if asked[cell[2]] == -math.inf and numbers[cell[2]] != 0:
            yield cell, "masked weights are exactly 0"
    is_closed = torch.zeros_like(numbers, dtype=torch.bool)
    if not bool(asked.isnan().any()):
        lowest, _ = softmax_bounds(asked, moved)
        is_closed = (numbers == 0) & (asked != -math.inf) & (lowest > halves + EXACT)
    for column in is_closed.nonzero()[:, 0].tolist():
        yield cells[column], "an open cell has a weight above 0"
    larger = asked[:, None] - asked[None, :] > moved[:, None] + moved[None, :] + EXACT
    smaller = numbers[None, :] - numbers[:, None] > halves[:, None] + halves[None, :] + EXACT
    is_broken = larger & smaller & (asked[None, :] != -math.inf) & ~is_closed[:, None]
    for column in (is_broken.any(0) | is_broken.any(1)).nonzero()[:, 0].tolist():
        yield cells[column], "a larger score never has a smaller weight"


def _equal_rows(cells: list[Cell], weights: Line, scores: Line) -> Iterator[tuple[Cell, str]]:
    """Rows whose scores differ by one number throughout have the same weights."""
    head, row, _ = cells[0]
    asked = scores.numbers[head]
    for other in range(len(asked)):
        seen = asked[row] != -math.inf
        if other == row or not bool(seen.any()) or not bool((seen == (asked[other] != -math.inf)).all()):
            continue
        shift = (asked[row] - asked[other])[seen]
        if not float(shift.max() - shift.min()) <= EXACT:  # false for NaN too
            continue
        half = scores.halves[head, [row, other]].amax()
        lowest, highest = softmax_bounds(asked[row], half.expand(len(asked[row])))
        apart = (weights.numbers[head, row] - weights.numbers[head, other]).abs()
        slack = weights.halves[head, [row, other]].sum(0) + highest - lowest
        for column in (apart > slack + EXACT).nonzero()[:, 0].tolist():
            yield cells[column], "equal score differences give equal rows"


def _of_context(context: Line, lines: Mapping[str, Line]) -> Iterator[tuple[Cell, str]]:
    values = lines["values"]
    scores = lines.get("masked_scores")
    for head, rows in enumerate(context.numbers):
        lowest = values.numbers[head] - values.halves[head]
        highest = values.numbers[head] + values.halves[head]
        for row, numbers in enumerate(rows):
            seen = torch.ones(len(lowest), dtype=torch.bool)
            if scores is not None:
                seen = scores.numbers[head, row] != -math.inf
            if not bool(seen.any()):
                continue
            least, most = lowest[seen].amin(0), highest[seen].amax(0)
            is_first_alone = row == 0 and bool(seen[0]) and int(seen.sum()) == 1 and len(seen) > 1
            for column, claimed in enumerate(numbers):
                slack = context.halves[head, row, column] + EXACT
                if claimed < least[column] - slack or claimed > most[column] + slack:
                    cell = (head, row, column)
                    if is_first_alone:
                        yield cell, "the first row of a causal context is the first value row"
                    low, high = values.numbers[head][seen].amin(0), values.numbers[head][seen].amax(0)
                    span = f"{_six_digits(low[column])} to {_six_digits(high[column])}"
                    yield cell, f"a context lies within the range of its values, here {span}"


def _six_digits(number: Tensor) -> str:
    return f"{float(number):.6g}".replace("-", "−")


def _by_heads(line: Line, heads: int) -> Line:
    """A concatenation as the contexts that it is made of."""
    if len(line.numbers) == heads:
        return line
    parts = [part[0].unflatten(-1, (heads, -1)).transpose(0, 1) for part in (line.numbers, line.halves)]
    return Line(*parts)
