"""Get a text from the network, from a mirror folder, or from an earlier download, and verify it."""

import gzip
import hashlib
import http.client
import io
import os
import shutil
import sys
import urllib.error
import urllib.request
import zipfile
import zlib
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from pellucid.errors import PellucidError


@dataclass(frozen=True)
class File:
    """A text of a corpus; `sha256` is that of the unpacked text, so it holds for every way of packing."""

    name: str  # in the prepared folder
    address: str  # plain, .gz, or a .zip that has a file `name`
    mirror: str  # the path in a mirror folder, .gz
    sha256: str


def obtain(file: File, folder: Path, mirror: Path | None) -> bytes:
    """Return the verified text of a file, from the folder if it is there, else from the mirror or network."""
    path = folder / file.name
    if os.path.lexists(path):
        text = path.read_bytes() if path.is_file() else b""
        _verify(text, file, str(path), "Move it away to have it fetched again, or give another --out.")
        return text
    place = str(mirror / file.mirror) if mirror else file.address
    try:
        packed = Path(place).read_bytes() if mirror else _downloaded(file)
    except OSError as error:
        raise PellucidError(
            f"{place}: the mirror does not have this file ({error.strerror}). Its folder must be laid out as "
            "docs/data.md says; without a mirror the file is downloaded."
        ) from None
    try:
        text = gzip.decompress(packed) if place.endswith(".gz") else packed
        if place.endswith(".zip"):
            with zipfile.ZipFile(io.BytesIO(packed)) as archive:
                inside = {PurePosixPath(member).name: member for member in archive.namelist()}
                text = archive.read(inside[file.name])
    except (EOFError, gzip.BadGzipFile, zlib.error, zipfile.BadZipFile, KeyError) as error:
        raise PellucidError(
            f"{place}: damaged or cut short ({error}). Try again, or another --mirror."
        ) from None
    _verify(text, file, place, "It was changed or damaged on the way. Try again, or another --mirror.")
    return text


def _downloaded(file: File) -> bytes:
    from rich.console import Console
    from rich.progress import wrap_file

    packed, quiet = io.BytesIO(), not sys.stderr.isatty()
    try:
        with urllib.request.urlopen(file.address, timeout=60) as response:
            total, console = response.length or 0, Console(stderr=True)
            with wrap_file(response, total, description=file.name, console=console, disable=quiet) as stream:
                shutil.copyfileobj(stream, packed)
    except (OSError, http.client.HTTPException) as error:
        if isinstance(error, urllib.error.HTTPError):
            error.close()
        raise PellucidError(
            f"{file.address}: the download failed: {error}. Check the network, or give a folder that has "
            f"{file.mirror}: --mirror DIR."
        ) from None
    return packed.getvalue()


def _verify(text: bytes, file: File, place: str, remedy: str) -> None:
    found = hashlib.sha256(text).hexdigest()
    if found != file.sha256:
        raise PellucidError(f"{place}: the SHA-256 of its text is {found}, expected {file.sha256}. {remedy}")
