"""An exercise, and the judge of an answer: numbers by the digits they are written with, words exactly."""

import re
import unicodedata
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation

from pellucid.errors import UsageError

Answer = Sequence[str | float]
BETWEEN_NUMBERS = re.compile(r"[\s;×x]+|,\s+")  # so that a shape may be written 2×3
DECIMAL_COMMA = re.compile(r"\d,\d")
EXACT = 1e-9


@dataclass(frozen=True)
class Remark:
    """What to say to a wrong answer that shows what went wrong."""

    answer: Answer
    text: str


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
    tells_count: bool = True  # whether the exercise says how many numbers it wants
    remarks: Sequence[Remark] = ()
    any_order: bool = False  # whether the answer is a set
    any_case: bool = False  # whether "Weights" is as good as "weights"

    @property
    def is_words(self) -> bool:
        """Whether the answer is words, not numbers."""
        return isinstance(self.answer[0], str)

    @property
    def wanted(self) -> str:
        """Say how to write an answer."""
        if not self.tells_count:
            return "whole numbers"
        count, kind = len(self.answer), "word" if self.is_words else "number"
        some = f"one {kind}" if count == 1 else f"{count} {kind}s"
        if self.is_words:
            return some if count == 1 else f"{some}, in quotes"
        return f"{some} to {_count(self.digits, 'decimal')}" if self.digits else some.replace(" ", " whole ")

    def written(self, answer: Answer, more: int = 0) -> str:
        """Write an answer as text, its numbers with `more` decimals than the exercise asks for."""
        digits = self.digits and self.digits + more
        return " ".join(each if isinstance(each, str) else f"{each:.{digits}f}" for each in answer)


@dataclass(frozen=True)
class Verdict:
    """Whether an answer is right, and what to say to it."""

    is_right: bool
    text: str


def judge(exercise: Exercise, written: str) -> Verdict:
    """Judge an answer; raise UsageError if the text cannot be read as an answer."""
    if exercise.is_words:
        words = unicodedata.normalize("NFC", written.lower() if exercise.any_case else written).split()
        if not words:
            raise UsageError("the answer is empty. Give its words, in quotes.")
        return _compare(exercise, words, lambda answer: [a == b for a, b in zip(answer, words, strict=True)])
    if comma := DECIMAL_COMMA.search(written):
        raise UsageError(
            f'the answer: "{comma[0]}" has a comma. Write decimals after a point, as in 0.5, and a space '
            "between numbers."
        )
    numbers = [_number(part.rstrip(".")) for part in BETWEEN_NUMBERS.split(written.strip()) if part]
    if exercise.any_order:
        numbers.sort()
    for number, decimals in numbers:
        if decimals < exercise.digits:
            least = _count(exercise.digits, "decimal")
            return Verdict(False, f"{number} has too few decimals: write {least}.")

    def holds(answer: Answer) -> list[bool]:
        """Compare within half a unit of the last digit as written; whole numbers exactly."""
        pairs = zip(answer, numbers, strict=True)
        halves = [(a, b, 0.5 * 10**-decimals if exercise.digits else 0.0) for a, (b, decimals) in pairs]
        return [abs(float(a) - float(b)) <= half + EXACT for a, b, half in halves]

    return _compare(exercise, numbers, holds)


def _compare(exercise: Exercise, given: Sequence[object], holds: Callable[[Answer], list[bool]]) -> Verdict:
    """Compare the reader's answer with the right answer, then with each wrong answer that has a remark."""
    for answer, text in [(exercise.answer, ""), *((each.answer, each.text) for each in exercise.remarks)]:
        if len(answer) == len(given) and all(holds(answer)):
            return Verdict(not text, text or exercise.why)
    kind = "word" if exercise.is_words else "number"
    if len(given) != len(exercise.answer):
        counted = _count(len(given), kind)
        return Verdict(False, f"{counted} given; wanted: {exercise.wanted}. {exercise.hint}")
    wrong = [str(place) for place, is_right in enumerate(holds(exercise.answer), start=1) if not is_right]
    but = f"Right but for {kind} {', '.join(wrong)}. " if len(wrong) < len(given) else ""
    return Verdict(False, but + exercise.hint)


def _number(part: str) -> tuple[Decimal, int]:
    """Read a number, and how many decimals it is written with."""
    try:
        number = Decimal(part.replace("−", "-"))
    except InvalidOperation:
        number = Decimal("nan")
    if not number.is_finite() or abs(number.adjusted()) > 300:
        raise UsageError(f'the answer: "{part:.40}" is not a number. Write one such as 0.25.')
    return number, max(0, -int(number.as_tuple().exponent))


def _count(count: int, thing: str) -> str:
    return f"{count} {thing}{'' if count == 1 else 's'}"
