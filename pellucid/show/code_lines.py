"""The line of the model's code that computes a tensor: found by the name that it is shown under."""

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from inspect import getsource

from pellucid import model
from pellucid.reading.tensors import kind_of

# What shows the tensors of a kind of part in model.py. A stack's are shown by its class, and by `embed`
# before its layers; an attention's by its class, and by `attend`.
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
    """A statement of the model, on one line, and where it stands."""

    file: str
    line: int
    text: str

    def __str__(self) -> str:
        return f"{self.text}  {self.file}:{self.line}"


def code_line(name: str) -> CodeLine | None:
    """The line that computes a tensor of a trace, or a stage of a worked example; None where none does."""
    part, _, last = kind_of(name).rpartition(".")
    owners = OWNERS.get(part or "attention", ())
    return next((_lines()[owner, last] for owner in owners if (owner, last) in _lines()), None)


@cache
def _lines() -> dict[tuple[str, str], CodeLine]:
    """By the class or function and the tensor's last name."""
    source = getsource(model)
    found: dict[tuple[str, str], CodeLine] = {}
    for owner in ast.parse(source).body:
        if not isinstance(owner, ast.ClassDef | ast.FunctionDef):
            continue
        for statement in ast.walk(owner):
            if isinstance(statement, ast.Assign | ast.Return | ast.Expr):
                for name, shown in _shown(statement):
                    computing = _maker(owner) if _is_handed_over(shown, owner) else statement
                    text = " ".join((ast.get_source_segment(source, computing) or "").split())
                    text = text.replace("( ", "(").replace(" )", ")")
                    found[owner.name, name] = CodeLine("pellucid/model.py", computing.lineno, text)
    return found


def _shown(statement: ast.stmt) -> Iterator[tuple[str, ast.expr]]:
    """The names that a statement shows tensors under, and what it shows."""
    for call in ast.walk(statement):
        if isinstance(call, ast.Call) and len(call.args) == 2 and isinstance(call.args[0], ast.Constant):
            seeing = call.func
            called = seeing.attr if isinstance(seeing, ast.Attribute) else getattr(seeing, "id", "")
            if called == "see":
                yield str(call.args[0].value).rpartition("_")[0], call.args[1]


def _is_handed_over(shown: ast.expr, owner: ast.stmt) -> bool:
    """Whether a method shows what it was given: an attention its keys and values, which `remember` made."""
    return (
        isinstance(owner, ast.ClassDef)
        and isinstance(shown, ast.Name)
        and shown.id.startswith(("keys_", "values_"))
    )


def _maker(owner: ast.stmt) -> ast.stmt:
    methods = [
        part for part in ast.walk(owner) if isinstance(part, ast.FunctionDef) and part.name == "remember"
    ]
    return next(part for part in ast.walk(methods[0]) if isinstance(part, ast.Return))
