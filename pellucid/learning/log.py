"""Tell how a run goes: on standard error, as a progress bar on a terminal or else as a plain line about every
ten seconds; and in the two files that record it.

`log.txt` has every message with its time; `metrics.jsonl` has a JSON line for each step, and one for the
average at the end.
"""

import json
import math
import sys
import time
import warnings
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from dataclasses import asdict
from datetime import timedelta
from io import FileIO
from pathlib import Path
from statistics import fmean
from typing import Any

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn

from pellucid.config.schema import Config, TrainingConfig
from pellucid.errors import PellucidError
from pellucid.folder.manifest import jsonable
from pellucid.folder.whole_file import write_whole, writing
from pellucid.learning.step import Step, share_done
from pellucid.text.preparation import visible

LOG, METRICS = "log.txt", "metrics.jsonl"
EVERY = 10.0  # seconds between two plain lines
RECENT = 100  # steps whose mean loss is shown


def say(line: str) -> None:
    """Write a line to standard error at once."""
    print(line, file=sys.stderr, flush=True)


def showing(config: Config) -> AbstractContextManager[Callable[[Step], None]]:
    """Show the progress of a training run on standard error until the block ends. The block gets a function
    to call with each step."""
    if sys.stderr is not None and sys.stderr.isatty():
        return showing_bar(config, Console(stderr=True))
    return nullcontext(plain_lines(config, say))


def plain_lines(config: Config, say: Callable[[str], None]) -> Callable[[Step], None]:
    """Return a function to call with each step. About every ten seconds it passes a line to `say`, and after
    each validation its results."""
    pace, last_line = Pace(config.training), -math.inf

    def show(step: Step) -> None:
        nonlocal last_line
        pace.add(step)
        if step.seconds - last_line >= EVERY:
            say(pace.line(step))
            last_line = step.seconds
        for line in validation_lines(step):
            say(line)

    return show


@contextmanager
def showing_bar(config: Config, console: Console) -> Iterator[Callable[[Step], None]]:
    """Show a progress bar until the block ends, with validation results above it. Yield a function to call
    with each step."""
    columns = BarColumn(bar_width=12), TextColumn("{task.fields[line]}", markup=False)
    pace = Pace(config.training)
    with Progress(*columns, console=console, redirect_stdout=False) as progress:
        task = progress.add_task("", total=1.0, line="the first step …")

        def show(step: Step) -> None:
            pace.add(step)
            for line in validation_lines(step):
                console.print(line, markup=False, highlight=False, emoji=False)
            done = share_done(config.training, step.number, step.seconds)
            progress.update(task, completed=done, line=pace.line(step))

        yield show


def validation_lines(step: Step) -> Iterator[str]:
    """Yield the scores of the step's validation as one line, those of each corpus if there are several, then
    its sample translations; nothing if the step has no validation."""
    if step.validation:
        best = " (the best so far)" if step.best else ""
        yield f"validation at step {step.number:,}: {step.validation}{best}"
        for name, validation in step.validation.corpora.items():
            yield f"  {name}: {validation}"
        for sample in step.validation.samples:
            yield f"  source:      {visible(sample.source)}"
            yield f"  reference:   {visible(sample.reference)}"
            yield f"  translation: {visible(sample.translation)}"


class Pace:
    """The progress of a training run: mean loss of the last hundred steps, tokens per second, and time
    left."""

    def __init__(self, training: TrainingConfig) -> None:
        self._steps, self._limit = training.steps, 60 * (training.minutes or math.inf)
        self._first: Step | None = None
        self._last: Step | None = None
        self._losses = deque[float](maxlen=RECENT)
        self._seconds, self._tokens = 0.0, 0

    def add(self, step: Step) -> None:
        """Add a step to the statistics. The first step, and each step right after a validation, are left out
        of the speed."""
        self._first = self._first or step
        if self._last and not self._last.validation:
            self._tokens += step.update.tokens
            self._seconds += step.seconds - self._last.seconds
        if not step.update.skipped:
            self._losses.append(step.update.plain_loss)
        self._last = step

    def line(self, step: Step) -> str:
        """Return a line such as "step 120/4,000  loss 5.123  2,400 tokens/s  0:12:30 left". It shows minutes
        instead of the total of steps if the time limit comes first. The loss has no label smoothing, as in
        validations."""
        first = self._first or step
        pace = (step.seconds - first.seconds) / max(step.number - first.number, 1)
        by_steps, by_time = (self._steps - step.number) * pace, self._limit - step.seconds
        parts = [f"step {step.number:,}/{self._steps:,}"]
        if self._limit < math.inf and (step is first or by_time < by_steps):
            parts = [f"step {step.number:,}", f"{step.seconds / 60:.1f}/{self._limit / 60:g} minutes"]
        if self._losses:
            parts.append(f"loss {fmean(self._losses):.3f}")
        if self._seconds:
            parts.append(f"{self._tokens / self._seconds:,.0f} tokens/s")
            parts.append(f"{timedelta(seconds=round(max(min(by_steps, by_time), 0.0)))} left")
        return "  ".join(parts)


