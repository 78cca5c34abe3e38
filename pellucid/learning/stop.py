"""Stop by signal: the first one ends the training after its step, a second one ends it at once. Before the
first step there is nothing to save, and the first one ends it at once.

A terminal that closes often sends SIGHUP twice, from the system and from the shell: SIGHUP never ends a
training at once after its first step has begun. Under nohup SIGHUP is ignored, and stays ignored.
"""

import os
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from enum import Enum
from pathlib import Path
from typing import Any

from pellucid.errors import PellucidError
from pellucid.folder.checkpoint import newest_step

HANG_UP = getattr(signal, "SIGHUP", None)  # Windows has none
STANDARD_ERROR = 2
AGAIN = " A second Ctrl-C stops at once; the run can then go on from step {:,}."


class Doing(Enum):
    """What a training does when a signal comes, and how it answers."""

    READING = "stopping: there is nothing new to save."
    STEP = "stopping after this step."
    VALIDATION = "stopping after this step (a validation is running)."
    END = "the last step is done: the run ends when its last models are validated and saved."


class Interrupted(PellucidError):
    """A signal stopped the training, and its state is saved."""

    exit_code = 130


class StopRequest:
    """Whether a signal has asked to stop, and what the training does; also the handler of the signals."""

    requested = False
    doing = Doing.READING
    run_folder: Path | None = None

    def __call__(self, number: int, frame: Any) -> None:
        """Note the signal and answer it; where there is nothing to finish, stop."""
        if self.requested and number != HANG_UP:
            raise KeyboardInterrupt
        self.requested = True
        nothing_to_save = self.doing == Doing.READING
        saved = newest_step(self.run_folder) if self.run_folder and not nothing_to_save else None
        line = self.doing.value + ("" if saved is None else AGAIN.format(saved))
        # Not by print: a signal may come in the middle of a line, whose writer holds the display's locks.
        with suppress(OSError):
            os.write(STANDARD_ERROR, f"\n{line}\n".encode())
        if nothing_to_save:
            raise KeyboardInterrupt


@contextmanager
def stop_on_signal() -> Iterator[StopRequest]:
    """Let SIGINT (Ctrl-C), SIGTERM and SIGHUP ask to stop until the block ends.

    Inside another such block, return the request of the outer one: it also counts between two steps.
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
