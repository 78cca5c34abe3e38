"""The two files that record a run: `log.txt` has every message with its time; `metrics.jsonl` has a JSON
line for each step, and one for the average at the end."""

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
    """Shows each message and writes it to the log; keeps messages in memory until the file is open."""

    def __init__(self, report: Callable[[str], None]) -> None:
        self._report = report
        self._waiting: list[str] = []
        self._file: FileIO | None = None

    def say(self, text: str) -> None:
        """Show a text and write it to the log."""
        self.note(text)
        self._report(text)

    def note(self, text: str) -> None:
        """Write a text to the log only, for example a line that the display shows already."""
        now = time.strftime("%Y-%m-%d %H:%M:%S")
        self._waiting += [f"{now}  {line}\n" for line in text.split("\n")]
        if self._file is not None:
            lines, self._waiting = "".join(self._waiting), []
            with writing(Path(str(self._file.name))):
                self._file.write(lines.encode(errors="backslashreplace"))

    def open(self, path: Path) -> None:
        """Append to this file from now on."""
        with writing(path):
            self._file = FileIO(path, "a")

    @contextmanager
    def following(self) -> Iterator[None]:
        """Until the block ends, note warnings too; then note an error or Ctrl-C, and close the file."""
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
            if self._file is not None:
                self._file.close()


def figures_of(step: Step) -> dict[str, Any]:
    """Return the line of the metrics for a step."""
    values = {"step": step.number, "epoch": step.epoch, "seconds": round(step.seconds, 3)}
    values |= asdict(step.update)
    return values | ({} if step.validation is None else {"validation": step.validation.figures()})


def open_metrics(path: Path, last_step: int) -> FileIO:
    """Open for appending, without the lines after `last_step`: a resumed run writes these again.

    The file has no buffer: on a full disk, closing it would fail once more.
    """
    with writing(path):
        if path.exists():
            lines = path.read_text("utf-8").splitlines(keepends=True)
            write_whole(path, "".join(line for line in lines if _step_of(line) <= last_step).encode())
        return FileIO(path, "a")


def write_metrics(file: FileIO, values: Mapping[str, Any]) -> None:
    """Write one line."""
    with writing(Path(str(file.name))):
        file.write(json.dumps(jsonable(values), allow_nan=False, ensure_ascii=False).encode() + b"\n")


def _step_of(line: str) -> float:
    """Return a line's step; infinity for the average at the end, and for a line that a kill cut short."""
    try:
        entry = json.loads(line)
        return math.inf if "average" in entry else int(entry["step"])
    except (ValueError, KeyError, TypeError):
        return math.inf
