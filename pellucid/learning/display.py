"""A training on standard error: a bar on a terminal, elsewhere a plain line about every ten seconds."""

import math
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from datetime import timedelta
from typing import Any, TextIO, cast

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn

from pellucid.config.schema import Config, TrainingConfig
from pellucid.learning.step import Step, Validation

EVERY = 10.0  # seconds between two plain lines
MEMORY = 10.0  # seconds after which a step counts for 1/e in the mean loss and the speed

Clock = Callable[[], float]


class SafeStream:
    """A stream for messages to people: if the reader closes it, the text is lost and the training goes on."""

    def __init__(self, stream: TextIO | None) -> None:
        self._stream = stream

    def write(self, text: str) -> int:
        """Write, and ignore a broken pipe or a closed stream."""
        with suppress(OSError, ValueError, AttributeError):  # AttributeError: None, a process without stderr
            self._stream.write(text)  # type: ignore[union-attr]
        return len(text)

    def flush(self) -> None:
        """Flush, and ignore the same errors."""
        with suppress(OSError, ValueError, AttributeError):
            self._stream.flush()  # type: ignore[union-attr]

    def say(self, line: str) -> None:
        """Write a line at once."""
        self.write(f"{line}\n")
        self.flush()

    def isatty(self) -> bool:
        """Return whether a bar can move there."""
        with suppress(ValueError):
            return self._stream is not None and self._stream.isatty()
        return False

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)  # rich asks for the encoding, and for the terminal's number


@contextmanager
def showing(config: Config) -> Iterator[Callable[[Step], None]]:
    """Show a training on standard error; the function shows one step."""
    stream = SafeStream(sys.stderr)
    if stream.isatty():
        with showing_bar(config, Console(file=cast(TextIO, stream))) as show:
            yield show
    else:
        yield Lines(config, stream.say).add


class Lines:
    """A run in plain lines: one about every ten seconds, and some for each validation."""

    def __init__(self, config: Config, say: Callable[[str], None], clock: Clock = time.monotonic) -> None:
        self._pace, self._say, self._clock = Pace(config.training, clock), say, clock
        self._last_line = -math.inf

    def add(self, step: Step) -> None:
        """Say what there is to say after this step."""
        self._pace.add(step)
        if self._clock() - self._last_line >= EVERY:
            self._say(self._pace.line(step))
            self._last_line = self._clock()
        for line in validation_lines(step):
            self._say(line)


@contextmanager
def showing_bar(
    config: Config, console: Console, clock: Clock = time.monotonic
) -> Iterator[Callable[[Step], None]]:
    """Show a bar that moves with every step, and lines above it for each validation."""
    columns = BarColumn(bar_width=12), TextColumn("{task.fields[line]}", markup=False)
    pace, score = Pace(config.training, clock), ""
    with Progress(*columns, console=console, redirect_stdout=False) as progress:
        task = progress.add_task("", total=1.0, line="the first step …")

        def show(step: Step) -> None:
            nonlocal score
            pace.add(step)
            for line in validation_lines(step):
                console.print(line, markup=False, highlight=False, emoji=False)
            if step.validation:
                score = f"  {deciding(step.validation, config.training.validation_metric)}"
            progress.update(task, completed=pace.fraction(step), line=pace.line(step) + score)

        yield show


def validation_lines(step: Step) -> Iterator[str]:
    """Yield the scores of a step's validation as one line, then its samples."""
    if step.validation:
        best = " (the best so far)" if step.best else ""
        yield f"validation at step {step.number:,}: {step.validation}{best}"
        for sample in step.validation.samples:
            yield f"  source:      {sample.source}"
            yield f"  reference:   {sample.reference}"
            yield f"  translation: {sample.translation}"


def validation_progress(
    step: int, total: int, say: Callable[[str], None], clock: Clock = time.monotonic
) -> Callable[[int], None]:
    """Return a function that says, about every ten seconds, how many sentences are translated."""
    last_line = clock()

    def show(done: int) -> None:
        nonlocal last_line
        if done < total and clock() - last_line >= EVERY:
            say(f"validation at step {step:,}: {done:,} of {total:,} sentences are translated")
            last_line = clock()

    return show


def deciding(validation: Validation, metric: str) -> str:
    """Return the figure that decides which model is best, in short."""
    if metric == "loss":
        return f"validation loss {validation.loss:.2f}"
    name = {"bleu": "BLEU", "chrf": "chrF"}.get(metric, metric)
    return f"{name} {getattr(validation.scores, metric):.1f}"


class Pace:
    """The mean loss and the speed of the last seconds, and the time that is left."""

    def __init__(self, training: TrainingConfig, clock: Clock) -> None:
        self._steps, self._limit, self._clock = training.steps, 60 * (training.minutes or math.inf), clock
        self._first: tuple[int, float] | None = None  # number of the first step, and the time of its end
        self._last = 0.0
        self._loss = self._learned = self._tokens = self._seconds = 0.0

    def add(self, step: Step) -> None:
        """Count a step; the time of a validation does not count for the speed."""
        now = self._clock()
        weight = math.exp(-(now - self._last) / MEMORY)
        if self._first is None:
            self._first = step.number, now
        elif step.validation is None:
            self._tokens = self._tokens * weight + step.update.tokens
            self._seconds = self._seconds * weight + now - self._last
        if not step.update.skipped:
            self._loss = self._loss * weight + step.update.plain_loss * step.update.tokens
            self._learned = self._learned * weight + step.update.tokens
        self._last = now

    def fraction(self, step: Step) -> float:
        """Return the share that is done, by steps or by time, whichever is more."""
        return min(1.0, max(step.number / max(self._steps, 1), step.seconds / self._limit))

    def line(self, step: Step) -> str:
        """Return the line: the step and the limit (steps or minutes) of the run; the loss without label
        smoothing, as in a validation; the speed; the time left."""
        assert self._first is not None
        first, since = self._first
        by_steps = (self._steps - step.number) * (self._last - since) / max(step.number - first, 1)
        by_time = self._limit - step.seconds
        parts = [f"step {step.number:,}/{self._steps:,}"]
        if self._limit < math.inf and (step.number == first or by_time < by_steps):
            parts = [f"step {step.number:,}", f"{step.seconds / 60:.1f}/{self._limit / 60:g} minutes"]
        if self._learned:
            parts.append(f"loss {self._loss / self._learned:.3f}")
        if self._seconds:
            parts.append(f"{self._tokens / self._seconds:,.0f} tokens/s")
            parts.append(f"{timedelta(seconds=round(max(min(by_steps, by_time), 0.0)))} left")
        return "  ".join(parts)
