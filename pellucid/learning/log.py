"""The two files that record a run: `log.txt` has every message with its time; `metrics.jsonl` has a JSON line
for each step, and one for the average at the end."""

import json
import math
import time
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import asdict
from io import FileIO
from pathlib import Path
from typing import Any

from pellucid.errors import PellucidError
from pellucid.folder.manifest import jsonable
from pellucid.folder.whole_file import write_whole, writing
from pellucid.learning.step import Step

LOG, METRICS = "log.txt", "metrics.jsonl"


class Log:
    """The log of a run: it shows messages and writes them to a file, or keeps them until the file is open."""

    def __init__(self, report: Callable[[str], None]) -> None:
        self._report = report
        self._waiting: list[str] = []
        self._log: FileIO | None = None
        self._metrics: FileIO | None = None

    def open(self, folder: Path, last_step: int) -> None:
        """Open log.txt and metrics.jsonl in this folder for appending. Delete the metrics of steps after
        `last_step`, because the resumed run writes them again."""
        log, metrics = folder / LOG, folder / METRICS
        with writing(metrics):
            if metrics.exists():
                lines = metrics.read_text("utf-8").splitlines(keepends=True)
                write_whole(metrics, "".join(line for line in lines if _step_of(line) <= last_step).encode())
            # Files without a buffer: on a full disk, closing one would fail once more.
            self._log, self._metrics = FileIO(log, "a"), FileIO(metrics, "a")

    def say(self, text: str) -> None:
        """Show a text and write it to the log."""
        self.note(text)
        self._report(text)

    def note(self, text: str) -> None:
        """Write a text to the log only, for example a line that the display already shows."""
        now = time.strftime("%Y-%m-%d %H:%M:%S")
        self._waiting += [f"{now}  {line}\n" for line in text.split("\n")]
        if self._log is not None:
            lines, self._waiting = "".join(self._waiting), []
            _write(self._log, lines.encode(errors="backslashreplace"))

    def measure(self, values: Mapping[str, Any]) -> None:
        """Write these values to metrics.jsonl as a line of JSON."""
        assert self._metrics is not None
        line = json.dumps(jsonable(values), allow_nan=False, ensure_ascii=False)
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
    values |= asdict(step.update)
    return values | ({} if step.validation is None else {"validation": step.validation.figures()})


def _write(file: FileIO, content: bytes) -> None:
    with writing(Path(str(file.name))):
        file.write(content)


def _step_of(line: str) -> float:
    """Return the step in a line of metrics.jsonl; infinity for the final average or an incomplete line."""
    try:
        entry = json.loads(line)
        return math.inf if "average" in entry else int(entry["step"])
    except (ValueError, KeyError, TypeError):
        return math.inf
