"""Call a function for many things in several processes. These import no more than the function needs, and so
not PyTorch for text."""

import multiprocessing
import os
import signal
import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from typing import Any

from pellucid.data.sifting import Run
from pellucid.errors import PellucidError


@contextmanager
def several(processes: int) -> Iterator[Run]:
    """Yield a function that calls another one for many things in several processes, and yields the results in
    order."""
    # Not a fork: a process that has used OpenMP may hang in one.
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(processes, context, initializer=_follow_parent) as pool:

        def run(function: Callable[[Any], Any], things: Iterable[Any]) -> Iterator[Any]:
            waiting = deque[Future[Any]]()
            for each in things:
                waiting.append(pool.submit(function, each))
                if len(waiting) > 2 * processes:  # so few chunks are in memory at once
                    yield waiting.popleft().result()
            while waiting:
                yield waiting.popleft().result()

        try:
            yield run
        except BrokenProcessPool:
            raise PellucidError(
                "a process that prepares the text has ended: something stopped it, perhaps because memory "
                "was full. The same command goes on where it stopped; fewer processes need less memory."
            ) from None
        finally:
            pool.shutdown(cancel_futures=True)


def _follow_parent() -> None:
    """End this process when its parent ends, and leave Ctrl-C to the parent."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    parent = multiprocessing.parent_process()

    def follow() -> None:
        if parent:
            parent.join()
        os._exit(1)

    threading.Thread(target=follow, daemon=True).start()
