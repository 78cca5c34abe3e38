"""The course holds what it promises: each command runs and prints what stands below it, each link leads
somewhere, and the pictures are those that the build draws."""

import re
from pathlib import Path

import pytest
from command import Command
from documents import LEARN, ROOT, blocks, build, check_link, eighty_columns, links, run_blocks, run_line

from pellucid.show import panels

CHAPTERS = sorted(LEARN.glob("*.md"))
IDS = [path.stem for path in CHAPTERS]

__all__ = ["eighty_columns"]


@pytest.mark.timeout(1200)
@pytest.mark.parametrize("is_slow", [False, pytest.param(True, marks=pytest.mark.slow)])
@pytest.mark.parametrize("path", CHAPTERS, ids=IDS)
@pytest.mark.usefixtures("eighty_columns")
def test_every_block_runs(path: Path, is_slow: bool, pellucid: Command) -> None:
    """Commands with what they print, and Python in one namespace; of the slow ones only those."""
    run_blocks(path, pellucid, is_slow)


@pytest.mark.usefixtures("eighty_columns")
def test_the_first_command_prints_a_dozen_lines(pellucid: Command) -> None:
    first = next(block for block in blocks(CHAPTERS[0]) if block.commands)
    assert len(run_line(first.commands[0], pellucid).out.splitlines()) == 12


@pytest.mark.parametrize("path", CHAPTERS, ids=IDS)
def test_links_lead_somewhere_lines_are_short_and_chapters_listed(path: Path) -> None:
    for link in links(path):
        check_link(link, path)
    text = re.sub(r"\]\([^)]*\)", "", path.read_text(encoding="utf-8"))
    assert [line for line in text.splitlines() if len(line) > 130 and line[0] != "|"] == []
    index = (LEARN / "README.md").read_text(encoding="utf-8")
    assert path.name == "README.md" or f"({path.name})" in index


def test_pictures_are_small_and_the_build_draws_them(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pictures = {path.stem: path for path in (ROOT / "docs" / "images").glob("learn-*.svg")}
    assert {Path(link).stem for path in CHAPTERS for link in links(path) if "/learn-" in link} == {*pictures}
    assert {f"learn-{name}" for name in build().FIGURES} == {*pictures}
    for name, picture in pictures.items():
        assert picture.stat().st_size < 150_000, name
        assert picture.read_text(encoding="utf-8").lstrip().startswith("<?xml")
    elsewhere = {name: (tmp_path / path.name, draw) for name, (path, draw) in build().WRITTEN.items()}
    monkeypatch.setattr(build(), "WRITTEN", elsewhere)
    assert build().main(["mask", "layers"]) == 0  # of an explanation, and of an experiment
    assert sorted(path.name for path in tmp_path.iterdir()) == ["learn-layers.svg", "learn-mask.svg"]
    assert build().main(["masks"]) == 2


def test_the_last_resort_is_no_font() -> None:
    """matplotlib's own draws every letter as a box: letters must come from elsewhere, or be missing."""
    assert not any("Last Resort" in name for name in panels._fonts("आप कैसे हैं"))