class Log:
    """The log of a run: it shows messages and writes them to a file, or keeps them until the file is open.

    writes: whether it does, which only the first of several processes wants.
    """

    def __init__(self, report: Callable[[str], None], writes: bool = True) -> None:
        self._report, self._writes = report, writes
        self._waiting: list[str] = []
        self._log: FileIO | None = None
        self._metrics: FileIO | None = None

    def open(self, folder: Path, last_step: int) -> None:
        """Open log.txt and metrics.jsonl in this folder for appending. Delete the metrics of steps after
        `last_step`, because the resumed run writes them again."""
        if not self._writes:
            return
        log, metrics = folder / LOG, folder / METRICS
        with writing(metrics):
            if metrics.exists():
                lines = metrics.read_text("utf-8").splitlines(keepends=True)
                write_whole(metrics, "".join(line for line in lines if _step_of(line) <= last_step).encode())
            # Files without a buffer: on a full disk, closing one would fail once more.
            self._log, self._metrics = FileIO(log, "a"), FileIO(metrics, "a")

    def say(self, text: str) -> None:
        """Show a text and write it to the log."""
        if self._writes:
            self.note(text)
            self._report(text)

    def note(self, text: str) -> None:
        """Write a text to the log only, for example a line that the display already shows."""
        if not self._writes:
            return
        now = time.strftime("%Y-%m-%d %H:%M:%S")
        self._waiting += [f"{now}  {line}\n" for line in text.split("\n")]
        if self._log is not None:
            lines, self._waiting = "".join(self._waiting), []
            _write(self._log, lines.encode(errors="backslashreplace"))

    def measure(self, values: Mapping[str, Any]) -> None:
        """Write these values to metrics.jsonl as a line of JSON."""
        if self._metrics is None:
            return
        line = json.dumps(jsonable(values), allow_nan=False)
        _write(self._metrics, line.encode() + b"\n")

    @contextmanager
    def following(self) -> Iterator[None]:
        """Log warnings until the block ends, and the error or Ctrl-C that ends it; then close the files."""
        show = warnings.showwarning

        def note(message: Warning | str, *where: Any, **more: Any) -> None:
            self.note(f"warning: {message}")
            show(message, *where, **more)

        warnings.showwarning = note
        try:
            yield
        except (PellucidError, KeyboardInterrupt) as error:
            with suppress(PellucidError):  # the disk may be full
                self.note(str(error) if isinstance(error, PellucidError) else "interrupted at once.")
            raise
        finally:
            warnings.showwarning = show
            for file in filter(None, (self._log, self._metrics)):
                file.close()


def figures_of(step: Step) -> dict[str, Any]:
    """Return what metrics.jsonl records of a step: its number, losses, learning rate, validation …"""
    values = {"step": step.number, "epoch": step.epoch, "seconds": round(step.seconds, 3)}
    values |= asdict(step.update) | {"cost": asdict(step.cost)}
    return values | ({} if step.validation is None else {"validation": step.validation.figures()})


def _write(file: FileIO, content: bytes) -> None:
    with writing(Path(str(file.name))):
        file.write(content)


def _step_of(line: str) -> float:
    """Return the step in a line of metrics.jsonl; infinity for a run's last line or a broken one."""
    try:
        entry = json.loads(line)
        return math.inf if "kept" in entry else int(entry["step"])
    except (ValueError, KeyError, TypeError):
        return math.inf
