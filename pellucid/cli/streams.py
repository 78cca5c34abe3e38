"""Standard output and standard error of a command: UTF-8, and a display that may be closed at any time."""

import io
import os
import sys
from contextlib import suppress


class Display(io.FileIO):
    """A file descriptor for progress messages. If its reader closes it or its disk is full, the text is
    lost."""

    def write(self, data: bytes, /) -> int:  # type: ignore[override]
        """Write, and never raise an error, so that a closed terminal or a full disk does not stop the
        work."""
        written = None  # also the answer of a full descriptor that does not block
        with suppress(OSError):
            written = super().write(data)
        return len(data) if written is None else written


def prepare() -> None:
    """Set up the streams for any locale: text is UTF-8, lines end with a line feed, and bytes in paths are
    kept."""
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
    """Discard what is still in the output buffer, because nobody can read it any more."""
    with suppress(OSError, ValueError, AttributeError):
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, sys.stdout.fileno())
        os.close(nowhere)
