"""Ctrl-C, random numbers and threads: the training's during a step, and its caller's between two steps."""

import signal
import threading
from collections.abc import Generator, Iterator
from dataclasses import dataclass
from typing import Any, TypeVar

import torch
from torch import Tensor

Item = TypeVar("Item")


@dataclass(frozen=True)
class _Settings:
    """What a process has only one of."""

    interrupt: Any  # the handler of SIGINT; None: another thread's business
    random: Tensor
    random_cuda: tuple[Tensor, ...]
    threads: int


def apart(steps: Generator[Item]) -> Iterator[Item]:
    """Yield the same items; keep the process's settings of the training apart from those of the caller."""
    own: _Settings | None = None
    try:
        while True:
            callers = _settings()
            if own:
                _set(own)
            try:
                item = next(steps)
            except StopIteration:
                return
            finally:
                own = _settings()
                _set(callers)
            yield item
    finally:
        callers = _settings()
        steps.close()
        _set(callers)


def _settings() -> _Settings:
    main = threading.current_thread() is threading.main_thread()
    return _Settings(
        signal.getsignal(signal.SIGINT) if main else None,
        torch.get_rng_state(),
        tuple(torch.cuda.get_rng_state_all()) if torch.cuda.is_initialized() else (),
        torch.get_num_threads(),
    )


def _set(settings: _Settings) -> None:
    if settings.interrupt is not None:
        signal.signal(signal.SIGINT, settings.interrupt)
    torch.set_rng_state(settings.random)
    if settings.random_cuda:
        torch.cuda.set_rng_state_all(list(settings.random_cuda))
    if torch.get_num_threads() != settings.threads:
        torch.set_num_threads(settings.threads)
