"""What a process has only once: the handler of Ctrl-C, the function that shows warnings, random numbers and
threads. During a step these are the training's, between two steps the caller's."""

import signal
import threading
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

import torch
from torch import Tensor


class _State(NamedTuple):
    interrupt: Any  # the handler of SIGINT; None in any thread but the first, which may not change it
    show_warning: Any
    random: Tensor
    random_cuda: tuple[Tensor, ...]
    threads: int


class OwnProcess:
    """A block in which the process is a training's; inside it `callers()` is a block for its caller."""

    def __enter__(self) -> "OwnProcess":
        self._callers = _read()
        return self

    def __exit__(self, *_: Any) -> None:
        _restore(self._callers)

    @contextmanager
    def callers(self) -> Iterator[None]:
        """Give the process back to the caller until the block ends."""
        own = _read()
        _restore(self._callers)
        try:
            yield
        finally:
            self._callers = _read()
            _restore(own)


def _read() -> _State:
    main = threading.current_thread() is threading.main_thread()
    return _State(
        signal.getsignal(signal.SIGINT) if main else None,
        warnings.showwarning,
        torch.get_rng_state(),
        tuple(torch.cuda.get_rng_state_all()) if torch.cuda.is_initialized() else (),
        torch.get_num_threads(),
    )


def _restore(state: _State) -> None:
    if state.interrupt is not None:
        signal.signal(signal.SIGINT, state.interrupt)
    warnings.showwarning = state.show_warning
    torch.set_rng_state(state.random)
    if state.random_cuda:
        torch.cuda.set_rng_state_all(list(state.random_cuda))
    if torch.get_num_threads() != state.threads:
        torch.set_num_threads(state.threads)
