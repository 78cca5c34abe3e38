"""Write files completely or not at all, and never overwrite a file that someone else wrote."""

import itertools
import os
import shutil
import threading
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from pellucid.errors import PellucidError, UsageError

# What the first or last bytes of a file of ours hold, by its usual ending. Pellucid replaces no other files.
MARKS = {
    ".html": " · Pellucid</title>".encode(),
    ".png": b"Software\0Pellucid",
    ".svg": b"<dc:title>Pellucid<",
    ".pdf": b"/Creator (Pellucid)",
    ".json": b'"pellucid": "',
    ".npz": b"schema_version.npy",
}
EDGE = 20_000  # bytes
ELSEWHERE = "Choose another place."


def write_whole(path: Path, content: bytes) -> None:
    """Write a file under a temporary name, and rename it when it is complete. Until then, an older file
    stays.

    A pipe, a device or /dev/stdout is written to directly, and never replaced.
    """
    if _is_stream(path):
        with path.open("ab") as file:
            file.write(content)
        return
    target = Path(os.path.realpath(path))  # a link stays a link, and leads to the new file
    part = target.with_name(f".{os.getpid()}-{threading.get_ident()}.part")
    try:
        part.write_bytes(content)
        if target.exists():
            shutil.copymode(target, part)
        to_disk(part)
        os.replace(part, target)
    except BaseException as error:  # Ctrl-C too must leave nothing behind
        with suppress(OSError):
            part.unlink()
        if isinstance(error, OSError) and error.filename == str(part):
            error.filename = str(path)  # the name that the caller knows
        raise


def write(path: Any, content: bytes) -> None:
    """Write a file completely or not at all; if that fails, or if content that has a mark of ours would
    replace what has none, raise an error that gives the reason."""
    chosen = place(path)
    if _is_marked(content[:EDGE], content[-EDGE:]) and not _is_stream(chosen):
        refuse_foreign([chosen])
    with writing(chosen, ELSEWHERE):
        write_whole(chosen, content)


def place(path: Any) -> Path:
    """Return the path of a file to write later. Raise an error now, before anything is computed, if it cannot
    be written."""
    if not isinstance(path, str | os.PathLike) or not os.fspath(path) or "\0" in str(path):
        raise UsageError(f'path = {path!r:.60} is not the name of a file. Give one, such as "page.html".')
    chosen = Path(path)
    with writing(chosen, ELSEWHERE):
        if chosen.is_dir():
            raise PellucidError(f"{chosen}: cannot be written: it is a folder. Name a file in it.")
        chosen.parent.stat()
    return chosen


def refuse_foreign(paths: Iterable[Path]) -> None:
    """Raise an error if one of these files exists, is not empty, and was not written by Pellucid."""
    for path in filter(os.path.lexists, paths):
        start = end = b""
        if path.is_file():
            with suppress(OSError), path.open("rb") as file:
                if not (size := os.stat(file.fileno()).st_size):
                    continue
                start = file.read(EDGE)
                file.seek(max(0, size - EDGE))
                end = file.read()
        if not _is_marked(start, end):
            raise PellucidError(
                f"{path} already exists, and Pellucid did not write it: it was not changed, and nothing was "
                "written. Move it away, or choose another name or folder."
            )


def _is_marked(start: bytes, end: bytes) -> bool:
    return any(mark in start or mark in end for mark in MARKS.values())


def write_new(folder: Path, contents: Mapping[str, bytes]) -> None:
    """Write files into a folder, which is made if needed. If a file with one of the names has other content,
    raise an error and write none."""
    missing = {name: content for name, content in contents.items() if not _is_there(folder / name, content)}
    with making(folder), writing(folder):
        for name, content in missing.items():
            write_whole(folder / name, content)


def _is_there(path: Path, content: bytes) -> bool:
    """Return whether a file with this content exists; raise an error if something else has the name."""
    if not os.path.lexists(path):
        return False
    with suppress(OSError):
        if path.is_file() and path.read_bytes() == content:
            return True
    raise PellucidError(
        f"{path} already exists with other content: it was not changed, and nothing was written. "
        "Move it away, or choose another --out."
    )


@contextmanager
def making(folder: Path) -> Iterator[None]:
    """Make a folder and its parents. If the block fails, remove the new ones that are still empty."""
    made = list(itertools.takewhile(lambda path: not path.exists(), (folder, *folder.parents)))
    with writing(folder):
        folder.mkdir(parents=True, exist_ok=True)
    try:
        yield
    except BaseException:  # Ctrl-C too must leave no folder behind
        with suppress(OSError):
            for path in made:
                path.rmdir()
        raise


@contextmanager
def writing(
    path: Path, remedy: str = "What was saved before is intact. Make room, or choose another folder."
) -> Iterator[None]:
    """Turn an operating system's error inside the block into a PellucidError that names the path."""
    try:
        yield
    except OSError as error:
        raise PellucidError(f"{path}: cannot be written: {error.strerror or error}. {remedy}") from None


def copy(source: Path, target: Path) -> None:
    """Copy a file. The copy has a temporary name until it is complete."""
    part = source.with_name(".part")
    shutil.copyfile(source, part)
    to_disk(part)
    os.replace(part, target)


def to_disk(path: Path) -> None:
    """Flush a file, or the names in a folder, to the disk. Windows needs no flush of a folder."""
    if os.name == "nt" and path.is_dir():
        return
    handle = os.open(path, os.O_RDONLY if path.is_dir() else os.O_RDWR)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def _is_stream(path: Path) -> bool:
    """Return whether a path is a pipe, a device, or an open file of this process such as /dev/stdout."""
    streams = ("/dev/std", "/dev/fd/", "/proc/")  # /dev/shm is a folder like others
    return path.exists() and (not path.is_file() or str(path).startswith(streams))
