"""Stop on a signal: the first signal ends the training run after the current step, a second one ends it at
once. Before the first step there is nothing to save, so the first signal ends it at once.

When a terminal closes, SIGHUP often comes twice, from the system and from the shell; so after the first step
has begun, SIGHUP never ends a run at once. Under nohup, SIGHUP stays ignored.

Between two steps, Ctrl-C is the caller's (`handle_ctrl_c`).
"""

import os
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from pellucid.errors import PellucidError
from pellucid.folder.checkpoint import newest_step

HANG_UP = getattr(signal, "SIGHUP", None)  # Windows has none
STANDARD_ERROR = 2
# What a training answers to a signal, by what it does then.
READING = "stopping: there is nothing new to save."
STEP = "stopping after this step."
END = "the last step is done: the run ends when its last models are validated and saved."
AGAIN = " A further {} stops at once; the run can then go on from step {:,}."


class Interrupted(PellucidError):
    """A signal stopped the work, and its state is saved. The exit code is 128 + the signal's number."""

    def __init__(self, message: str, number: int = signal.SIGINT) -> None:
        super().__init__(message)
        self.number, self.exit_code = number, 128 + number


class StopRequest:
    """The handler of the stop signals: it remembers which signal came, and tells the user when the training
    will stop."""

    number: int | None = None  # of the signal; None before one comes
    answer = READING
    run_folder: Path | None = None

    @property
    def name(self) -> str:
        """Return the name of the signal, such as "Ctrl-C" or "SIGTERM"."""
        return "Ctrl-C" if self.number == signal.SIGINT else signal.Signals(self.number or 0).name

    def __call__(self, number: int, frame: Any) -> None:
        """Remember the signal, and tell the user what happens now. Raise KeyboardInterrupt if no step has
        begun, or at a second signal (except SIGHUP)."""
        if self.number is not None and number != HANG_UP:
            raise KeyboardInterrupt(number)
        self.number = number
        nothing_to_save = self.answer == READING
        saved = newest_step(self.run_folder) if self.run_folder and not nothing_to_save else None
        ending = "SIGTERM" if number == HANG_UP else self.name
        line = self.answer + ("" if saved is None else AGAIN.format(ending, saved))
        # Not by print: a signal may come in the middle of a line, whose writer holds the display's locks.
        with suppress(OSError):
            os.write(STANDARD_ERROR, f"\n{line}\n".encode())
        if nothing_to_save:
            raise KeyboardInterrupt(number)


@contextmanager
def stop_on_signal() -> Iterator[StopRequest]:
    """Handle SIGINT (Ctrl-C), SIGTERM and SIGHUP until the block ends. Yield the StopRequest that remembers
    the signal.

    Inside another such block, install nothing and yield the outer block's StopRequest, so that signals
    between two steps are handled too.
    """
    request, outer = StopRequest(), signal.getsignal(signal.SIGINT)
    if threading.current_thread() is not threading.main_thread():
        yield request  # Python delivers signals to the main thread only
        return
    if isinstance(outer, StopRequest):
        yield outer
        return
    numbers = [signal.SIGINT, signal.SIGTERM]
    if HANG_UP is not None and signal.getsignal(HANG_UP) != signal.SIG_IGN:
        numbers.append(HANG_UP)
    before = {number: signal.signal(number, request) for number in numbers}
    try:
        yield request
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def handle_ctrl_c(handler: Any) -> Any:
    """Set the handler of Ctrl-C and return the one before. Do nothing outside the main thread, which alone
    may do this, or if the handler is not Python's: then both are None."""
    is_main = threading.current_thread() is threading.main_thread()
    return signal.signal(signal.SIGINT, handler) if is_main and handler is not None else None
