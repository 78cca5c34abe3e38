"""The line of the model's code that computes a tensor, found by the name that it is shown under."""

import ast
import re
from dataclasses import dataclass
from functools import cache
from inspect import getsource

from pellucid import model
from pellucid.reading.tensors import kind_of

# The classes and functions of model.py that show the tensors of a kind of part.
OWNERS = {
    "attention": ("Attention", "attend"),
    "feed_forward": ("FeedForward",),
    "residual": ("Residual",),
    "norm": ("Norm",),
    "encoder": ("Encoder", "embed"),
    "decoder": ("Decoder", "embed"),
}


@dataclass(frozen=True)
class CodeLine:
    """A statement of model.py, joined into one line, with its file and line number."""

    file: str
    line: int
    text: str

    def __str__(self) -> str:
        return f"{self.text}  {self.file}:{self.line}"


def code_line(name: str) -> CodeLine | None:
    """Return the line that computes a tensor of a trace or a stage of a worked example, if there is one."""
    part, _, last = kind_of(name).rpartition(".")
    owners = OWNERS.get(part or "attention", ())
    return next((_lines()[owner, last] for owner in owners if (owner, last) in _lines()), None)


@cache
def _lines() -> dict[tuple[str, str], CodeLine]:
    """Find the lines by the class or function and the last part of the tensor's name."""
    found: dict[tuple[str, str], CodeLine] = {}
    for owner in ast.parse(getsource(model)).body:
        if not isinstance(owner, ast.ClassDef | ast.FunctionDef):
            continue
        for statement in ast.walk(owner):
            if isinstance(statement, ast.Assign | ast.Return | ast.Expr):
                found |= {(owner.name, name): _line(statement) for name in _shown(statement)}
        for method in ast.walk(owner):
            # An attention gets its keys and values from `remember`, which computes them.
            if isinstance(method, ast.FunctionDef) and (owner.name, method.name) == ("Attention", "remember"):
                computing = next(part for part in ast.walk(method) if isinstance(part, ast.Return))
                found |= {(owner.name, name): _line(computing) for name in ("keys", "values")}
    return found


def _shown(statement: ast.stmt) -> list[str]:
    """Find the names that a statement shows tensors under: those of see("scores_BHLM", …)."""
    shown = re.findall(r"\bsee\('(\w+)_[A-Z]+', ", ast.unparse(statement))
    return [str(name) for name in shown]


def _line(statement: ast.stmt) -> CodeLine:
    text = " ".join((ast.get_source_segment(getsource(model), statement) or "").split())
    return CodeLine("pellucid/model.py", statement.lineno, text.replace("( ", "(").replace(" )", ")"))
