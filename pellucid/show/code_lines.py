"""Find the line of the model's code that computes a tensor, by the tensor's name."""

import ast
import re
from dataclasses import dataclass
from functools import cache
from inspect import getsource

from pellucid import model
from pellucid.reading.tensors import kind_of

SEEN = re.compile(r"\bsee\(\s*\"(\w+)_[A-Z]+\", ")  # see("scores_BHLM", …)
REMEMBERED = "return self.split(self.key("  # where an attention's keys and values are computed


@dataclass(frozen=True)
class CodeLine:
    """A statement of model.py, joined into one line, with its file and line number."""

    file: str
    line: int
    text: str

    def __str__(self) -> str:
        return f"{self.text}  {self.file}:{self.line}"


def code_line(name: str) -> CodeLine | None:
    """Return the line of model.py that computes a tensor of a trace or a stage of a worked example, or None
    if no line there computes it."""
    part, _, last = kind_of(name).rpartition(".")
    owner = (part or "attention").title().replace("_", "")  # the class of model.py that is this part
    return next(
        (_lines()[each, last] for each in (owner, "attend", "embed") if (each, last) in _lines()), None
    )


@cache
def _lines() -> dict[tuple[str, str], CodeLine]:
    """Return the lines of model.py by class or function and by the tensor: ("Attention", "queries")."""
    source, found = getsource(model), dict[tuple[str, str], CodeLine]()
    for owner in ast.parse(source).body:
        if not isinstance(owner, ast.ClassDef | ast.FunctionDef):
            continue
        for part in ast.walk(owner):
            if isinstance(part, ast.Assign | ast.Return | ast.Expr):
                text = " ".join((ast.get_source_segment(source, part) or "").split())
                names = ("keys", "values") if text.startswith(REMEMBERED) else SEEN.findall(text)
                text = text.replace("( ", "(").replace(" )", ")")
                for name in names:
                    # An attention is handed its keys and values: the line that computes them comes first.
                    line = CodeLine("pellucid/model.py", part.lineno, text)
                    found.setdefault((owner.name, name), line)
    return found
