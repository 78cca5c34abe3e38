"""A folder that is whole or not there: its manifest, with each file's SHA-256, is written when all else is.

Whenever the process is killed or the power fails, what was sealed before is still there and still whole.
"""

import hashlib
import itertools
import json
import math
import os
import shutil
import stat
import tempfile
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, BinaryIO

from pellucid.errors import PellucidError

FORMAT = 1
MANIFEST = "MANIFEST.json"
UNSEALED = ".manifest"  # its name before all is on the disk


@contextmanager
def sealed(folder: Path, kind: str, about: Mapping[str, Any]) -> Iterator[Path]:
    """A new folder to write files into; at the end of the block it is sealed, or gone if it went wrong."""
    with writing(folder):
        folder.parent.mkdir(exist_ok=True)
        remove(folder)
        folder.mkdir()
        try:
            yield folder
            _seal(folder, kind, about)
        except BaseException:  # whatever went wrong, and Ctrl-C: a folder half written must not stay
            shutil.rmtree(folder, ignore_errors=True)
            raise


def _seal(folder: Path, kind: str, about: Mapping[str, Any]) -> None:
    paths = sorted(folder.iterdir())
    for path in paths:
        to_disk(path)
    hashes = {path.name: _sha256(path.read_bytes()) for path in paths}
    table = jsonable({"format": FORMAT, "kind": kind, "files": hashes, **about})
    unsealed = folder / UNSEALED
    unsealed.write_bytes(json.dumps(table | {"sha256": _sha256_of(table)}, indent=2).encode())
    to_disk(unsealed)
    to_disk(folder)
    os.replace(unsealed, folder / MANIFEST)
    to_disk(folder)
    to_disk(folder.parent)


def is_sealed(folder: Path) -> bool:
    """Whether the folder was finished."""
    return (folder / MANIFEST).exists()


def verified(folder: Path, kind: str, needed: Sequence[str]) -> tuple[dict[str, Any], dict[str, bytes]]:
    """The manifest and all files that it lists; raises if a hash is wrong or a needed file is not listed."""
    manifest, files = read_manifest(folder, kind), {}
    for name in dict.fromkeys((*needed, *manifest["files"])):
        path, expected = folder / name, manifest["files"].get(name)
        if expected is None:
            raise PellucidError(f"{path}: {MANIFEST} does not list this file. Copy the folder again.")
        try:
            files[name] = path.read_bytes()
        except OSError as error:
            raise PellucidError(f"{path}: cannot be read: {error.strerror}. Copy the folder again.") from None
        _compare(path, _sha256(files[name]), expected)
    return manifest, files


def read_manifest(folder: Path, kind: str) -> dict[str, Any]:
    """What the manifest of such a folder says, once its own hash is right."""
    path = folder / MANIFEST
    try:
        table = json.loads(path.read_bytes())
        claimed, names = table.pop("sha256"), [Path(name).name for name, _ in table["files"].items()]
        is_ours = table["format"] == FORMAT and table["kind"] == kind and names == list(table["files"])
    except OSError as error:
        raise PellucidError(f"{path}: {error.strerror}. This is not the folder of a {kind}.") from None
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        raise PellucidError(f"{path}: not a manifest, or a damaged one. Copy the folder again.") from None
    _compare(path, _sha256_of(table), claimed)
    if not is_ours:
        raise PellucidError(
            f"{path}: format {table['format']} of a {table['kind']}, where format {FORMAT} of a {kind} is "
            "expected. Give another folder, or upgrade Pellucid."
        )
    return table


def holds_only(folder: Path, names: Sequence[str]) -> bool:
    """Whether nothing of anybody else lies in a folder that was never finished."""
    ours = (*names, UNSEALED)
    # safetensors writes to .tmp and some letters first
    return all(path.name in ours or path.name.startswith(".tmp") for path in folder.iterdir())


def remove(folder: Path) -> None:
    """The manifest goes first: a folder that is half removed must not look whole."""
    if folder.exists():
        (folder / MANIFEST).unlink(missing_ok=True)
        to_disk(folder)
        shutil.rmtree(folder)


