"""Keep a training's memory level: give the C library's free memory back to the system.

Batches of ever new shapes leave the heap of glibc in pieces. Its top only rises, though most of what lies
below is free: docs/training.md has the measurements.
"""

import ctypes
import functools
from collections.abc import Callable

EVERY = 10  # steps between two calls of `trim`; a call takes some milliseconds


def trim() -> None:
    """Give free memory back to the system, where the C library can (glibc); elsewhere do nothing."""
    _malloc_trim()(0)


@functools.cache
def _malloc_trim() -> Callable[[int], int]:
    try:
        return ctypes.CDLL(None).malloc_trim
    except (AttributeError, OSError, TypeError):  # another C library; TypeError on Windows
        return lambda keep: 0
