"""The command line: each verb parses its arguments, calls one function and prints its result."""

import sys
from collections.abc import Sequence

INTERRUPTED = 130


def main(argv: Sequence[str] | None = None) -> int:
    """Run a command line; return the exit code: 0, 1 (it failed), 2 (it was called wrongly), 130 (Ctrl-C)."""
    try:
        from pellucid.cli import command  # here, because Ctrl-C may come during the import

        return command.main(argv)
    except KeyboardInterrupt:
        print("pellucid: interrupted.", file=sys.stderr)
        return INTERRUPTED
