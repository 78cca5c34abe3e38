"""Every number and every cited line in the prose of the course: each is listed in prose.toml, and each listed
number is worked out again."""

import functools
import math
import re
import tomllib
from pathlib import Path
from typing import Any

import pytest
import torch
from documents import BLOCK, LEARN, ROOT

import pellucid
from pellucid.experiments import parallel
from pellucid.model import Norm, sinusoids
from pellucid.worked.examples import example, names

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


@functools.cache
def known() -> dict[str, Any]:
    """What the expressions of prose.toml are about."""
    demo = pellucid.load("demo", "cpu")
    how, bank = demo.explain("How are you", to="hi"), demo.explain("The boat is near the bank.", to="es")
    rows = bank.trace["encoder.layers.1.self_attention.weights"].tensor[0].amax(0)
    cross = example("004-cross-4")

    def leakage(row: str) -> list[float]:
        text = (ROOT / "docs" / "results" / "leakage.md").read_text(encoding="utf-8")
        line = next(line for line in text.splitlines() if line.startswith("|") and row in line)
        return [
            float(number) for number in re.findall(r"\*{0,2}(\d[\d.]*)%?\*{0,2}", line.partition("|")[2])
        ][-2:]

    return {
        "how": how,
        "cats": demo.explain("I like cats", to="es"),
        "looks": {
            (one, other): rows[bank.source_tokens.index(one), bank.source_tokens.index(other)]
            for one, other in (("bank", "near"),)
        },
        "largest": max(
            float(record.tensor[record.tensor.isfinite()].abs().max()) for record in how.trace.values()
        ),
        "masked": example("000-masked").worked(),
        "sinusoids": sinusoids(2, 4, torch.float64, torch.device("cpu")),
        "first_score": next(cell for cell in cross.report().cells if cell.name == "scores"),
        "given": {name: each.tensor for name, each in cross.worked().given.items()},
        "verdicts": sum(len(each.report().cells) for each in map(example, names()) if each.claims),
        "epsilon": Norm.epsilon,
        "config": demo.model.config,
        "longest": max(parallel.experiment.__kwdefaults__["lengths"]),
        "leakage": leakage,
        "float16": torch.finfo(torch.float16).max,
        "exp": math.exp,
        "log10": math.log10,
    }


@pytest.mark.parametrize("listed", LISTED["number"], ids=lambda listed: listed["says"])
def test_a_number_is_what_is_computed(listed: dict[str, str]) -> None:
    assert listed["says"] in prose(LEARN / f"{listed['chapter']}.md")
    found, written = [float(each) for each in eval(listed["computed"], known())], numbers(listed["says"])
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
