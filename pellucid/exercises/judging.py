"""An exercise, and what is said to an answer: numbers are judged like claims, words exactly."""

import math
import re
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass

from pellucid.errors import UsageError
from pellucid.worked.claims import EXACT, number

Answers = tuple[str | float, ...]
BETWEEN_NUMBERS = re.compile(r"[\s,;×x]+")  # so that a shape may be written 2×3
DECIMAL_COMMA = re.compile(r"\d,\d")


@dataclass(frozen=True)
class Exercise:
    """A question with its answer, computed from the real thing: words, or numbers."""

    question: str
    hint: str
    answers: Answers
    why: str  # what one should have seen, now that the answer is known
    digits: int = 0  # after the point, at least so many; 0: whole numbers
    tells_count: bool = True  # whether it says how many numbers are wanted
    remarks: Sequence[tuple[Answers, str]] = ()  # what a wrong answer tells about how it came about
    any_case: bool = False  # of words: whether "Weights" is as good as "weights"

    @property
    def is_words(self) -> bool:
        """Whether it asks for words, not for numbers."""
        return isinstance(self.answers[0], str)

    @property
    def wanted(self) -> str:
        """How an answer is to be written."""
        count = len(self.answers)
        if not self.tells_count:
            return "whole numbers"
        if self.is_words:
            return "one word" if count == 1 else f"{count} words, in quotes"
        number = "number" if count == 1 else "numbers"
        with_digits = f"{number} to {_count(self.digits, 'decimal')}"
        return f"{'one' if count == 1 else count} {with_digits if self.digits else f'whole {number}'}"

    @property
    def answer(self) -> str:
        """The right answer as one would write it."""
        written = (each if isinstance(each, str) else f"{each:.{self.digits}f}" for each in self.answers)
        return " ".join(written)


@dataclass(frozen=True)
class Verdict:
    """Whether an answer is right, and what is said to it."""

    is_right: bool
    said: str


def judge(exercise: Exercise, written: Sequence[str]) -> Verdict:
    """Right or wrong, with the reason as far as it can be told; raises if it is not an answer at all."""
    if exercise.is_words:
        return _judge_words(exercise, _words(written))
    text = " ".join(written).strip()
    parts = [part.rstrip(".") or part for part in BETWEEN_NUMBERS.split(text) if part]
    read = [_number(part) for part in parts]
    coarse = [part for part, each in zip(parts, read, strict=True) if each[2] < exercise.digits]
    comma = ""
    if DECIMAL_COMMA.search(text) and "." not in text:
        comma = "A comma stands between numbers: decimals come after a point, as in 1.5. "
    if coarse:
        digits = _count(exercise.digits, "decimal")
        return Verdict(False, f"{comma}{coarse[0]} says too little: write {digits}.")
    for answers, remark in ((exercise.answers, None), *exercise.remarks):
        if len(answers) == len(read) and all(_holding(read, answers, exercise.digits)):
            return Verdict(True, exercise.why) if remark is None else Verdict(False, remark)
    if len(read) != len(exercise.answers):
        return Verdict(False, comma + _wrong_count(exercise, len(read), "number"))
    right = _holding(read, exercise.answers, exercise.digits)
    return Verdict(False, _which("number", right) + exercise.hint)


def _judge_words(exercise: Exercise, words: tuple[str, ...]) -> Verdict:
    if exercise.any_case:
        words = tuple(word.lower() for word in words)
    if words == exercise.answers:
        return Verdict(True, exercise.why)
    for answers, remark in exercise.remarks:
        if words == answers:
            return Verdict(False, remark)
    if len(words) != len(exercise.answers):
        return Verdict(False, _wrong_count(exercise, len(words), "word"))
    right = [ours == theirs for ours, theirs in zip(exercise.answers, words, strict=True)]
    return Verdict(False, _which("word", right) + exercise.hint)


def _holding(read: Sequence[tuple[float, float, int]], answers: Answers, digits: int) -> list[bool]:
    """Whether each number holds: within half a unit of its last digit as written; whole numbers exactly."""
    return [
        abs(claimed - float(true)) <= (half if digits else 0.0) + EXACT
        for (claimed, half, _), true in zip(read, answers, strict=True)
    ]


def _number(part: str) -> tuple[float, float, int]:
    """A number, half a unit of its last digit, and how many digits stand after its point."""
    value, half, text = number(part, 0, "the answer")
    if text == "…":
        raise UsageError(f'the answer: "{part}" is not a number. Write 0.25.')
    return value, half, round(-math.log10(2 * half)) if half else 0


def _words(written: Sequence[str]) -> tuple[str, ...]:
    words = unicodedata.normalize("NFC", " ".join(written)).split()
    if not words:
        raise UsageError("the answer is empty. Give its words, in quotes.")
    return tuple(words)


def _which(thing: str, right: Sequence[bool]) -> str:
    """Which of several parts of an answer are wrong; nothing, where there is one."""
    if len(right) == 1:
        return ""
    wrong = [str(place) for place, holds in enumerate(right, 1) if not holds]
    if len(wrong) == len(right):
        return ""
    return f"Right but for {thing} {', '.join(wrong)}. "


def _wrong_count(exercise: Exercise, given: int, thing: str) -> str:
    return f"{_count(given, thing)} given; wanted: {exercise.wanted}. {exercise.hint}"


def _count(count: int, thing: str) -> str:
    return f"{count} {thing}{'' if count == 1 else 's'}"