def copy(source: Path, target: Path) -> None:
    """A copy that appears under its name all at once."""
    part = source.with_name(".part")
    shutil.copyfile(source, part)
    to_disk(part)
    os.replace(part, target)


@contextmanager
def whole(path: Path) -> Iterator[BinaryIO]:
    """A file to write, which gets its name once it is whole; until then the file of that name is as it was.

    What is no regular file (a pipe, a device, /dev/stdout) is written to as it is, and never replaced.
    """
    if _is_stream(path):
        with path.open("ab") as file:
            yield file
        return
    target = Path(os.path.realpath(path))  # a link stays, and leads to what is new
    part = target.with_name(f".{os.getpid()}-{threading.get_ident()}.part")
    try:
        with part.open("wb") as file:
            yield file
        if target.exists():
            shutil.copymode(target, part)
        to_disk(part)
        os.replace(part, target)
    except BaseException as error:  # Ctrl-C too must leave nothing behind
        with suppress(OSError):
            part.unlink()
        if isinstance(error, OSError) and error.filename == str(part):
            error.filename = str(path)  # the one that the caller knows
        raise


def write_whole(path: Path, content: bytes) -> None:
    """A file with this content, whole or as it was before."""
    with whole(path) as file:
        file.write(content)


def write_new(folder: Path, contents: Mapping[str, bytes]) -> None:
    """Write these files into a folder, made if need be; if one is there with other content, write none."""
    missing = {name: content for name, content in contents.items() if not _is_there(folder / name, content)}
    with making(folder), writing(folder):
        for name, content in missing.items():
            write_whole(folder / name, content)


def _is_there(path: Path, content: bytes) -> bool:
    """Whether the file has this content already; raises if something else has its name."""
    if not os.path.lexists(path):
        return False
    with suppress(OSError):
        if path.is_file() and path.read_bytes() == content:
            return True
    raise PellucidError(
        f"{path} is there already, and it is another file: it was left alone, and nothing was written. "
        "Move it away, or choose another --out."
    )


@contextmanager
def making(folder: Path) -> Iterator[None]:
    """Make a folder and those above it; if the block fails, the ones that are still empty go again."""
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


def _is_stream(path: Path) -> bool:
    """Whether a path leads to what can only be written to: a pipe, a device, an open file by its number."""
    try:
        mode = path.stat().st_mode
    except FileNotFoundError:
        return False
    if not stat.S_ISREG(mode):
        return True
    # /dev/stdout may lead to a regular file, which whoever started us holds open: it must stay that file.
    while path.is_symlink() and not _is_by_number(path):
        path = path.parent / path.readlink()
    return _is_by_number(path)


def _is_by_number(path: Path) -> bool:
    return os.path.realpath(path.parent).startswith(("/proc/", "/dev/fd"))


def to_disk(path: Path) -> None:
    """fsync of a file, or of a folder and so of the names in it (which Windows neither has nor needs)."""
    if os.name == "nt" and path.is_dir():
        return
    handle = os.open(path, os.O_RDONLY if path.is_dir() else os.O_RDWR)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def check_writable(folder: str | Path, bytes_needed: int = 0) -> None:
    """Makes `folder` if need be, and raises now what would else go wrong at the first save."""
    folder = Path(folder)
    with writing(folder):
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder) as file:  # whose name nobody else has
            file.write(b"\0" * 4096)
        free = shutil.disk_usage(folder).free
    if free < bytes_needed:
        raise PellucidError(
            f"{folder}: {bytes_needed / 1e6:,.0f} MB are needed and {free / 1e6:,.0f} MB are free. "
            "Make room, or choose another folder."
        )


@contextmanager
def writing(folder: Path) -> Iterator[None]:
    """Says which folder could not be written."""
    try:
        yield
    except OSError as error:
        raise PellucidError(
            f"{folder}: cannot be written: {error.strerror or error}. What was saved before is intact. "
            "Make room, or choose another folder."
        ) from None


def jsonable(value: Any) -> Any:
    """As JSON can say it and gives it back: it has no numbers for "inf", "-inf" and "nan", so words."""
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


def _sha256(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def _sha256_of(table: Mapping[str, Any]) -> str:
    """Of what a table says, however it is laid out."""
    return _sha256(json.dumps(table, sort_keys=True).encode())
