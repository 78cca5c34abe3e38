"""A disk that is full, as the operating system says it."""

import resource
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def disk_full_after(size: int) -> Iterator[None]:
    """The operating system lets no file grow beyond `size` bytes."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
