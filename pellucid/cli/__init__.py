"""The command line. Each verb has a module whose function `run` calls the library and prints the result."""

import os
import signal
import sys
import threading
from collections.abc import Sequence
from typing import Any

# What the signals that end a command do before it is called; another handler is the caller's, and stays.
USUAL: dict[int, Any] = {signal.SIGINT: signal.default_int_handler, signal.SIGTERM: signal.SIG_DFL}


def main(argv: Sequence[str] | None = None) -> int:
    """Run a command line; return the exit code: 0, 1 (it failed), 2 (it was called wrongly), or
    128 + the number of the signal that ended it: 130 (Ctrl-C), 143 (SIGTERM)."""
    is_main = threading.current_thread() is threading.main_thread()
    handled = [number for number, usual in USUAL.items() if is_main and signal.getsignal(number) == usual]
    try:
        for number in handled:  # what is half written is removed, whatever the signal
            signal.signal(number, _interrupt)
        from pellucid.cli import command  # here, because Ctrl-C may come during the import

        return command.main(argv)
    except KeyboardInterrupt as interrupt:  # whose argument, if any, is the number of a signal
        print("pellucid: interrupted.", file=sys.stderr)
        return 128 + (interrupt.args[0] if interrupt.args else signal.SIGINT)
    finally:
        for number in handled:
            signal.signal(number, USUAL[number])


def _interrupt(number: int, frame: object) -> None:
    """End the command. torch would not let an error through while it is imported, and go on with half of
    NumPy; nothing is begun then, so the process ends at once."""
    specs = (getattr(sys.modules.get(name), "__spec__", None) for name in ("numpy", "torch"))
    if any(getattr(spec, "_initializing", False) for spec in specs):
        os.write(2, b"pellucid: interrupted.\n")
        os._exit(128 + number)
    raise KeyboardInterrupt(number)
