"""A file that is written whole or stays as it was, and a word before the work where none can be written."""

import os
from pathlib import Path
from typing import Any

from pellucid.errors import PellucidError, UsageError
from pellucid.seal import write_whole

REMEDY = "Choose another place."


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


def write(path: Any, content: bytes) -> None:
    """A file with this content, whole or as it was before; or an error that says why not."""
    chosen = place(path)
    try:
        write_whole(chosen, content)
    except OSError as error:
        raise _unwritable(chosen, error) from None


def _unwritable(path: Path, error: OSError) -> PellucidError:
    return PellucidError(f"{path}: cannot be written: {error.strerror or error}. {REMEDY}")
