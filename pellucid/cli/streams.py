"""Standard output and standard error, made ready for a command: UTF-8, and a display that may go away."""

import io
import os
import sys
from contextlib import suppress


class Display(io.FileIO):
    """A file descriptor that people read: if they leave, or its disk is full, what is written is lost."""

    def write(self, data: bytes, /) -> int:  # type: ignore[override]
        """Never an error, for the work must go on."""
        written = None  # which is also what a descriptor says that does not wait and is full
        with suppress(OSError):
            written = super().write(data)
        return len(data) if written is None else written


def prepare() -> None:
    """Whatever the locale says: text is UTF-8, lines end in line feeds, a path is the bytes that it was."""
    how = {"encoding": "utf-8", "errors": "surrogateescape", "newline": "\n"}
    if sys.stderr is None:  # the command was called with 2>&-
        sys.stderr = open(os.devnull, "w", **how)  # type: ignore[call-overload]  # noqa: SIM115
    elif sys.__stderr__ is sys.stderr and not (os.name == "nt" and sys.__stderr__.isatty()):
        # Not where a caller put something else there; and a console of Windows wants no bytes.
        display = Display(sys.__stderr__.fileno(), "wb", closefd=False)
        buffered = io.BufferedWriter(display)  # type: ignore[type-var]
        sys.stderr = io.TextIOWrapper(buffered, line_buffering=True, **how)  # type: ignore[arg-type]
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(**how)  # type: ignore[arg-type]


def drop_output() -> None:
    """What is still in the buffer goes nowhere, or Python would complain of it when it ends."""
    with suppress(OSError, ValueError, AttributeError):
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, sys.stdout.fileno())
        os.close(nowhere)
