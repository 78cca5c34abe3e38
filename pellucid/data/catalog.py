"""Known corpora, listed in catalog.toml: download one, or copy it from a mirror folder, verify its text, and
split it."""

import gzip
import hashlib
import http.client
import io
import os
import shutil
import sys
import tomllib
import urllib.error
import urllib.request
import zipfile
import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path, PurePosixPath

from pellucid.errors import PellucidError, UsageError
from pellucid.folder.whole_file import making, write_new


@dataclass(frozen=True)
class File:
    """A text file of a corpus. `sha256` is the hash of the unpacked text, whatever the compression."""

    name: str  # in the prepared folder
    address: str  # plain, .gz, or a .zip that has a file `name`
    mirror: str  # the path in a mirror folder, .gz
    sha256: str


@dataclass(frozen=True)
class Corpus:
    """A corpus that `pellucid data` can fetch: its files, its licence, and how it is split."""

    about: str
    licence: str
    languages: Sequence[str]
    files: tuple[File, ...]
    # English sentences that are kept apart; the others, with all translations, are for training.
    validation: int = 0
    test: int = 0  # 0 if the corpus comes with its own parts


CATALOG = tomllib.loads(files("pellucid.data").joinpath("catalog.toml").read_text("utf-8"))
CORPORA = {
    name: Corpus(**table | {"files": tuple(File(**file) for file in table["files"])})
    for name, table in CATALOG.items()
}


def fetch(name: str, out: str | Path | None = None, mirror: str | Path | None = None) -> Path:
    """Fetch a known corpus, verify and split it, and return its folder: data/NAME, or `out`.

    The files come from `mirror`, or from the folder that PELLUCID_MIRROR names, or from the network. A file
    that is already there with the right hash is not fetched again. If the folder has a file of the same name
    with other content, raise an error and write nothing.
    """
    if name not in CORPORA:
        raise UsageError(f"there is no corpus {name!r} in the catalogue. Known: {', '.join(CORPORA)}.")
    corpus = CORPORA[name]
    folder = Path(out) if out else Path("data") / name
    mirror = mirror or os.environ.get("PELLUCID_MIRROR")
    with making(folder):  # before the download, so that an impossible folder is known at once
        texts = [obtain(file, folder, Path(mirror) if mirror else None) for file in corpus.files]
        contents = {file.name: text for file, text in zip(corpus.files, texts, strict=True)}
        contents |= _parts(corpus, texts) | {"README.txt": _notice(name, corpus).encode()}
        write_new(folder, contents)
    return folder


def obtain(file: File, folder: Path, mirror: Path | None) -> bytes:
    """Return the text of a file: from `folder` if it is already there, otherwise from the mirror or the
    network. Raise an error if its hash is wrong."""
    path = folder / file.name
    if os.path.lexists(path):
        text = path.read_bytes() if path.is_file() else b""
        _verify(text, file, str(path), "Move it away to have it fetched again, or give another --out.")
        return text
    place = str(mirror / file.mirror) if mirror else file.address
    try:
        packed = Path(place).read_bytes() if mirror else _download(file)
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
            f"{place}: damaged or cut short ({error}). Try again, or use another --mirror."
        ) from None
    _verify(text, file, place, "It was changed or damaged on the way. Try again, or use another --mirror.")
    return text


def _download(file: File) -> bytes:
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


def _parts(corpus: Corpus, texts: Sequence[bytes]) -> dict[str, bytes]:
    """Return the content of train, validation and test by file name, such as "train.en"; {} if the corpus
    already comes split."""
    if not corpus.test:
        return {}
    sides = [text.decode().removesuffix("\n").split("\n") for text in texts]  # at line feeds only
    one = [line.split("\t") for line in sides[0]]  # a text with tabs
    pairs = [(row[0], row[1]) for row in (one if len(sides) == 1 else zip(*sides, strict=True))]
    return {
        f"{part}.{language}": "".join(f"{pair[side]}\n" for pair in pairs).encode()
        for part, pairs in split_pairs(pairs, corpus.validation, corpus.test).items()
        for side, language in enumerate(corpus.languages)
    }


def split_pairs(
    pairs: Sequence[tuple[str, str]], validation: int, test: int
) -> dict[str, list[tuple[str, str]]]:
    """Split pairs into train, validation and test by their English sentence, so that no test sentence is in
    the training data.

    Sentences that differ only in case and punctuation count as the same. Validation and test have one
    translation of each sentence, train has all of them. Sentences are ordered by a hash of their text, so
    every computer gets the same split.
    """
    groups: dict[str, list[tuple[str, str]]] = {}
    for pair in pairs:
        groups.setdefault(_key(pair[0]), []).append(pair)
    order = sorted(groups, key=_order)
    train = [pair for key in order[test + validation :] for pair in groups[key]]
    return {
        "train": sorted(train, key=lambda pair: _order("\t".join(pair))),
        "validation": [groups[key][0] for key in order[test : test + validation]],
        "test": [groups[key][0] for key in order[:test]],
    }


def _key(english: str) -> str:
    """Return a sentence in lower case without punctuation; unchanged if nothing would be left."""
    letters = "".join(character if character.isalnum() else " " for character in english.casefold())
    return " ".join(letters.split()) or english


def _order(text: str) -> bytes:
    return hashlib.sha256(text.encode()).digest()


def _notice(name: str, corpus: Corpus) -> str:
    origins = "\n".join(f"{file.sha256}  {file.name}  {file.address}" for file in corpus.files)
    notice = f"{name}: {corpus.about}.\nLicence: {corpus.licence}.\n\n"
    notice += f"From (SHA-256 of the unpacked text):\n{origins}\n"
    if corpus.test:
        notice += "\ntrain, validation and test were made from it, by English sentence.\n"
    return notice
