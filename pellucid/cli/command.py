"""The command `pellucid`: its verbs, its exit codes, and how it says what went wrong."""

import argparse
import logging
import sys
import warnings
from collections.abc import Sequence
from typing import TextIO

from pellucid.cli import (
    average,
    compare,
    data,
    demo,
    evaluate,
    example,
    exercise,
    experiment,
    explain,
    export,
    import_,
    inspect,
    leak,
    score,
    set_,
    train,
    translate,
)
from pellucid.cli.spelling import spelled
from pellucid.cli.streams import drop_output, prepare
from pellucid.errors import PellucidError
from pellucid.folder.version import __version__
from pellucid.learning.memory import is_out_of_memory

# What these say is all that they do, so who reads it may leave early, as in `pellucid translate … | head`.
ONLY_SPEAKING = (
    "average",
    "compare",
    "data",
    "evaluate",
    "example",
    "exercise",
    "experiment",
    "explain",
    "export",
    "import",
    "inspect",
    "score",
    "translate",
)
LOG = logging.getLogger("pellucid")


def main(argv: Sequence[str] | None = None) -> int:
    """Runs a command line; the exit code. What Ctrl-C raises is the caller's."""
    verb, names = None, tuple[str, ...]()
    try:
        prepare()
        parser = command_line()
        arguments = parser.parse_args(argv)
        verb, names = arguments.verb, tuple(vars(arguments))
        if verb is None:
            parser.print_help(sys.stderr)
            return 2
        _run(arguments)
    except PellucidError as error:
        return _complain(spelled(str(error), names), error.exit_code)
    except (MemoryError, RuntimeError) as error:
        if not is_out_of_memory(error):
            raise
        return _complain("out of memory. Give the command less at once, or free some memory.", 1)
    except OSError as error:
        drop_output()
        if isinstance(error, BrokenPipeError) and not error.filename and verb in ONLY_SPEAKING:
            return 0
        return _complain(f"{error.filename or 'standard output'}: {error.strerror or error}.", 1)
    return 0


def _run(arguments: argparse.Namespace) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("default", UserWarning)  # they are for people, and never stop the work
        warnings.showwarning = _show_warning
        LOG.setLevel(logging.INFO)
        LOG.handlers = [_Shown()]
        arguments.run(arguments)
    if sys.stdout is not None:
        sys.stdout.flush()


class _Shown(logging.Handler):
    """Shows what loading says of a folder of another program."""

    def emit(self, record: logging.LogRecord) -> None:
        """Show a line, as all that is not data, on standard error."""
        _complain(record.getMessage(), 0)


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
    for verb in (
        demo,
        train,
        average,
        translate,
        evaluate,
        score,
        explain,
        example,
        exercise,
        experiment,
        leak,
        compare,
        inspect,
        set_,
        import_,
        export,
        data,
    ):
        verb.add(verbs)
    return parser


def _complain(message: str, exit_code: int) -> int:
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
