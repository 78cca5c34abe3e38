"""Every number and every cited line in the prose of the course: each is listed in prose.toml, and each listed
number is worked out again."""

import re
import tomllib
from pathlib import Path
from typing import Any

import pytest
from documents import BLOCK, LEARN
from facts import facts

CHAPTERS = sorted(LEARN.glob("0*.md"))
LISTED = tomllib.loads((Path(__file__).parent / "prose.toml").read_text(encoding="utf-8"))
# Decimals, whole numbers of two digits and more, and any number of a line; the notes' own names are none.
NUMBER = re.compile(r"(?<![\w.,/])(?!00[0-4]\b)(?:\d[\d,]*\d(?:\.\d+)?|\d\.\d+|(?<=line )\d)(?!\w)")


def prose(path: Path) -> str:
    """The text without blocks, code, targets of links and the answers, its white space made one."""
    text = BLOCK.sub("", path.read_text(encoding="utf-8"))
    text = re.sub(r"<details>.*?</details>", "", text, flags=re.DOTALL)
    return " ".join(re.sub(r"\]\([^)]*\)|`[^`]*`", "", text).split())


def numbers(text: str) -> list[str]:
    return [found.replace(",", "") for found in NUMBER.findall(text)]


@pytest.mark.parametrize("listed", LISTED["number"], ids=lambda listed: listed["says"])
def test_a_number_is_what_is_computed(listed: dict[str, str]) -> None:
    assert listed["says"] in prose(LEARN / f"{listed['chapter']}.md")
    found, written = (
        [float(each) for each in eval(listed["computed"], dict(facts()))],
        numbers(listed["says"]),
    )
    assert len(found) == len(written)
    for number, text in zip(found, written, strict=True):
        decimals = len(text.partition(".")[2])
        assert abs(number - float(text)) <= 0.51 * 10**-decimals, f"{text} is {number}"


@pytest.mark.parametrize("listed", LISTED["cited"], ids=lambda listed: listed["says"])
def test_a_cited_line_is_one_that_was_looked_up(listed: dict[str, Any]) -> None:
    assert listed["says"] in prose(LEARN / f"{listed['chapter']}.md")
    assert numbers(listed["says"]) == list(listed["holds"]) and all(listed["holds"].values())


@pytest.mark.parametrize("path", CHAPTERS, ids=lambda path: path.stem)
def test_no_number_stands_unguarded(path: Path) -> None:
    text = prose(path)
    for listed in (*LISTED["number"], *LISTED["cited"]):
        if listed["chapter"] == path.stem:
            text = text.replace(listed["says"], "")
    left = [text[max(0, found.start() - 40) : found.end() + 10] for found in NUMBER.finditer(text)]
    assert not left, f"{path.name}: not in prose.toml: {left}"
