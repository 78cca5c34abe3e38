"""A step of training as a `for` loop sees it."""

from dataclasses import dataclass, field

from pellucid.learning.learner import Update
from pellucid.learning.validation import Validation
from pellucid.seeing.trace import Trace


@dataclass(frozen=True)
class Step:
    """A step of training as a `for` loop sees it: its number, the epoch, what was learned, seconds of
    training so far."""

    number: int
    epoch: int
    update: Update
    seconds: float
    validation: Validation | None = None  # at a step that was validated
    best: bool = False  # whether that was the best so far
    trace: Trace | None = field(default=None, repr=False)  # at a step that was recorded
