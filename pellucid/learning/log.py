"""The log of a run, `log.txt` in its folder: all that was said about the run, each line with its time."""

import time
import warnings
from collections.abc import Callable, Generator, Iterator
from contextlib import closing, contextmanager, suppress
from io import FileIO
from pathlib import Path
from threading import Lock
from typing import Any

from pellucid.config.schema import Config
from pellucid.errors import PellucidError
from pellucid.folder.seal import writing
from pellucid.learning.display import Lines
from pellucid.learning.step import Step

LOG = "log.txt"


class Log:
    """Show what is said and write it to the run's log; keep it in memory until the file is open."""

    def __init__(self, report: Callable[[str], None]) -> None:
        self._report = report
        self._waiting: list[str] = []
        self._file: FileIO | None = None
        self._lock = Lock()  # the answer to a signal comes from another thread

    def say(self, text: str) -> None:
        """Show a text and write it to the log."""
        self.note(text)
        self._report(text)

    def note(self, text: str) -> None:
        """Write a text to the log alone, for the display shows it already."""
        now = time.strftime("%Y-%m-%d %H:%M:%S")
        with self._lock:
            self._waiting += [f"{now}  {line}\n" for line in text.split("\n")]
            if self._file is not None:
                lines, self._waiting = "".join(self._waiting), []
                with writing(Path(str(self._file.name))):
                    self._file.write(lines.encode(errors="backslashreplace"))

    def open(self, path: Path) -> None:
        """Write to this file from now on, after what an earlier part of the run wrote there."""
        if self._file is None:
            with writing(path):
                self._file = FileIO(path, "a")

    def follow(self, steps: Generator[Step], config: Config, path: Path) -> Iterator[Step]:
        """Yield the same steps; open the file at the first one, and write a line now and then."""
        lines = Lines(config, self.note)
        with closing(steps):
            while True:
                with self.noting_warnings():
                    step = next(steps, None)
                self.open(path)  # not earlier: without a checkpoint it would be in the way of the next try
                if step is None:
                    return
                lines.add(step)
                yield step
                del step  # a trace need not stay in memory

    @contextmanager
    def noting_warnings(self) -> Iterator[None]:
        """Write warnings to the log, too, until the block ends."""
        show = warnings.showwarning

        def note(message: Warning | str, *where: Any, **more: Any) -> None:
            self.note(f"warning: {message}")
            show(message, *where, **more)

        warnings.showwarning = note
        try:
            yield
        finally:
            warnings.showwarning = show

    @contextmanager
    def noting_the_end(self) -> Iterator[None]:
        """Close the file when the block ends; if an error or Ctrl-C ends it, write that down first."""
        try:
            yield
        except (PellucidError, KeyboardInterrupt) as error:
            with suppress(PellucidError):  # the disk may be full
                self.note(str(error) or "interrupted at once.")
            raise
        finally:
            # The answer to a signal may come later still: it is shown then, and no longer written.
            with self._lock:
                if self._file is not None:
                    self._file.close()
                self._file = None
