"""Compare two targets of one source, or the readings of two models: where they first differ, and which is
more probable."""

import math
from dataclasses import dataclass
from itertools import zip_longest

from pellucid.errors import UsageError
from pellucid.reading.reading import Reading, Step
from pellucid.reading.words import number_text, visible
from pellucid.seeing.viewed import Viewed


@dataclass(frozen=True)
class Difference(Viewed):
    """Two readings of one source, side by side."""

    ours: Reading
    theirs: Reading
    searches: list[str]  # what the search did with a target that the user chose, a sentence each

    @property
    def steps(self) -> list[tuple[Step | None, Step | None]]:
        """Return both targets step by step; after the end of the shorter one, its steps are None."""
        return list(zip_longest(self.ours.steps, self.theirs.steps))

    @property
    def parts_at(self) -> int | None:
        """Return the first step, from 0, at which the expected tokens differ; None if none differ."""
        for place, (one, other) in enumerate(self.steps):
            if one is None or other is None or one.expected != other.expected:
                return place
        return None

    @property
    def log_ratio(self) -> float:
        """Return log P(ours) − log P(theirs), end tokens included."""
        ours, theirs = (math.fsum(step.loss for step in each.steps) for each in (self.ours, self.theirs))
        return theirs - ours

    @property
    def verdict(self) -> str:
        """Say where the targets first differ, and how many times as probable one is as the other."""
        where = "The two targets are the same."
        if self.parts_at is not None:
            steps = [step for step in self.steps[self.parts_at] if step]  # one, if the other is cut off
            both = ", ".join(
                f"{visible(each.expected)!r} has probability {number_text(each.probability, '.4f')}"
                for each in steps
            )
            where = f"They part at step {self.parts_at + 1}, after {visible(steps[0].input)!r}: {both}."
        times = number_text(math.exp(min(abs(self.log_ratio), 700)), ",.1f")  # beyond 709 exp overflows
        if abs(self.log_ratio) > math.log(1e6):
            times = f"e^{abs(self.log_ratio):.1f}"
        more, less = ("A", "B") if self.log_ratio > 0 else ("B", "A")
        return f"{where} As a whole {more} is {times} times as probable as {less}."


def compare_targets(ours: Reading, theirs: Reading, searches: list[str]) -> Difference:
    """Compare two readings of the same source: of two targets, or by two models."""
    if ours.source_tokens != theirs.source_tokens:
        sources = [f"{visible(each.translation.source)!r} to {each.to}" for each in (ours, theirs)]
        raise UsageError(
            f"{sources[0]} and {sources[1]} are different sources (the target language counts too). Explain "
            "two targets of one source. To compare one word in two sentences, use translator.compare."
        )
    return Difference(ours, theirs, searches)
