"""Training as it goes, on standard error: a bar on a terminal, a plain line now and then elsewhere."""

import math
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from datetime import timedelta
from typing import TextIO, cast

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn

from pellucid.config.schema import Config, TrainingConfig
from pellucid.learning.step import Step
from pellucid.learning.validation import Validation

EVERY = 10.0  # seconds between two plain lines
MEMORY = 10.0  # seconds after which a step counts for 1/e in the mean loss and the speed

Clock = Callable[[], float]


class Spectators:
    """A stream that people read: if they leave, what is written is lost, and the training goes on."""

    def __init__(self, stream: TextIO | None) -> None:
        self._stream = stream

    def write(self, text: str) -> int:
        """Never an error: neither of a pipe that nobody reads nor of a stream that was closed."""
        with suppress(OSError, ValueError):
            if self._stream is not None:
                self._stream.write(text)
        return len(text)

    def say(self, line: str) -> None:
        """A line."""
        self.write(f"{line}\n")
        self.flush()

    def flush(self) -> None:
        """As `write`."""
        with suppress(OSError, ValueError):
            if self._stream is not None:
                self._stream.flush()

    def isatty(self) -> bool:
        """Whether a bar can move there."""
        with suppress(OSError, ValueError):
            return self._stream is not None and self._stream.isatty()
        return False

    @property
    def encoding(self) -> str:
        """What it can write."""
        return getattr(self._stream, "encoding", None) or "utf-8"

    def fileno(self) -> int:
        """The terminal's, for its size; -1 where there is none."""
        with suppress(OSError, ValueError):
            return -1 if self._stream is None else self._stream.fileno()
        return -1


def show(steps: Iterable[Step], config: Config) -> None:
    """Runs a training to its end and shows how it goes, as long as there is somebody to see it."""
    spectators = Spectators(sys.stderr)
    if spectators.isatty():
        show_bar(steps, config, Console(file=cast(TextIO, spectators)))
    else:
        show_lines(steps, config, spectators.say)


def show_lines(
    steps: Iterable[Step], config: Config, say: Callable[[str], None], clock: Clock = time.monotonic
) -> None:
    """A line about every ten seconds, and some for each validation."""
    lines = Lines(config, say, clock)
    for step in steps:
        lines.add(step)


class Lines:
    """A run in plain lines: one about every ten seconds, and some for each validation."""

    def __init__(self, config: Config, say: Callable[[str], None], clock: Clock = time.monotonic) -> None:
        self._pace, self._say, self._clock = Pace(config.training, clock), say, clock
        self._said = -math.inf  # when

    def add(self, step: Step) -> None:
        """Say what this step gives to say."""
        self._pace.add(step)
        if self._clock() - self._said >= EVERY:
            self._say(self._pace.line(step))
            self._said = self._clock()
        if step.validation:
            for line in validation_lines(step.number, step.validation, step.best):
                self._say(line)


def show_bar(steps: Iterable[Step], config: Config, console: Console, clock: Clock = time.monotonic) -> None:
    """A bar that moves with every step, and a line above it for each validation."""
    columns = BarColumn(bar_width=12), TextColumn("{task.fields[line]}", markup=False)
    pace, last = Pace(config.training, clock), ""
    with Progress(*columns, console=console, redirect_stdout=False) as progress:
        task = progress.add_task("", total=1.0, line="the first step …")
        for step in steps:
            pace.add(step)
            if step.validation:
                for line in validation_lines(step.number, step.validation, step.best):
                    console.print(line, markup=False, highlight=False, emoji=False)
                last = f"  {deciding(step.validation, config.training.validation_metric)}"
            told = f"  validation at step {step.number + 1:,} …" if validates_next(step, config) else last
            progress.update(task, completed=pace.fraction(step), line=pace.line(step) + told)


def validates_next(step: Step, config: Config) -> bool:
    """Whether the next step ends in a validation; until then the bar stands still."""
    number, training = step.number + 1, config.training
    due = number % training.validate_every == 0 or number == training.steps
    return due and number <= training.steps and bool(config.data.validation or config.data.held_out)


