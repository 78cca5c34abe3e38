"""The standard streams of a command: always UTF-8, and no error if progress cannot be shown."""

import io
import os
import sys
from contextlib import suppress


class Display(io.FileIO):
    """A file descriptor for progress messages that never fails: if its reader has closed it or the disk is
    full, the text is lost."""

    def write(self, data: bytes, /) -> int:  # type: ignore[override]
        """Write, and never raise an error: a closed terminal or a full disk must not stop the work."""
        written = None  # also the answer of a full descriptor that does not block
        with suppress(OSError):
            written = super().write(data)
        return len(data) if written is None else written


def prepare() -> None:
    """Set up standard output and standard error for any locale: UTF-8, line feeds only, and file names that
    are not UTF-8 as their original bytes. Let input and output wait, though the caller's do not."""
    for stream in (sys.stdin, sys.stdout):
        with suppress(OSError, ValueError, AttributeError):  # none, closed, or no file
            os.set_blocking(stream.fileno(), True)
    how = {"encoding": "utf-8", "errors": "surrogateescape", "newline": "\n"}
    if sys.stderr is None:  # the command was called with 2>&-
        sys.stderr = open(os.devnull, "w", **how)  # type: ignore[call-overload]  # noqa: SIM115
    elif sys.__stderr__ is sys.stderr and not (os.name == "nt" and sys.__stderr__.isatty()):
        # Not where a caller has replaced the stream; and a console of Windows takes no bytes.
        display = Display(sys.__stderr__.fileno(), "wb", closefd=False)
        buffered = io.BufferedWriter(display)  # type: ignore[type-var]
        sys.stderr = io.TextIOWrapper(buffered, line_buffering=True, **how)  # type: ignore[arg-type]
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(**how)  # type: ignore[arg-type]


def drop_output() -> None:
    """Discard the text still in standard output's buffer, so that Python reports no second error at exit."""
    with suppress(OSError, ValueError, AttributeError):
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, sys.stdout.fileno())
        os.close(nowhere)
