"""Exercises: each answer worked out again, what the judge says to right and wrong ones, and the command."""

import re
from collections.abc import Iterator

import numpy as np
import pytest
from command import Command
from documents import LEARN
from facts import facts

from pellucid import exercises
from pellucid.errors import UsageError
from pellucid.exercises import Exercise, Verdict, judge

NAMES = list(exercises.exercises())


@pytest.mark.parametrize("name", [name for name in NAMES if name != "the-right-side"])
def test_an_answer_is_what_the_real_thing_computes(name: str) -> None:
    asked = exercises.exercise(name)
    found = eval(asked.computed, dict(facts()))
    found = [found] if isinstance(found, str) or not np.ndim(found) else list(found)
    found = [each if isinstance(each, str) else float(each) for each in found]
    expected = list(asked.answer) if asked.is_words else pytest.approx(list(asked.answer), abs=2e-5)
    assert found == expected


def test_every_exercise_stands_in_its_chapter() -> None:
    found = []
    for path in sorted(LEARN.glob("0*.md")):
        part = path.read_text(encoding="utf-8").partition("## Exercises")[2]
        answers = part.partition("<details>")[2]
        for name in re.findall(r"^- `([\w-]+)`:", part, re.MULTILINE):
            found.append((path.stem, name))
            assert f"pellucid exercise {name}\n" in part and f"pellucid exercise {name} " in answers
    assert found == [(each.chapter, name) for name, each in exercises.exercises().items()]


@pytest.mark.parametrize("name", NAMES)
def test_an_exercise_takes_its_answer_and_refuses_others(name: str) -> None:
    asked = exercises.exercise(name)
    right = asked.written(asked.answer)
    turned = " ".join(right.split()[::-1])
    for each in (right, turned) if asked.any_order else (right,):
        assert judge(asked, each) == Verdict(True, asked.why)
    for wrong in wrong_answers(asked, right.split()):
        verdict = judge(asked, wrong)
        assert not verdict.is_right and verdict.text, wrong
    for remark in asked.remarks:
        assert judge(asked, asked.written(remark["answer"])) == Verdict(False, remark["text"])


def wrong_answers(asked: Exercise, parts: list[str]) -> Iterator[str]:
    """One part too many; the parts in another order; each a unit of its last digit off, or another word."""
    yield " ".join([*parts, "1"])
    if len(parts) > 1 and not asked.any_order:
        yield " ".join(parts[::-1])
    unit = 1.01 * 10**-asked.digits if asked.digits else 1
    for place, answer in enumerate(asked.answer):
        others = ["x"]
        if not isinstance(answer, str):
            others = [f"{answer + off:.{asked.digits}f}" for off in (-unit, unit)]
        yield from (" ".join([*parts[:place], other, *parts[place + 1 :]]) for other in others)


ASKED = Exercise("", "", "", "Two halves?", "Divide.", (0.45, 0.55), "So it is.", digits=2)


@pytest.mark.parametrize(
    "written, is_right, text",
    [
        ("0.45 0.55", True, "So it is."),
        ("0.4502 0.5498", False, "Divide."),
        ("0.450, 0.550", True, "So it is."),
        ("0.45 0.56", False, "Right but for number 2. Divide."),
        ("0.5 0.55", False, "0.5 has too few decimals: write 2 numbers, 2 decimals or more."),
        ("4.5e-1 55e-2", True, "So it is."),
        ("0.45", False, "1 given; wanted: 2 numbers, 2 decimals or more. Divide."),
    ],
)
def test_numbers_are_judged_by_their_digits(written: str, is_right: bool, text: str) -> None:
    assert judge(ASKED, written) == Verdict(is_right, text)


def test_a_name_is_as_good_in_capitals_but_not_in_part() -> None:
    asked = exercises.exercise("first-mistake")
    assert judge(asked, "Scaled_Scores").is_right and not judge(asked, "scaled").is_right
    assert judge(asked, "weights").text.endswith("at an earlier stage.") and not judge(asked, " ").is_right


@pytest.mark.parametrize("written", ["half", "1e999999", "2,2"])
def test_what_is_no_number_is_an_error(written: str) -> None:
    with pytest.raises(UsageError, match=f'"{written}" is not a number. Write one such as 0.25'):
        judge(ASKED, written)


def test_the_verb(pellucid: Command) -> None:
    listed = pellucid("exercise", "--list").out
    assert all(f"    {name} " in listed for name in NAMES)
    assert pellucid("exercise", "three-weights", "0.21", "0.32", "0.47").out.startswith("Right. exp(0.3)")
    assert (
        pellucid("exercise", "three-weights", "0.2119829", "0.3162415", "0.4717755").code == 0
    )  # as Python has it
    turned = pellucid(
        "exercise", "rows-that-leak", "4", "1", "2"
    )  # in any order, so no place is the wrong one
    assert turned.code == 1 and "Right but" not in turned.err
    wrong = pellucid("exercise", "the-second-position", "--", "0", "1.0000", "0.0000", "1.0000")
    assert (wrong.code, wrong.out) == (1, "") and "pellucid: not yet. 0 has too few decimals" in wrong.err
    assert pellucid("exercise", "masked-cells", "--solve").out.startswith("15\n5 + 4 + 3 + 2 + 1 + 0 = 15")
    question = pellucid("exercise", "three-weights").out
    assert "Hint: " in question and question.endswith("pellucid exercise three-weights … … …\n")
    for arguments, message in (
        (["maskedcells"], 'no exercise is called "maskedcells". Did you mean "masked-cells"?'),
        (["masked-cells", "15", "--solve"], "exercise: an answer and --solve are both given."),
    ):
        outcome = pellucid("exercise", *arguments)
        assert outcome.code == 2 and outcome.err.startswith(f"pellucid: {message}")
