"""A file that is written whole or stays as it was, and a word before the work where none can be written."""

import os
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from typing import Any

from pellucid.errors import PellucidError, UsageError
from pellucid.folder.seal import write_whole

REMEDY = "Choose another place."
# What the beginning of a file of ours holds, by its ending. Where Pellucid chooses the names of files, it
# replaces its own and no others.
MARKS = {".html": " · Pellucid</title>", ".png": "Software\0Pellucid", ".json": '{"pellucid": '}
BEGINNING = 2000  # bytes


def place(path: Any) -> Path:
    """Where a file is to be written; raises where none can be, so that nobody computes for it first."""
    try:
        given = os.fspath(path)
    except TypeError:
        given = None
    if not isinstance(given, str) or not given or "\0" in given:
        raise UsageError(f'path = {path!r:.60} is not the name of a file. Give one, such as "page.html".')
    chosen = Path(given)
    try:
        if chosen.is_dir():
            raise PellucidError(f"{chosen}: cannot be written: it is a folder. Name a file in it.")
        chosen.parent.stat()
    except OSError as error:
        raise _unwritable(chosen, error) from None
    return chosen


def refuse_foreign(paths: Iterable[Path]) -> None:
    """Raise where a file has one of these names and Pellucid did not write it."""
    for path in paths:
        if os.path.lexists(path) and MARKS[path.suffix].encode() not in _beginning(path):
            raise PellucidError(
                f"{path} is there already, and Pellucid did not write it: it was left alone, and nothing was "
                "written. Move it away, or choose another folder."
            )


def _beginning(path: Path) -> bytes:
    with suppress(OSError):
        if path.is_file():
            with path.open("rb") as file:
                return file.read(BEGINNING)
    return b""


def write(path: Any, content: bytes) -> None:
    """A file with this content, whole or as it was before; or an error that says why not."""
    chosen = place(path)
    try:
        write_whole(chosen, content)
    except OSError as error:
        raise _unwritable(chosen, error) from None


def _unwritable(path: Path, error: OSError) -> PellucidError:
    return PellucidError(f"{path}: cannot be written: {error.strerror or error}. {REMEDY}")
