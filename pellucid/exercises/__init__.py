"""The exercises of docs/learn/: questions in exercises.toml, and a check of the reader's answers.

A number with decimals may be off by half a unit of the last digit that the reader writes; a whole number or a
word must be the same. A test computes every answer from the model or from the equations.
"""

import functools
import re
import tomllib
import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from importlib.resources import files
from typing import Any

from pellucid.errors import UsageError, did_you_mean

HOMEWORK = files(__name__).joinpath("homework.toml")  # a file that an exercise is about
Answer = Sequence[str | float]
BETWEEN = re.compile(r"[\s;×x]+|,\s+")  # numbers, so that a shape may be written 2×3
EXACT = 1e-9
STORED = 5  # decimals of the answers in exercises.toml: more of them are not judged


@dataclass(frozen=True)
class Exercise:
    """A question with its answer: words, or numbers."""

    chapter: str  # the page in docs/learn
    name: str
    about: str
    question: str
    hint: str
    answer: Answer
    why: str  # what to learn from the answer
    computed: str = ""  # an expression for the answer, which a test works out
    digits: int = 0  # the least decimals of an answer; 0: whole numbers
    remarks: Sequence[Mapping[str, Any]] = ()  # what to say to a wrong answer that shows what went wrong
    any_order: bool = False  # whether the answer is a set, whose size the exercise does not tell

    @property
    def is_words(self) -> bool:
        """Tell whether the answer is words, not numbers."""
        return isinstance(self.answer[0], str)

    @property
    def wanted(self) -> str:
        """Say what form an answer must have: "one word", "2 whole numbers"."""
        count = "" if self.any_order else f"{len(self.answer)} "
        if self.is_words:
            return f"{count}words, in quotes" if len(self.answer) > 1 else "one word"
        return f"{count}numbers, {self.digits} decimals or more" if self.digits else f"{count}whole numbers"

    def written(self, answer: Answer) -> str:
        """Return an answer as text."""
        return " ".join(each if isinstance(each, str) else f"{each:.{self.digits}f}" for each in answer)


@dataclass(frozen=True)
class Verdict:
    """Whether an answer is right, and the reply to it."""

    is_right: bool
    text: str


@functools.cache
def exercises() -> dict[str, Exercise]:
    """Return the exercises by name, in the order of the course."""
    text = files(__name__).joinpath("exercises.toml").read_text("utf-8").replace("HOMEWORK", str(HOMEWORK))
    return {table["name"]: Exercise(**table) for table in tomllib.loads(text)["exercise"]}


def exercise(name: str) -> Exercise:
    """Return the exercise of this name; raise UsageError if there is none."""
    known = exercises()
    if name not in known:
        near = did_you_mean(name, known)
        raise UsageError(f'no exercise is called "{name}".{near} All: pellucid exercise --list.')
    return known[name]


def judge(exercise: Exercise, written: str) -> Verdict:
    """Judge an answer; raise UsageError if the text cannot be read as an answer."""
    if exercise.is_words:
        given: Sequence[str | Decimal] = unicodedata.normalize("NFC", written).split()
    else:
        given = [_number(part.rstrip(".")) for part in BETWEEN.split(written.strip()) if part]
        given = sorted(given) if exercise.any_order else given
    for number in given:
        if isinstance(number, Decimal) and _decimals(number) < exercise.digits:
            return Verdict(False, f"{number} has too few decimals: write {exercise.wanted}.")
    right = {"answer": exercise.answer, "text": ""}
    for answer, text in ((each["answer"], each["text"]) for each in (right, *exercise.remarks)):
        if len(answer) == len(given) and all(map(_is_same, answer, given)):
            return Verdict(not text, text or exercise.why)
    if len(given) != len(exercise.answer):
        return Verdict(False, f"{len(given)} given; wanted: {exercise.wanted}. {exercise.hint}")
    if exercise.any_order:
        return Verdict(False, exercise.hint)
    pairs = enumerate(zip(exercise.answer, given, strict=True), start=1)
    wrong = [str(place) for place, pair in pairs if not _is_same(*pair)]
    but = f"Right but for number {', '.join(wrong)}. " if len(wrong) < len(given) else ""
    return Verdict(False, but + exercise.hint)


def _is_same(answer: str | float, given: str | Decimal) -> bool:
    """Tell whether an answer is right: a word regardless of capitals, a whole number exactly, another number
    within half a unit of the last written digit."""
    if isinstance(answer, str) or isinstance(given, str):
        return str(answer).casefold() == str(given).casefold()
    decimals = _decimals(given)
    near = 0.5 * 10 ** -min(decimals, STORED) if decimals else 0.0
    return abs(float(answer) - float(given)) <= near + EXACT


def _number(part: str) -> Decimal:
    try:
        number = Decimal(part.replace("−", "-"))
    except InvalidOperation:
        number = Decimal("nan")
    if not number.is_finite() or abs(number.adjusted()) > 300:
        raise UsageError(
            f'the answer: "{part:.40}" is not a number. Write one such as 0.25, with a point and no comma.'
        )
    return number


def _decimals(number: Decimal) -> int:
    return max(0, -int(number.as_tuple().exponent))
