"""Lock a file, so that two commands do not write the same files at once."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from filelock import FileLock, Timeout

from pellucid.errors import PellucidError
from pellucid.folder.whole_file import writing


@contextmanager
def locked(lock: Path, taken: str) -> Iterator[None]:
    """Hold the lock of a file, which is made if needed, until the block ends. Raise an error with the message
    `taken` if another process holds it.

    The operating system releases the lock when the process ends, so a killed one blocks no other.
    """
    holder = FileLock(lock)
    with writing(lock.parent):
        try:
            holder.acquire(timeout=0)
        except Timeout:
            raise PellucidError(taken) from None
    try:
        yield
    finally:
        holder.release()
