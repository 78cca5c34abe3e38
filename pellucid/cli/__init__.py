"""The command line. Each verb has a module whose function `run` calls the library and prints the result."""

import signal
import sys
import threading
from collections.abc import Sequence


def main(argv: Sequence[str] | None = None) -> int:
    """Run a command line; return the exit code: 0, 1 (it failed), 2 (it was called wrongly), or
    128 + the number of the signal that ended it: 130 (Ctrl-C), 143 (SIGTERM)."""
    before = signal.getsignal(signal.SIGTERM)
    handled = before == signal.SIG_DFL and threading.current_thread() is threading.main_thread()
    try:
        if handled:  # what is half written is removed, as after Ctrl-C
            signal.signal(signal.SIGTERM, _interrupt)
        from pellucid.cli import command  # here, because Ctrl-C may come during the import

        return command.main(argv)
    except KeyboardInterrupt as interrupt:  # whose argument, if any, is the number of a signal
        print("pellucid: interrupted.", file=sys.stderr)
        return 128 + (interrupt.args[0] if interrupt.args else signal.SIGINT)
    finally:
        if handled:
            signal.signal(signal.SIGTERM, before)


def _interrupt(number: int, frame: object) -> None:
    raise KeyboardInterrupt(number)
