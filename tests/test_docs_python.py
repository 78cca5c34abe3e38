"""The pages with Python: their blocks run and print what they show, their links lead somewhere, and no name
is left out."""

import contextlib
import io
import shlex
import warnings
from pathlib import Path
from typing import Any

import pytest
from documents import ROOT, blocks, check_link, check_prints, links

import pellucid
from pellucid.cli.arguments import command_line
from pellucid.search.options import TranslationOptions

PAGES = [ROOT / "docs" / f"{name}.md" for name in ("python", "notebooks", "tracing", "translating", "why")]
PYTHON = PAGES[0]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_every_block_runs_and_prints(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    warnings.simplefilter("ignore", UserWarning)
    names: dict[str, Any] = {"__name__": page.stem}
    output = io.StringIO()
    for block in blocks(page):
        if block.info == "python":
            output = io.StringIO()
            with contextlib.redirect_stdout(output):
                exec(compile(block.text, page.name, "exec"), names)
        elif block.info == "text":
            check_prints(block.text, output.getvalue(), page.name)
        for line in block.text.splitlines():
            if line.startswith("pellucid "):
                command_line().parse_args(shlex.split(line.partition(" <")[0])[1:])
    if page == PYTHON:
        assert repr(names["translator"]) in page.read_text("utf-8")
        assert repr(pellucid.load(tmp_path / "runs" / "reversed")) == "<Translator 4+4 layers, width 128>"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_its_links_lead_somewhere(page: Path) -> None:
    for link in links(page):
        check_link(link, page)


def test_every_public_name_and_option_is_named() -> None:
    text = PYTHON.read_text("utf-8")
    assert [name for name in pellucid.__all__ if name != "__version__" and name not in text] == []
    for option in TranslationOptions.__annotations__:
        assert f"| `{option}` |" in text
        assert f"        {option}: " in (pellucid.Translator.translate.__doc__ or ""), option


def test_both_front_pages_lead_here() -> None:
    assert "(docs/python.md)" in (ROOT / "README.md").read_text("utf-8")
    assert "(python.md)" in (ROOT / "docs" / "README.md").read_text("utf-8")
