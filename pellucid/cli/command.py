"""The command `pellucid`: its verbs, its exit codes, and its messages when something goes wrong."""

import argparse
import importlib
import logging
import shlex
import sys
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from pellucid.cli.arguments import check_models, command_line
from pellucid.cli.streams import drop_output, prepare
from pellucid.errors import PellucidError, Setting, is_out_of_memory

MODULES = {"import": "import_"}  # Python has taken the name
# Verbs that do or judge something, which must not look like a success if their output is lost.
WORKING = ("demo", "leak", "set", "train", "verify")
LOG = logging.getLogger("pellucid")


def main(argv: Sequence[str] | None = None) -> int:
    """Run a command line and return the exit code. The caller handles Ctrl-C."""
    argv = sys.argv[1:] if argv is None else list(argv)
    arguments = argparse.Namespace(verb=None)
    try:
        prepare()
        parser = command_line()
        arguments = parser.parse_args(argv)
        if arguments.verb is None:
            parser.print_help(sys.stderr)
            return 2
        with _messages_as_lines():
            check_models(arguments)
            name = MODULES.get(arguments.verb, arguments.verb)
            importlib.import_module(f"pellucid.cli.{name}").run(arguments)
        if sys.stdout is not None:
            sys.stdout.flush()
    except PellucidError as error:
        message = _with_options(error, arguments)
        if error.exit_code > 128:  # a signal stopped it, and its state is saved
            again = [word for word in map(str, argv) if word != "--resume"]
            again += ["--resume"] if "resume" in arguments else []
            message += f"\nTo go on: {shlex.join(['pellucid', *again])}"
        return _complain(message, error.exit_code)
    except (MemoryError, RuntimeError) as error:
        if not is_out_of_memory(error):
            raise
        return _complain("out of memory. Give the command less at once, or free some memory.", 1)
    except OSError as error:
        drop_output()
        # A reader may leave early, as in `pellucid translate … | head`.
        if isinstance(error, BrokenPipeError) and not error.filename and arguments.verb not in WORKING:
            return 0
        return _complain(f"{error.filename or 'standard output'}: {error.strerror or error}.", 1)
    return 0


@contextmanager
def _messages_as_lines() -> Iterator[None]:
    """Print warnings and log messages as plain lines on standard error, without file name and line number."""

    def show(message: Warning | str, *where: Any, **more: Any) -> None:
        _complain(f"warning: {message}", 0)

    with warnings.catch_warnings():
        warnings.simplefilter("default", UserWarning)
        warnings.showwarning = show
        LOG.setLevel(logging.INFO)
        shown = logging.StreamHandler()  # to standard error, because it is not data
        shown.setFormatter(logging.Formatter("pellucid: %(message)s"))
        LOG.handlers = [shown]
        yield


def _with_options(error: PellucidError, arguments: argparse.Namespace) -> str:
    """Return the message with command-line options for settings: `--beam 0` in place of `beam = 0`."""

    def spell(part: object) -> str:
        if not isinstance(part, Setting) or part.name not in vars(arguments):
            return str(part)
        values = part.value if isinstance(part.value, tuple) else (part.value,)
        shown = [str(value) for value in values if value is not ... and value is not True]
        return " ".join([f"--{part.name.replace('_', '-')}", *shown])

    return error.message.format(*map(spell, error.parts)) if error.parts else str(error)


def _complain(message: str, exit_code: int) -> int:
    print(f"pellucid: {message}", file=sys.stderr)
    return exit_code
