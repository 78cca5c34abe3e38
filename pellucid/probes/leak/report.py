"""What a search for leaks found, and what it tried."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Any

SHOWN = 12  # leaks that a report prints one by one

WORDS = {
    "replaced": "position {0} changes by up to {2:.2g} when token {1} is another",
    "cut": "position {0} changes by up to {2:.2g} when the target ends before token {1}",
    "own label": "position {0} knows label {1}: all labels' probabilities should sum to 1, off by {2:.2g}",
}


@dataclass(frozen=True)
class Leak:
    """A prediction that depends on a token which it must not know: `position, depends_on, amount = leak`."""

    position: int  # of the prediction, counted from 0
    depends_on: int  # the token
    amount: float  # the largest change of a logit, or of the loss; for an own label how far from 1
    modes: tuple[str, ...] = ()  # in which it was seen: "evaluation", "training"
    seen_by: str = "replaced"  # or "cut", or "own label"

    def __iter__(self) -> Iterator[Any]:
        yield from (self.position, self.depends_on, self.amount)

    def __str__(self) -> str:
        return f"{WORDS[self.seen_by].format(*self)} ({' and '.join(self.modes)} mode)"


@dataclass(frozen=True)
class LeakReport:
    """The leaks, by position; empty when every prediction depends only on what came before it."""

    leaks: list[Leak]
    tried: list[str]  # in words, a line for each mode
    rounding: float  # the largest difference that was taken for rounding

    def __str__(self) -> str:
        lines = [self._verdict(), *(f"  {leak}" for leak in self.leaks[:SHOWN])]
        if len(self.leaks) > SHOWN:
            lines.append(f"  … and {len(self.leaks) - SHOWN} more")
        largest = f"{self.rounding:.1e}" if self.rounding else "0"
        lines += ["tried:", *(f"  {line}" for line in self.tried)]
        return "\n".join([*lines, f"largest difference taken for rounding: {largest}"])

    def _verdict(self) -> str:
        if not self.leaks:
            return "nothing leaks: no prediction changed with a token that it must not know"
        count = len({leak.position for leak in self.leaks})
        found = f"it leaks: {count} position{'s depend' if count > 1 else ' depends'} on what must be hidden"
        if any(leak.position == leak.depends_on for leak in self.leaks):
            return f"{found}. On its own label: is the target shifted right before the decoder reads it?"
        in_training = all(leak.modes == ("training",) for leak in self.leaks)
        return f"{found}, in training mode only" if in_training else found


def merged(leaks: Iterable[Leak]) -> list[Leak]:
    """One leak for each pair of positions: the largest amount, and all the modes."""
    found: dict[tuple[int, int], Leak] = {}
    for leak in leaks:
        known = found.setdefault((leak.position, leak.depends_on), leak)
        larger = max(known, leak, key=lambda each: each.amount)
        modes = tuple(dict.fromkeys((*known.modes, *leak.modes)))
        found[leak.position, leak.depends_on] = replace(larger, modes=modes)
    return [found[pair] for pair in sorted(found)]
