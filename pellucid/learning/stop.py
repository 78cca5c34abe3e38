"""Stopping by signal: the first one ends the training after its step, a second one at once."""

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from pellucid.errors import PellucidError


class Interrupted(PellucidError):
    """Training was stopped by a signal, and its state is saved."""

    exit_code = 130


class StopRequest:
    """Whether a signal has asked to stop."""

    requested = False


@contextmanager
def stop_on_signal() -> Iterator[StopRequest]:
    """Within it, SIGINT (Ctrl-C) and SIGTERM ask to stop; the second one raises KeyboardInterrupt."""
    request = StopRequest()

    def ask(number: int, frame: Any) -> None:
        if request.requested:
            raise KeyboardInterrupt
        request.requested = True

    if threading.current_thread() is not threading.main_thread():
        yield request  # Python delivers signals to the main thread only
        return
    before = {number: signal.signal(number, ask) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield request
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
