"""docs/paper.md leads from equations to lines: every function, expression, name and shape on it exists."""

import ast
import fnmatch
import functools
import re
from pathlib import Path

import pytest
import torch
from documents import build

from pellucid.config.schema import ModelConfig
from pellucid.model import Transformer
from pellucid.seeing.records import AXES
from pellucid.seeing.trace import trace

DOCS = Path(__file__).parents[1] / "docs"
TEXT = (DOCS / "paper.md").read_text(encoding="utf-8")
# [`function`](file), and what follows it: `expression`
LINKS = re.findall(r"\[`([\w.]+)`\]\(([^)]+\.py)\)(?:: `([^`]+)`)?", TEXT)
# the last cell of a row: `name` AXES
NAMES = re.findall(r"\| `([\w.*?]+)` ([A-Z]+) \|$", TEXT, re.MULTILINE)


@functools.cache
def definitions(file: str) -> dict[str, str]:
    """Return the text of each function, method, class and annotated constant of a module, by dotted name."""
    source = (DOCS / file).read_text(encoding="utf-8")
    found: dict[str, str] = {}

    def visit(body: list[ast.stmt], prefix: str) -> None:
        for node in body:
            if isinstance(node, ast.FunctionDef | ast.ClassDef):
                found[prefix + node.name] = ast.get_source_segment(source, node) or ""
            if isinstance(node, ast.ClassDef):
                visit(node.body, f"{prefix}{node.name}.")
            if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
                found[prefix + node.target.id] = ast.unparse(node)

    visit(ast.parse(source).body, "")
    return found


def traced_names() -> dict[str, str]:
    names: dict[str, str] = {}
    for norm in ("last", "first"):
        settings = dict(
            vocabulary=7, width=4, heads=2, hidden=6, encoder_layers=1, decoder_layers=1, norm=norm
        )
        model = Transformer(ModelConfig(**settings)).eval()
        with torch.no_grad(), trace(model) as seen:
            model(torch.tensor([[4, 3]]), None, torch.tensor([[2, 5]]))
        names |= {name: record.axes for name, record in seen.items()}
    return names


def test_its_tables_are_those_of_the_table_of_tensors() -> None:
    """Else: python docs/build.py paper"""
    assert build().paper_text(TEXT) == TEXT
    assert len(NAMES) == 30


@pytest.mark.parametrize("function,file,expression", sorted(set(LINKS)))
def test_every_function_and_expression_exists(function: str, file: str, expression: str) -> None:
    found = definitions(file)
    assert function in found, f"{file} has no {function}"
    assert re.sub(r"\s", "", expression) in re.sub(r"\s", "", found[function]), (
        f"{function} has no {expression}"
    )


def test_every_name_exists_with_its_shape_and_every_tensor_has_a_row() -> None:
    names = traced_names()
    for pattern, axes in NAMES:
        assert {names[name] for name in fnmatch.filter(names, pattern)} == {axes}, pattern
    for name in names:
        assert any(fnmatch.fnmatchcase(name, pattern) for pattern, _ in NAMES), name


def test_every_axis_is_explained() -> None:
    assert re.findall(r"^\| ([A-Z]) \|", TEXT, re.MULTILINE) == list(AXES)
