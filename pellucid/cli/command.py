"""The command `pellucid`: its verbs, its exit codes, and how it says what went wrong."""

import argparse
import io
import os
import sys
import warnings
from collections.abc import Sequence
from contextlib import suppress
from typing import TextIO

from pellucid.cli import data, demo, evaluate, example, explain, inspect, leak, score, train, translate
from pellucid.errors import PellucidError
from pellucid.version import __version__

INTERRUPTED = 130


def main(argv: Sequence[str] | None = None) -> int:
    """Runs a command line; the exit code: 0, 1 (it failed), 2 (it was called wrongly), 130 (interrupted)."""
    _speak_utf8()
    parser = command_line()
    arguments = parser.parse_args(argv)
    if arguments.verb is None:
        parser.print_help(sys.stderr)
        return 2
    with warnings.catch_warnings():
        warnings.simplefilter("default", UserWarning)  # they are for people, and never stop the work
        warnings.showwarning = _show_warning
        try:
            arguments.run(arguments)
            sys.stdout.flush()
        except PellucidError as error:
            return _complain(str(error), error.exit_code)
        except KeyboardInterrupt:
            return _complain("interrupted.", INTERRUPTED)
        except BrokenPipeError:  # who reads us has seen enough, as in `pellucid translate … | head`
            _drop_output()
        except OSError as error:
            _drop_output()
            return _complain(f"{error.filename or 'standard output'}: {error.strerror or error}.", 1)
    return 0


def command_line() -> argparse.ArgumentParser:
    """All verbs with their arguments."""
    parser = argparse.ArgumentParser(
        prog="pellucid",
        description="An encoder-decoder Transformer that you can train, run and see through.",
        epilog="MODEL is a model folder, or the word `demo` for the model that comes with the package. "
        "Each verb has its own --help, with an example.",
        allow_abbrev=False,
    )
    parser.add_argument("--version", action="version", version=f"pellucid {__version__}")
    verbs = parser.add_subparsers(title="verbs", dest="verb", metavar="VERB")
    for verb in (demo, train, translate, evaluate, score, explain, example, leak, inspect, data):
        verb.add(verbs)
    return parser


def _speak_utf8() -> None:
    """Whatever the locale says: text is UTF-8, lines end in line feeds, a path is the bytes that it was."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(encoding="utf-8", errors="surrogateescape", newline="\n")


def _complain(message: str, exit_code: int) -> int:
    with suppress(OSError):
        print(f"pellucid: {message}", file=sys.stderr)
    return exit_code


def _show_warning(
    message: Warning | str,
    category: type[Warning],
    filename: str,
    lineno: int,
    file: TextIO | None = None,
    line: str | None = None,
) -> None:
    """A warning as a line for people: where in our code it was raised is nothing to them."""
    _complain(f"warning: {message}", 0)


def _drop_output() -> None:
    """What is still in the buffer goes nowhere, or Python would complain of it when it ends."""
    with suppress(OSError, ValueError):
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, sys.stdout.fileno())
        os.close(nowhere)
