"""Worked examples as a page carries them: the tables of their TOML files, in JSON."""

import math
from typing import Any

import numpy as np
from torch import Tensor

from pellucid.worked.examples import SETTINGS, Example, example, names

# A table: {"name", "about", "note", "lines", "heads", "scale", "mask", "tokens", "memory_tokens", "decimals",
# "given": {matrix: rows}, "claims": {stage: rows}, "at", "called", "products": [{"written", "lines", "left",
# "right"}]}, each only where the example has it. What is not known is "…", an infinite number "-inf"; a
# claimed number that is no text is {"unquoted": "0.4"}, as Python writes it, for its digits count.


def examples_payload() -> list[dict[str, Any]]:
    """Every example that comes with the package."""
    return [as_table(example(name)) for name in names()]


def as_table(of: Example) -> dict[str, Any]:
    """An example as the table of its TOML file."""
    table: dict[str, Any] = {"name": of.name}
    for key in ("about", "note", "lines"):
        if value := getattr(of, key):
            table[key] = value
    if of.decimals is not None:
        table["decimals"] = of.decimals
    given: dict[str, Any] = {}
    for name, value in of.arguments.items():
        if value is None and name != "scale":
            continue
        (table if name in SETTINGS else given)[name] = "none" if value is None else _given(value)
    table["given"] = given
    if of.claims:
        table["claims"] = {name: _claimed(matrix) for name, matrix in of.claims.items()}
    for key in ("at", "called"):
        if getattr(of, key):
            table[key] = dict(getattr(of, key))
    if of.products:
        table["products"] = [
            {"written": each.written, "lines": each.lines, "left": list(each.left), "right": list(each.right)}
            for each in of.products
        ]
    return table


def _given(value: Any) -> Any:
    """Numbers as they are; those that JSON does not have, as text."""
    plain = _plain(value)
    if isinstance(plain, list):
        return [_given(part) for part in plain]
    if isinstance(plain, float) and not math.isfinite(plain):
        return "…" if math.isnan(plain) else "inf" if plain > 0 else "-inf"
    return plain


def _claimed(value: Any) -> Any:
    """As written; a float32's own digits are fewer than those of the float that it becomes."""
    if isinstance(value, Tensor):
        value = value.detach().cpu().tolist()
    if isinstance(value, list | tuple | np.ndarray):
        return [_claimed(part) for part in value]
    if value is None:
        return "…"
    return value if isinstance(value, str) else {"unquoted": str(value)}


def _plain(value: Any) -> Any:
    """Lists of Python's own numbers."""
    if isinstance(value, Tensor):
        return value.detach().cpu().tolist()
    if isinstance(value, np.ndarray | np.generic):
        return value.tolist()
    return [_plain(part) for part in value] if isinstance(value, list | tuple) else value
