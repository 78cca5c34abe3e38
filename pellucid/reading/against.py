"""Two targets of one source, or one target by two models: where they part, and which is more probable."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import zip_longest

from pellucid.errors import UsageError
from pellucid.reading.reading import Reading
from pellucid.reading.steps import Step
from pellucid.reading.words import number_text, visible
from pellucid.seeing.viewed import Viewed


@dataclass(frozen=True)
class Difference(Viewed):
    """Two readings of one source, side by side."""

    ours: Reading
    theirs: Reading
    parts_at: int | None  # the first step, from 0, that expects another token; None: the targets are equal
    searches: list[str]  # what the search did with a target that the user chose, a sentence each

    @property
    def steps(self) -> list[tuple[Step | None, Step | None]]:
        """Both targets step by step; the shorter one ends in None."""
        return list(zip_longest(self.ours.steps, self.theirs.steps))

    @property
    def log_ratio(self) -> float:
        """log P(ours) − log P(theirs), the end tokens included."""
        ours, theirs = ([step.loss for step in each.steps] for each in (self.ours, self.theirs))
        return math.fsum(theirs) - math.fsum(ours)

    @property
    def verdict(self) -> str:
        """Where the targets part, and which one is more probable as a whole, in words."""
        if self.parts_at is None:
            return f"The two targets are the same. {self._whole()}"
        step = self.ours.steps[self.parts_at]
        both = ", ".join(
            f"{visible(each.expected)!r} has probability {number_text(each.probability, '.4f')}"
            for each in (step, self.theirs.steps[self.parts_at])
        )
        where = f"step {self.parts_at + 1}, after {visible(step.input)!r}"
        return f"They part at {where}: {both}. {self._whole()}"

    def _whole(self) -> str:
        if math.isnan(self.log_ratio):
            return (
                "Which is more probable cannot be said: a probability is not a number (NaN). "
                "pellucid.find_nonfinite(model) names the first tensor that holds one."
            )
        if abs(self.log_ratio) < 1e-4:
            return "As a whole they are equally probable."
        ours_first = self.log_ratio > 0
        times = math.exp(min(abs(self.log_ratio), 700))  # beyond 709 exp overflows
        factor = f"{times:,.1f}" if times < 1e6 else f"{times:.1e}"
        if self.parts_at is None:
            model = "first" if ours_first else "second"
            return f"To the {model} model it is {factor} times as probable as to the other."
        texts = [visible(each.translation.text) for each in (self.ours, self.theirs)]
        more, less = texts if ours_first else reversed(texts)
        return f"As a whole, {more!r} is {factor} times as probable as {less!r}."


def compare_targets(ours: Reading, theirs: Reading, searches: Sequence[str] = ()) -> Difference:
    """Compare two readings of the same source: of two targets, or by two models.

    searches: what the search did with a target that the user chose, a sentence each.
    """
    if ours.source_tokens != theirs.source_tokens:
        if ours.translation.source == theirs.translation.source and ours.to != theirs.to:
            raise UsageError(
                f"one goes to {ours.to}, the other to {theirs.to}: the tag makes them two sources. "
                "Explain two targets in one language."
            )
        sources = [visible(each.translation.source) for each in (ours, theirs)]
        raise UsageError(
            f"{sources[0]!r} and {sources[1]!r} are different sources. Explain two targets of one source. To "
            "compare one word in two sentences, use translator.compare."
        )
    pairs = enumerate(zip(ours.steps, theirs.steps, strict=False))
    parts_at = next((n for n, (one, other) in pairs if one.expected != other.expected), None)
    return Difference(ours, theirs, parts_at, list(searches))
