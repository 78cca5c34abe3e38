"""The course holds what it promises: each command runs and prints what stands below it, each link leads
somewhere, and each exercise takes the right answer and refuses wrong ones."""

import importlib.util
import math
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from command import Command
from documents import LEARN, ROOT, blocks, check_link, check_prints, eighty_columns, links, run_line

from pellucid import exercises
from pellucid.errors import UsageError
from pellucid.exercises import Exercise, judge
from pellucid.show import drawing

CHAPTERS = sorted(LEARN.glob("*.md"))
IDS = [path.stem for path in CHAPTERS]

__all__ = ["eighty_columns"]


@pytest.mark.parametrize("path", CHAPTERS, ids=IDS)
@pytest.mark.usefixtures("eighty_columns")
def test_every_block_runs(path: Path, pellucid: Command) -> None:
    run_blocks(path, pellucid, is_slow=False)


@pytest.mark.slow
@pytest.mark.timeout(1200)
@pytest.mark.parametrize("path", CHAPTERS, ids=IDS)
@pytest.mark.usefixtures("eighty_columns")
def test_every_slow_block_runs(path: Path, pellucid: Command) -> None:
    run_blocks(path, pellucid, is_slow=True)


def run_blocks(path: Path, pellucid: Command, is_slow: bool) -> None:
    """Commands with what they print, and Python in one namespace; of the slow ones only those."""
    printed, names = "", {"__name__": path.stem}
    for block in blocks(path):
        kind, _, file = block.info.partition(" ")
        if block.commands and ("slow" in file) == is_slow:
            outcomes = [run_line(line, pellucid) for line in block.commands]
            for line, outcome in zip(block.commands, outcomes, strict=True):
                assert outcome.code == 0, f"{path.name}: {line}\n{outcome.err}"
            printed = "".join(outcome.out for outcome in outcomes)
        elif is_slow or block.commands:
            continue
        elif kind == "toml":
            Path(file).write_text(block.text, encoding="utf-8")
        elif kind == "python":
            exec(compile(block.text, path.name, "exec"), names)
        elif kind == "text":
            check_prints(block.text, printed, path.name)
        else:
            pytest.fail(f"{path.name}: a block of no known kind: {block}")


@pytest.mark.parametrize("path", CHAPTERS, ids=IDS)
def test_every_link_leads_somewhere(path: Path) -> None:
    for link in links(path):
        check_link(link, path)


def test_lines_are_short_and_chapters_listed() -> None:
    index = (LEARN / "README.md").read_text(encoding="utf-8")
    for path in CHAPTERS:
        text = re.sub(r"\]\([^)]*\)", "", path.read_text(encoding="utf-8"))
        long = [line for line in text.splitlines() if len(line) > 130 and line[0] != "|"]
        assert not long, f"{path.name}: {long}"
        assert path.name == "README.md" or f"({path.name})" in index


def test_pictures_are_small_and_have_words() -> None:
    pictures = sorted((ROOT / "docs" / "images").glob("learn-*.svg"))
    used = {Path(link).name for path in CHAPTERS for link in links(path) if "/learn-" in link}
    assert used == {picture.name for picture in pictures}
    for picture in pictures:
        assert picture.stat().st_size < 150_000, picture.name
        assert picture.read_text(encoding="utf-8").lstrip().startswith("<?xml")


