"""A run's claim to its folder: no second run trains there, and no file of anyone else is overwritten."""

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from filelock import FileLock, Timeout

from pellucid.errors import PellucidError, UsageError
from pellucid.folder.checkpoint import AVERAGING, CONFIG, WEIGHTS, is_run
from pellucid.folder.manifest import MANIFEST
from pellucid.folder.whole_file import check_writable, making, write_whole, writing
from pellucid.learning.log import LOG, METRICS
from pellucid.text.vocabulary import FILES as VOCABULARY_FILES

LOCK, HOLDER = ".lock", ".lock.pid"
MODEL = (MANIFEST, CONFIG, WEIGHTS, *sorted(VOCABULARY_FILES), ".new")
# All names that a run writes. In a folder without a run, a file of such a name belongs to somebody else.
WRITTEN = (*MODEL, "last", "averaged", AVERAGING, "checkpoints", METRICS, LOG)


@contextmanager
def claim(folder: str | Path) -> Iterator[None]:
    """Make a folder a run's own until the block ends; if that is refused, leave the folder as it was.

    The operating system releases the lock when this process ends, so a killed run blocks no other.
    """
    folder = Path(folder)
    refuse_taken(folder)
    with making(folder):
        check_writable(folder)
        with locked(folder):
            yield


def refuse_taken(folder: Path) -> None:
    """Raise if a run would overwrite a file that no run wrote."""
    if os.path.lexists(folder) and not folder.is_dir():
        raise PellucidError(f"{folder}: cannot be written: it is a file. Choose another --out.")
    if _holder(folder).isdecimal() or is_run(folder):  # killed before it saved, or after
        return
    lock = folder / LOCK
    left_by_a_run = lock.is_file() and not lock.is_symlink() and lock.stat().st_size == 0
    if taken := _first_there(folder, (*WRITTEN, HOLDER) if left_by_a_run else (*WRITTEN, HOLDER, LOCK)):
        reason = "without a checkpoint of a training run: training would write over it"
        raise UsageError(f"{taken} is there already, {reason}. Choose another --out.")


@contextmanager
def locked(folder: Path) -> Iterator[None]:
    """Keep a second run out. A failed start leaves nothing behind, or a mark that says it was a run."""
    lock, ours = FileLock(folder / LOCK), not (folder / LOCK).exists()
    with writing(folder):
        try:
            lock.acquire(timeout=0)
        except Timeout:
            raise PellucidError(
                f"{folder}: another training run, process {_holder(folder) or 'unknown'}, is at work here. "
                "Wait until it ends, or choose another folder."
            ) from None
    try:
        with writing(folder):
            write_whole(folder / HOLDER, str(os.getpid()).encode())
        yield
    finally:
        begun = _first_there(folder, WRITTEN) is not None
        if not begun or is_run(folder):  # otherwise HOLDER stays: it marks the files here as a run's
            (folder / HOLDER).unlink(missing_ok=True)
        if ours and not begun:
            with suppress(OSError):  # Windows removes no file that is open
                (folder / LOCK).unlink(missing_ok=True)
        lock.release()


def _first_there(folder: Path, names: tuple[str, ...]) -> Path | None:
    """Return the first of these names that exists in the folder, even as a broken link."""
    return next((folder / name for name in names if os.path.lexists(folder / name)), None)


def _holder(folder: Path) -> str:
    """Return the number of the process that trains here, as it wrote it down."""
    with suppress(OSError, ValueError):
        return (folder / HOLDER).read_text()
    return ""
