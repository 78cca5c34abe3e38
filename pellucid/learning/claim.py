"""A training run's claim to its folder: no other run trains there, and no file of anybody else is lost."""

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from filelock import FileLock, Timeout

from pellucid.errors import PellucidError, UsageError
from pellucid.folder.checkpoint import AVERAGING, CONFIG, WEIGHTS, is_run
from pellucid.folder.seal import MANIFEST, check_writable, making, write_whole, writing
from pellucid.learning.log import LOG
from pellucid.learning.metrics import METRICS
from pellucid.text.vocabulary import FILES as VOCABULARY_FILES

LOCK, HOLDER = ".lock", ".lock.pid"
MODEL = (MANIFEST, CONFIG, WEIGHTS, *sorted(VOCABULARY_FILES), ".new")
# All names that a run writes: without a run here, whatever has one of them is somebody else's.
WRITTEN = (*MODEL, "last", "averaged", AVERAGING, "checkpoints", METRICS, LOG, "traces")


@contextmanager
def claim(folder: str | Path) -> Iterator[None]:
    """Make a folder a run's own until the block ends, however it ends; if it is refused, leave it as it was.

    The operating system lets go of the lock when this process ends, so a killed run stands in nobody's way.
    """
    folder = Path(folder)
    refuse_taken(folder)
    with making(folder):
        check_writable(folder)
        with locked(folder):
            yield


def refuse_taken(folder: Path) -> None:
    """Raise where a run would write over what no run wrote."""
    if os.path.lexists(folder) and not folder.is_dir():
        raise PellucidError(f"{folder}: cannot be written: it is a file. Choose another --out.")
    killed_before_it_saved = _holder(folder).isdecimal()
    if killed_before_it_saved or is_run(folder):
        return
    lock = folder / LOCK
    left_by_a_run = lock.is_file() and not lock.is_symlink() and lock.stat().st_size == 0
    if taken := _taken(folder, (*WRITTEN, HOLDER) if left_by_a_run else (*WRITTEN, HOLDER, LOCK)):
        raise UsageError(
            f"{taken} is there already, without a checkpoint of a training run: training would write over "
            "it. Choose another --out."
        )


@contextmanager
def locked(folder: Path) -> Iterator[None]:
    """Keep a second run out. What a failed start leaves behind is nothing, or marked as a run's."""
    held, ours = FileLock(folder / LOCK), not (folder / LOCK).exists()
    with writing(folder):
        try:
            held.acquire(timeout=0)
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
        begun = _taken(folder, WRITTEN) is not None
        if not begun or is_run(folder):  # otherwise HOLDER stays: it says that what lies here is a run's
            (folder / HOLDER).unlink(missing_ok=True)
        if ours and not begun:
            with suppress(OSError):  # Windows removes no file that is open
                (folder / LOCK).unlink(missing_ok=True)
        held.release()


def _taken(folder: Path, names: tuple[str, ...]) -> Path | None:
    """The first of these names that something has."""
    return next((folder / name for name in names if os.path.lexists(folder / name)), None)


def _holder(folder: Path) -> str:
    """The number of the process that trains here, as it wrote it down."""
    with suppress(OSError, ValueError):
        if (folder / HOLDER).is_file():
            return (folder / HOLDER).read_text()
    return ""
