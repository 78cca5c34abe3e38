"""The pages on models that come and go: their commands run on models that are made here."""

import os
from pathlib import Path
from typing import Any

import pytest
import random_translator
from command import Command
from documents import ROOT, blocks, check_link, links, run_line
from marian_folders import many_languages, opus

from pellucid.folder.checkpoint import save_model


def nllb(folder: Path) -> None:
    """What docs/nllb.md reads."""
    (folder / "nllb").mkdir()
    many_languages(folder / "nllb", "nllb")


def ours(folder: Path) -> None:
    """What docs/elsewhere.md reads."""
    pytest.importorskip("ctranslate2")
    made: Any = random_translator.translator(end=1.5, layers=1)
    save_model(folder / "ours", made.model, made.vocabulary, made.config, {})


MADE = {"opus-mt": lambda folder: opus(folder / "opus-mt-en-fr"), "nllb": nllb, "elsewhere": ours}


@pytest.mark.parametrize("page", MADE)
def test_its_commands_and_its_python_run(
    page: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, pellucid: Command
) -> None:
    MADE[page](tmp_path)
    monkeypatch.chdir(tmp_path)
    (tmp_path / "runs").mkdir()
    path = ROOT / "docs" / f"{page}.md"
    for block in blocks(path):
        if block.info == "python":
            exec(compile(block.text, path.name, "exec"), {"__name__": page})
        for line in block.commands:
            said = run_line(line, pellucid)
            assert said.code == 0, f"{line}: {said.err}"
            if "--against" in line:
                assert "are the same function" in said.out
    assert os.listdir(tmp_path)
    for link in links(path):
        check_link(link, path)
