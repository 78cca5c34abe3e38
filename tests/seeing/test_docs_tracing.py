"""The page on tracing holds what it shows: its blocks run in order, and print what stands below them."""

import contextlib
import io
from pathlib import Path
from typing import Any

import pytest
from documents import ROOT, blocks, check_link, check_prints, links

PAGE = ROOT / "docs" / "tracing.md"


def test_every_block_runs_and_prints(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    names: dict[str, Any] = {"__name__": "tracing"}
    printed, count = "", 0
    for block in blocks(PAGE):
        if block.info == "python":
            output = io.StringIO()
            with contextlib.redirect_stdout(output):
                exec(compile(block.text, PAGE.name, "exec"), names)
            printed = output.getvalue()
        else:
            assert block.info == "text"
            check_prints(block.text, printed, PAGE.name)
            count += 1
    assert count >= 10


def test_its_links_lead_somewhere() -> None:
    for link in links(PAGE):
        check_link(link, PAGE)