def test_the_build_draws_them(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It knows every picture of the course, and draws what an explanation and an experiment have to show."""
    build = imported(ROOT / "docs" / "build.py")
    pictures = (ROOT / "docs" / "images").glob("learn-*.svg")
    assert {f"learn-{name}" for name in build.FIGURES} == {picture.stem for picture in pictures}
    elsewhere = {name: (tmp_path / path.name, draw) for name, (path, draw) in build.WRITTEN.items()}
    monkeypatch.setattr(build, "WRITTEN", elsewhere)
    assert build.main(["mask", "layers"]) == 0
    assert sorted(path.name for path in tmp_path.iterdir()) == ["learn-layers.svg", "learn-mask.svg"]
    assert build.main(["masks"]) == 2


def imported(path: Path) -> Any:
    """A script as a module."""
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_last_resort_is_no_font() -> None:
    """matplotlib's own draws every letter as a box: letters must come from elsewhere, or be missing."""
    assert not any("Last Resort" in name for name in drawing._fonts("आप कैसे हैं"))


def test_every_exercise_stands_in_its_chapter() -> None:
    found = exercises.chapters()
    assert [f"{chapter}.md" for chapter in found] == [path.name for path in CHAPTERS if path.name[0] == "0"]
    for chapter, names in found.items():
        text = (LEARN / f"{chapter}.md").read_text(encoding="utf-8")
        part = text.partition("## Exercises")[2]
        assert re.findall(r"^- `([\w-]+)`:", part, re.MULTILINE) == names
        answers = part.partition("<details>")[2]
        for name in names:
            assert f"pellucid exercise {name}\n" in part and f"pellucid exercise {name} " in answers


@pytest.mark.parametrize("name", exercises.names())
def test_an_exercise_takes_its_answer_and_refuses_others(name: str, pellucid: Command) -> None:
    asked = exercises.exercise(name)
    outcome = pellucid("exercise", name, "--", *asked.answer.split())
    assert outcome.code == 0 and outcome.err == ""
    assert outcome.out.startswith("Right. ") and asked.why.split()[-1] in outcome.out
    for wrong in wrong_answers(asked):
        verdict = judge(asked, [wrong])
        assert not verdict.is_right and verdict.said, f"{name}: {wrong}"
    for answers, remark in asked.remarks:
        digits = asked.digits and asked.digits + 2
        written = [each if isinstance(each, str) else f"{each:.{digits}f}" for each in answers]
        outcome = pellucid("exercise", name, "--", *written)
        assert (outcome.code, outcome.out) == (1, "")
        assert " ".join(outcome.err.split()) == f"pellucid: not yet. {remark}"
        assert max(map(len, outcome.err.splitlines())) <= 80


def wrong_answers(asked: Exercise) -> list[str]:
    """A number a unit of its last digit off, one too many; words in another order, another word."""
    if asked.is_words:
        words = asked.answer.split()
        changed = [" ".join([*words[:place], "x", *words[place + 1 :]]) for place in range(len(words))]
        return [*changed, asked.answer + " x", *([" ".join(words[::-1])] if len(words) > 1 else [])]
    wrong = [asked.answer + " 1"]
    for place, number in enumerate(asked.answers):
        for off in (-1, 1):
            numbers: list[Any] = list(asked.answers)
            numbers[place] = float(number) + 1.01 * off * 10**-asked.digits
            if asked.digits == 0:
                numbers[place] = round(numbers[place])
            wrong.append(" ".join(f"{each:.{asked.digits}f}" for each in numbers))
    if asked.digits:
        wrong.append(" ".join(f"{float(each):.{asked.digits - 1}f}" for each in asked.answers))
    return wrong


def test_answers_by_hand() -> None:
    """The answers, worked out here with nothing of ours."""

    def softmax(scores: list[float]) -> Any:
        return np.exp(scores) / np.exp(scores).sum()

    total = np.array([1.0, 2.0, 3.0, 6.0])
    by_hand = {
        "runs-of-the-decoder": [7 + 1, 1],
        "masked-cells": [5 + 4 + 3 + 2 + 1],
        "padded-source": [4 * 2],
        "both-masks": [1 + 2 + 3 + 3 + 3],
        "one-score": [0.2 * 0.9 + 0.4 * 1.0 + 0.6 * 1.1 + 0.8 * 1.2],
        "three-weights": softmax([0.3, 0.7, 1.1]),
        "the-second-position": [math.sin(1), math.cos(1), math.sin(0.01), math.cos(0.01)],
        "add-and-norm": (total - total.mean()) / np.sqrt(((total - 3) ** 2).sum() / 4 + 1e-5),
        "rows-with-a-cache": [4, 1 + 2 + 3 + 4],
        "width-of-a-head": [512 / 8, 64 / 4],
        "parameters-of-an-attention": [4 * (64 * 64 + 64)],
        "probability-of-a-logit": softmax([2.0, 1.0, 0.0])[:1],
    }
    for name, answers in by_hand.items():
        assert exercises.exercise(name).answers == pytest.approx(list(answers), abs=1e-5), name


ASKED = Exercise("Two halves?", "Divide.", (0.45, 0.55), "So it is.", digits=2)


COMMA = "A comma stands between numbers: decimals come after a point, as in 1.5."


@pytest.mark.parametrize(
    "written, is_right, said",
    [
        ("0.45 0.55", True, "So it is."),
        ("0.4502 0.5498", False, "Divide."),
        ("0.450 0.550", True, "So it is."),
        ("0.454 0.546", False, "Divide."),
        ("0.45, 0.55", True, "So it is."),
        ("0.45 0.56", False, "Right but for number 2. Divide."),
        ("0.5 0.5", False, "0.5 says too little: write 2 decimals."),
        ("0.e0000 0.e0000", False, "0.e0000 says too little: write 2 decimals."),
        ("4.5e-1 55e-2", True, "So it is."),
        ("0.45", False, "1 number given; wanted: 2 numbers to 2 decimals. Divide."),
        ("0,45 0,55", False, f"{COMMA} 0 says too little: write 2 decimals."),
        ("0.45,0.56", False, "Right but for number 2. Divide."),
    ],
)
def test_numbers_are_judged_by_their_digits(written: str, is_right: bool, said: str) -> None:
    assert judge(ASKED, [written]) == (verdict := exercises.Verdict(is_right, said)), verdict


def test_a_name_is_as_good_in_capitals_but_not_in_part() -> None:
    asked = exercises.exercise("first-mistake")
    assert judge(asked, ["Scaled_Scores"]).is_right
    for part in ("scaled", "Scaled", "scaled scores"):
        said = "Yes: write the name as it is printed, scaled_scores."
        assert judge(asked, [part]) == exercises.Verdict(False, said)
    for later in ("weights", "context", "masked_scores"):
        assert judge(asked, [later]).said.endswith("look one stage up.")
    assert not judge(exercises.exercise("what-is-fed"), [asked.answer.upper()]).is_right


def test_whole_numbers_with_a_point_or_a_comma() -> None:
    asked = Exercise("Three fives?", "Add.", (15,), "So it is.")
    assert judge(asked, ["15."]).is_right and judge(asked, ["15.0"]).is_right
    assert judge(asked, ["1,5"]).said == f"{COMMA} 2 numbers given; wanted: one whole number. Add."


def test_what_is_no_answer_is_an_error() -> None:
    for far in ("1e999999", "1e400"):
        with pytest.raises(UsageError, match=f'the answer: "{far}" is too large or too small for float64'):
            judge(ASKED, [far, "0.5"])
    with pytest.raises(UsageError) as error:
        judge(ASKED, ["half", "0.5"])
    assert str(error.value) == 'the answer: "half" is not a number. Write 0.25, -inf, or … for one left out.'
    with pytest.raises(UsageError) as error:
        judge(exercises.exercise("what-is-fed"), [" "])
    assert str(error.value) == "the answer is empty. Give its words, in quotes."


def test_the_verb_says_what_it_needs(pellucid: Command) -> None:
    listed = pellucid("exercise", "--list").out
    assert all(f"    {name} " in listed for name in exercises.names())
    outcome = pellucid("exercise", "maskedcells")
    assert outcome.code == 2
    assert outcome.err == (
        'pellucid: no exercise is called "maskedcells". Nearest: masked-cells, both-masks, who-is-asked. '
        "All: pellucid exercise --list.\n"
    )
    outcome = pellucid("exercise")
    assert (outcome.code, outcome.err) == (
        2,
        "pellucid: exercise: give a NAME; --list says which there are.\n",
    )
    outcome = pellucid("exercise", "masked-cells", "15", "--solve")
    assert (
        outcome.err == "pellucid: exercise: an answer and --solve are both given. Leave one of the two out.\n"
    )
    assert pellucid("exercise", "masked-cells", "--solve").out.startswith("15\n5 + 4 + 3 + 2 + 1 + 0 = 15")
    question = pellucid("exercise", "three-weights").out
    assert "Hint: " in question and question.endswith("pellucid exercise three-weights … … …\n")
