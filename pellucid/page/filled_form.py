"""An example as the page has it: what is told of it, and the texts of the form's fields with its numbers."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from torch import Tensor

from pellucid.page.own_form import FIRST, about, form_table, listed
from pellucid.reading.tensors import describe
from pellucid.worked.attention import attention
from pellucid.worked.claims import LEFT_OUT
from pellucid.worked.examples import Example
from pellucid.worked.parts import PART_MATRICES, PART_STAGES
from pellucid.worked.slips import slip_table
from pellucid.worked.stages import STAGES, Start


def own_payload(first: Example | None = None) -> dict[str, Any]:
    """Return what the script needs to work out one's own matrices; `first` is what it begins with."""
    stages = STAGES | {name: describe(name).axes for name in PART_STAGES}
    examples = [as_filled(each) for each in listed(first)]
    return {
        "starts": form_table()["starts"],
        "fields": form_table()["fields"],
        "first": first.name if first else FIRST,
        "examples": examples,
        "slips": slip_table(),
        "stages": stages,
    }


def as_filled(of: Example) -> dict[str, Any]:
    """Return what the page tells of an example, and the form with its numbers filled in."""
    return {
        "name": of.name,
        "about": about(of),
        "at": dict(of.at),
        "called": dict(of.called),
        "form": as_form(of),
    }


def as_form(of: Example) -> dict[str, str]:
    """Return an example as the texts of the form's fields, by their names."""
    settings = of.arguments
    start = None if of.is_part else attention(**settings).start
    arrays = start.arrays if start else {name: settings[name] for name in PART_MATRICES if name in settings}
    given = {name: matrix for name, matrix in arrays.items() if name != "mask"}
    ways = form_table()["starts"].items()
    numbers = {key: settings.get(key) for key in ("heads", "vocabulary")} | {"decimals": of.decimals}
    return {
        "name": of.name,
        "start": next((name for name, way in ways if given.keys() <= set(way["fields"])), "anything"),
        "scaled": "true" if settings.get("scaled") else "false",
        **{name: _matrix_text(matrix) for name, matrix in given.items()},
        **{f"claims.{stage}": _matrix_text(matrix, exactly=True) for stage, matrix in of.claims.items()},
        **{key: _words_text(settings[key]) for key in ("tokens", "memory_tokens") if settings.get(key)},
        **{key: str(number) for key, number in numbers.items() if number is not None},
        **(_scaling_and_mask(start, settings.get("scale", "sqrt_dk")) if start else {}),
    }


def _scaling_and_mask(start: Start, scale: str | float | None) -> dict[str, str]:
    form = {"masking": "none", "scaling": "number"}
    if isinstance(scale, str | None):
        form["scaling"] = scale or "none"
    else:
        form["scale"] = _number_text(float(scale))
    if start.causal:
        form["masking"] = "causal"
    elif "mask" in start.arrays:
        form |= {"masking": "own", "mask": _matrix_text(start.arrays["mask"])}
    return form


def _matrix_text(matrix: Any, exactly: bool = False) -> str:
    """Write rows on lines, heads apart by an empty line; `exactly` keeps every digit, as claims need."""
    rows = matrix.tolist() if isinstance(matrix, Tensor | np.ndarray) else matrix
    rows = rows if isinstance(rows[0], list | tuple) else [rows]
    if isinstance(rows[0][0], list | tuple):
        return "\n\n".join(_matrix_text(head, exactly) for head in rows)
    cells = [[str(cell) if exactly else _number_text(cell) for cell in row] for row in rows]
    if all(cell in LEFT_OUT for row in cells for cell in row):
        return f"… {len(cells)}×{len(cells[0])}"
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    return "\n".join("  ".join(map(str.rjust, row, widths)) for row in cells)


def _number_text(number: float | str) -> str:
    return "…" if number != number else str(number).removesuffix(".0")


def _words_text(words: Sequence[str]) -> str:
    """Write words with spaces between them, or with tabs where a word has a space or a comma itself."""
    return ("\t" if any({" ", ","} & set(word) for word in words) else " ").join(words)
