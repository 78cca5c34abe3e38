"""Known corpora, listed in catalog.toml: get one, verify its text, and split it."""

import hashlib
import os
import tomllib
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path

from pellucid.data.download import File, obtain
from pellucid.errors import UsageError
from pellucid.folder.whole_file import making, write_new


@dataclass(frozen=True)
class Split:
    """How many English sentences are kept apart; the others, with all translations, are for training."""

    validation: int
    test: int


@dataclass(frozen=True)
class Corpus:
    """A known corpus."""

    about: str
    licence: str
    languages: tuple[str, str]
    files: tuple[File, ...]
    split: Split | None = None  # None if the corpus comes with its own parts


def _read_catalog() -> dict[str, Corpus]:
    corpora = tomllib.loads(files("pellucid.data").joinpath("catalog.toml").read_text("utf-8"))
    for table in corpora.values():
        table |= {
            "languages": tuple(table["languages"]),
            "files": tuple(File(**file) for file in table["files"]),
        }
        table["split"] = Split(**table["split"]) if "split" in table else None
    return {name: Corpus(**table) for name, table in corpora.items()}


CORPORA = _read_catalog()


def fetch(name: str, out: str | Path | None = None, mirror: str | Path | None = None) -> Path:
    """Get a corpus, verify and split it, and return its folder: data/NAME unless `out` names another.

    It comes from the mirror folder, or the one that PELLUCID_MIRROR names, or else from the network.
    A file that is there already and has the right hash is not fetched again. If a file of another content has
    the name of one of the corpus, it is left alone, and nothing is written.
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


def _parts(corpus: Corpus, texts: Sequence[bytes]) -> dict[str, bytes]:
    """Return the files of train, validation and test by their names; none if the corpus has its own."""
    if corpus.split is None:
        return {}
    sides = [text.decode().removesuffix("\n").split("\n") for text in texts]  # at line feeds only
    one = [line.split("\t") for line in sides[0]]  # a text with tabs
    pairs = [(row[0], row[1]) for row in (one if len(sides) == 1 else zip(*sides, strict=True))]
    return {
        f"{part}.{language}": "".join(f"{pair[side]}\n" for pair in pairs).encode()
        for part, pairs in split_pairs(pairs, corpus.split).items()
        for side, language in enumerate(corpus.languages)
    }


def split_pairs(pairs: Sequence[tuple[str, str]], split: Split) -> dict[str, list[tuple[str, str]]]:
    """Split pairs into train, validation and test by English sentence: no test sentence was seen in training.

    Sentences that differ only in case and punctuation are the same. Validation and test have one translation
    of each; train has all, shuffled. The order is by a hash of the text: the same everywhere.
    """
    groups: dict[str, list[tuple[str, str]]] = {}
    for pair in pairs:
        groups.setdefault(_key(pair[0]), []).append(pair)
    order = sorted(groups, key=_order)
    test, validation = order[: split.test], order[split.test : split.test + split.validation]
    train = [pair for key in order[split.test + split.validation :] for pair in groups[key]]
    return {
        "train": sorted(train, key=lambda pair: _order("\t".join(pair))),
        "validation": [groups[key][0] for key in validation],
        "test": [groups[key][0] for key in test],
    }


def _key(english: str) -> str:
    """Return a sentence without case and punctuation, or as it is if that leaves nothing."""
    letters = "".join(character if character.isalnum() else " " for character in english.casefold())
    return " ".join(letters.split()) or english


def _order(text: str) -> bytes:
    return hashlib.sha256(text.encode()).digest()


def _notice(name: str, corpus: Corpus) -> str:
    origins = "\n".join(f"{file.sha256}  {file.name}  {file.address}" for file in corpus.files)
    notice = f"{name}: {corpus.about}.\nLicence: {corpus.licence}.\n\n"
    notice += f"From (SHA-256 of the unpacked text):\n{origins}\n"
    if split := corpus.split:
        notice += (
            "\n"
            "train, validation and test were made from it, by English sentence, case and punctuation apart.\n"
            f"test has {split.test:,}, validation {split.validation:,}, with one translation each;\n"
            "train has the others with all their translations, shuffled.\n"
        )
    return notice
