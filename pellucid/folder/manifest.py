"""The manifest of a folder: it has the SHA-256 of each file and is written last, so a folder with a manifest
is complete ("sealed").

If the process is killed or the power fails, folders that were sealed before are still complete.
"""

import hashlib
import json
import math
import os
import shutil
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from pellucid.errors import PellucidError
from pellucid.folder.whole_file import to_disk, writing

FORMAT = 1
MANIFEST = "MANIFEST.json"
UNSEALED = ".manifest"  # its name until everything is on the disk


@contextmanager
def sealing(folder: Path, kind: str, about: Mapping[str, Any]) -> Iterator[Path]:
    """Make a new folder and yield it. Write the manifest when the block ends; after an error, remove the
    folder."""
    with writing(folder):
        folder.parent.mkdir(exist_ok=True)
        remove(folder)
        folder.mkdir()
        try:
            yield folder
            _seal(folder, kind, about)
        except BaseException:  # Ctrl-C too: a folder half written must not stay
            shutil.rmtree(folder, ignore_errors=True)
            raise


def _seal(folder: Path, kind: str, about: Mapping[str, Any]) -> None:
    paths = sorted(folder.iterdir())
    for path in paths:
        to_disk(path)
    hashes = {path.name: _sha256_of_file(path) for path in paths}
    table = jsonable({"format": FORMAT, "kind": kind, "files": hashes, **about})
    unsealed = folder / UNSEALED
    unsealed.write_bytes(json.dumps(table | {"sha256": _sha256_of(table)}, indent=2).encode())
    to_disk(unsealed)
    to_disk(folder)
    os.replace(unsealed, folder / MANIFEST)
    to_disk(folder)
    to_disk(folder.parent)


def is_sealed(folder: Path) -> bool:
    """Return whether a folder has a manifest, and so is complete."""
    return (folder / MANIFEST).exists()


def read_sealed(folder: Path, kind: str, needed: Sequence[str]) -> tuple[dict[str, Any], dict[str, bytes]]:
    """Return the manifest of a folder and all files that it lists; raise an error if a hash is wrong or a
    needed file is missing."""
    manifest, files = read_manifest(folder, kind), {}
    for name in dict.fromkeys((*needed, *manifest["files"])):
        path, expected = folder / name, manifest["files"].get(name)
        if expected is None:
            raise PellucidError(f"{path}: {MANIFEST} does not list this file. Copy the folder again.")
        try:
            files[name] = path.read_bytes()
        except OSError as error:
            raise PellucidError(f"{path}: cannot be read: {error.strerror}. Copy the folder again.") from None
        _compare(path, hashlib.sha256(files[name]).hexdigest(), expected)
    return manifest, files


def verify(folder: Path, kind: str) -> None:
    """Raise an error if a hash in a folder is wrong, however large its files are."""
    for name, expected in read_manifest(folder, kind)["files"].items():
        _compare(folder / name, _sha256_of_file(folder / name), expected)


def read_manifest(folder: Path, kind: str) -> dict[str, Any]:
    """Return a folder's manifest; raise an error if it is missing, of another kind, or has a wrong hash."""
    path = folder / MANIFEST
    try:
        table = json.loads(path.read_bytes())
        claimed, names = table.pop("sha256"), [Path(name).name for name, _ in table["files"].items()]
        is_ours = (table["format"], table["kind"], list(table["files"])) == (FORMAT, kind, names)
    except OSError as error:
        import_it = f" First: pellucid import {folder} OUT." if (folder / "config.json").is_file() else ""
        raise PellucidError(
            f"{path}: {error.strerror}. This is not the folder of a {kind}.{import_it}"
        ) from None
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        raise PellucidError(
            f"{path}: this is not a manifest, or it is damaged. Copy the folder again."
        ) from None
    _compare(path, _sha256_of(table), claimed)
    if not is_ours:
        raise PellucidError(
            f"{path}: format {table['format']} of a {table['kind']}, where format {FORMAT} of a {kind} is "
            "expected. Give another folder, or upgrade Pellucid."
        )
    return table


def holds_only(folder: Path, names: Sequence[str]) -> bool:
    """Return whether a folder contains only files with these names and unfinished files of Pellucid."""
    ours = (*names, UNSEALED)
    # safetensors first writes to a name that begins with .tmp
    return all(path.name in ours or path.name.startswith(".tmp") for path in folder.iterdir())


def remove(folder: Path) -> None:
    """Remove a folder, its manifest first, so that a half-removed folder does not look complete."""
    if folder.exists():
        (folder / MANIFEST).unlink(missing_ok=True)
        to_disk(folder)
        shutil.rmtree(folder)


def jsonable(value: Any) -> Any:
    """Return a copy of a value in which inf, -inf and nan are text, because JSON has no such numbers."""
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    if isinstance(value, Mapping):
        return {str(key): jsonable(entry) for key, entry in value.items()}
    return [jsonable(entry) for entry in value] if isinstance(value, list | tuple) else value


def _compare(path: Path, found: str, expected: str) -> None:
    if found != expected:
        raise PellucidError(
            f"{path}: its SHA-256 is {found}, but {MANIFEST} says {expected}: "
            "the file was changed or damaged. Copy the folder again."
        )


def _sha256_of_file(path: Path) -> str:
    """Return the hash of a file, read piece by piece, because it may be larger than the free memory."""
    try:
        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError as error:
        raise PellucidError(f"{path}: cannot be read: {error.strerror}. Copy the folder again.") from None


def _sha256_of(table: Mapping[str, Any]) -> str:
    """Return the hash of a table's content, whatever the layout of its file."""
    return hashlib.sha256(json.dumps(table, sort_keys=True).encode()).hexdigest()
