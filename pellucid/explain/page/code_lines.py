"""The line of our code that computes a tensor, found by reading the source for where it is seen."""

import inspect
import re
from collections.abc import Iterable
from functools import cache
from typing import Any

from pellucid import model

# The class or function that shows the tensors of a kind of part.
OWNERS = {
    "attention": ("Attention", "attend"),
    "feed_forward": ("FeedForward",),
    "residual": ("Residual",),
    "norm": ("Norm",),
    "encoder": ("Encoder", "embed"),
    "decoder": ("Decoder", "embed"),
}
FILE = "pellucid/model.py"


def kind_of(name: str) -> str:
    """What tensors of the same kind have in common: "attention.weights", "residual.sum"."""
    path, _, last = name.rpartition(".")
    part = path.rpartition(".")[2]
    return f"{'attention' if part.endswith('_attention') else re.sub('_[0-9]+$', '', part)}.{last}"


def code_lines(names: Iterable[str]) -> dict[str, dict[str, Any]]:
    """For each kind of these tensors: its file, the number of the line, and what stands there."""
    kinds = dict.fromkeys(map(kind_of, names))
    return {kind: found for kind in kinds if (found := _line(*kind.split(".")))}


def _line(part: str, last: str) -> dict[str, Any] | None:
    """The statement that shows the tensor, on one line."""
    for owner in OWNERS[part]:
        lines, first = _source(owner)
        for number, line in enumerate(lines):
            if re.search(rf'see\("{last}_[A-Z]+"', line) or (
                re.fullmatch(rf'\s*"{last}_[A-Z]+",.*\n?', line) and "see(" in lines[number - 1]
            ):
                return {"file": FILE, "line": first + number, "text": _statement(lines, number)}
    return None


def _statement(lines: list[str], number: int) -> str:
    """The whole statement that a line belongs to: its brackets closed."""
    start = number
    while start and "see(" not in lines[start]:
        start -= 1
    text = ""
    for line in lines[start:]:
        text += " " + line.strip()
        if text.count("(") == text.count(")"):
            break
    return text.strip().replace("( ", "(").replace(" )", ")")


@cache
def _source(owner: str) -> tuple[list[str], int]:
    return inspect.getsourcelines(getattr(model, owner))
