"""What a process has only once: the handler of Ctrl-C, the function that shows warnings, random numbers and
threads. During a step these are the training's, between two steps the caller's."""

import signal
import threading
import warnings
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import Any

import torch


@contextmanager
def own_process() -> Iterator[Callable[[], AbstractContextManager[None]]]:
    """Give the process to a training until the block ends; the function makes a block for its caller."""
    callers = _read()

    @contextmanager
    def give_back() -> Iterator[None]:
        nonlocal callers
        own = _read()
        _restore(*callers)
        try:
            yield
        finally:
            callers = _read()
            _restore(*own)

    try:
        yield give_back
    finally:
        _restore(*callers)


def _read() -> tuple[Any, ...]:
    """Return what `_restore` takes; only the main thread may change the handler of SIGINT."""
    main = threading.current_thread() is threading.main_thread()
    handler = signal.getsignal(signal.SIGINT) if main else None
    cuda = torch.cuda.get_rng_state_all() if torch.cuda.is_initialized() else []
    return handler, warnings.showwarning, torch.get_rng_state(), cuda, torch.get_num_threads()


def _restore(handler: Any, show_warning: Any, random: Any, random_cuda: Any, threads: int) -> None:
    if handler is not None:
        signal.signal(signal.SIGINT, handler)
    warnings.showwarning = show_warning
    torch.set_rng_state(random)
    if random_cuda:
        torch.cuda.set_rng_state_all(random_cuda)
    if torch.get_num_threads() != threads:
        torch.set_num_threads(threads)