def validation_lines(number: int, validation: Validation, best: bool) -> Iterator[str]:
    """What a validation found, in one line; then its samples."""
    yield f"validation at step {number:,}: {validation}{' (the best so far)' if best else ''}"
    for sample in validation.samples:
        yield f"  source:      {sample.source}"
        yield f"  reference:   {sample.reference}"
        yield f"  translation: {sample.translation}"


def validation_progress(
    step: int, total: int, say: Callable[[str], None], clock: Clock = time.monotonic
) -> Callable[[int], None]:
    """Return a function that says, about every ten seconds, how many sentences are translated."""
    said = clock()

    def tell(done: int) -> None:
        nonlocal said
        if done < total and clock() - said >= EVERY:
            say(f"validation at step {step:,}: {done:,} of {total:,} sentences are translated")
            said = clock()

    return tell


def deciding(validation: Validation, metric: str) -> str:
    """The figure that decides which model is best, in short."""
    name = {"bleu": "BLEU", "chrf": "chrF", "loss": "validation loss"}.get(metric, metric)
    return f"{name} {getattr(validation, metric):.{2 if metric == 'loss' else 1}f}"


class Pace:
    """How a run goes: the mean loss and the speed of the last seconds, and the time that is left."""

    def __init__(self, training: TrainingConfig, clock: Clock) -> None:
        self._training, self._clock = training, clock
        self._first: tuple[int, float] | None = None  # the first step's number, and when it was done
        self._last = 0.0
        self._loss = self._learned = self._tokens = self._seconds = 0.0

    def add(self, step: Step) -> None:
        """Count a step; leave the time of a validation out of the speed."""
        now = self._clock()
        if self._first is None:
            self._first = step.number, now
        elif step.validation is None:
            faded = math.exp(-(now - self._last) / MEMORY)
            self._tokens = self._tokens * faded + step.update.tokens
            self._seconds = self._seconds * faded + now - self._last
        if not step.update.skipped:
            faded = math.exp(-(now - self._last) / MEMORY)
            self._loss = self._loss * faded + step.update.plain_loss * step.update.tokens
            self._learned = self._learned * faded + step.update.tokens
        self._last = now

    def fraction(self, step: Step) -> float:
        """How much is done, by steps or by time, whichever is further."""
        by_steps = step.number / max(self._training.steps, 1)
        by_time = step.seconds / (60 * self._training.minutes) if self._training.minutes else 0.0
        return min(1.0, max(by_steps, by_time))

    def line(self, step: Step) -> str:
        """Step, and of how many steps or minutes, whichever ends the run; loss (without label smoothing, as a
        validation has it), speed, time left."""
        parts = [f"step {step.number:,}/{self._training.steps:,}"]
        if (minutes := self._training.minutes) is not None and self._ends_by_time(step):
            parts = [f"step {step.number:,}", f"{step.seconds / 60:.1f}/{minutes:g} minutes"]
        if self._learned:
            parts.append(f"loss {self._loss / self._learned:.3f}")
        if self._seconds:
            parts.append(f"{self._tokens / self._seconds:,.0f} tokens/s")
            parts.append(f"{timedelta(seconds=round(self._seconds_left(step)))} left")
        return "  ".join(parts)

    def _seconds_left(self, step: Step) -> float:
        """At the pace so far, validations included; `minutes` may end it earlier."""
        return max(min(self._seconds_to_last_step(step), self._seconds_to_last_minute(step)), 0.0)

    def _ends_by_time(self, step: Step) -> bool:
        """Whether `minutes` ends the run before `steps` does, at the pace so far."""
        assert self._first is not None
        first = step.number == self._first[0]
        return first or self._seconds_to_last_minute(step) < self._seconds_to_last_step(step)

    def _seconds_to_last_minute(self, step: Step) -> float:
        minutes = self._training.minutes
        return math.inf if minutes is None else 60 * minutes - step.seconds

    def _seconds_to_last_step(self, step: Step) -> float:
        assert self._first is not None
        number, since = self._first
        done = max(step.number - number, 1)
        return (self._training.steps - step.number) * (self._last - since) / done
