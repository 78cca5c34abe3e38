"""Reserve the folder of a run, so that no second run trains in it and no other files are overwritten."""

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from pellucid.errors import PellucidError, Setting, UsageError
from pellucid.folder.checkpoint import AVERAGING, CONFIG, FRAMES, WEIGHTS, is_run
from pellucid.folder.lock import locked
from pellucid.folder.manifest import MANIFEST
from pellucid.folder.whole_file import making
from pellucid.learning.log import LOG, METRICS
from pellucid.text.vocabulary import FILES as VOCABULARY_FILES

LOCK = ".lock"  # empty; it stays, and marks the files beside it as a run's, even before the first checkpoint
MODEL = (MANIFEST, CONFIG, WEIGHTS, *sorted(VOCABULARY_FILES), ".new")
# All names that a run writes. In a folder without a run, a file of such a name belongs to somebody else.
WRITTEN = (*MODEL, "last", "averaged", AVERAGING, FRAMES, "checkpoints", METRICS, LOG)


@contextmanager
def claim(folder: str | Path) -> Iterator[None]:
    """Reserve a folder for a run until the block ends. Raise an error if another run uses it or files would
    be overwritten; the folder then stays unchanged."""
    folder = Path(folder)
    refuse_taken(folder)
    with making(folder), alone_in(folder):
        yield


def refuse_taken(folder: Path) -> None:
    """Raise an error if `folder` is a file, or if it is not the folder of a run but contains files that a run
    would overwrite."""
    if os.path.lexists(folder) and not folder.is_dir():
        raise PellucidError("{}: cannot be written: it is a file. Choose another {}.", folder, Setting("out"))
    lock = folder / LOCK
    if (lock.is_file() and not lock.is_symlink() and lock.stat().st_size == 0) or is_run(folder):
        return
    if taken := _first_there(folder, (*WRITTEN, LOCK)):
        reason = "but the folder has no checkpoint of a training run: training would overwrite it"
        raise UsageError("{} already exists, {}. Choose another {}.", taken, reason, Setting("out"))


@contextmanager
def alone_in(folder: Path) -> Iterator[None]:
    """Lock the folder until the block ends; raise an error if another run has locked it. If the run wrote
    nothing, delete the new lock file at the end."""
    ours = not (folder / LOCK).exists()
    taken = (
        f"{folder}: another training run is using this folder. Wait until it ends, or choose another folder."
    )
    with locked(folder / LOCK, taken):
        try:
            yield
        finally:
            if ours and not _first_there(folder, WRITTEN):
                with suppress(OSError):  # Windows removes no file that is open
                    (folder / LOCK).unlink(missing_ok=True)


def _first_there(folder: Path, names: tuple[str, ...]) -> Path | None:
    """Return the first of these paths that exists in the folder, or None. A broken link counts as
    existing."""
    return next((folder / name for name in names if os.path.lexists(folder / name)), None)
