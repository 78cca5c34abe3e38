"""A prepared text: a folder that `pellucid prepare` writes once, and that trainings map into memory.

It holds sealed folders: vocabulary/, with the settings, shards/00000/ and so on, each with the examples of a
chunk of text, and last index/, with the counts of all.
"""

import hashlib
import json
import tomllib
from collections import Counter
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any

import numpy as np

from pellucid.config.schema import Config, VocabularyConfig
from pellucid.config.settings import differences
from pellucid.config.toml_file import from_table, to_toml, without_folders
from pellucid.data.corpus import Pair, Report
from pellucid.data.encoding import Shard, encode_chunk, store_of
from pellucid.data.examples import ARRAYS, Examples, Figures, Names, Store
from pellucid.data.sifting import HELD_OUT, Chunk, Sifted, Source
from pellucid.errors import PellucidError, UsageError
from pellucid.folder.manifest import MANIFEST, is_sealed, read_manifest, read_sealed, sealing
from pellucid.folder.whole_file import writing
from pellucid.text.vocabulary import Vocabulary, load_vocabulary

CONFIG, HELD = "config.toml", "held_out.jsonl"
# Settings of [data] that a prepared text depends on.
CLEANED_BY = (
    *("train", "held_out", "languages", "preparation"),
    *("bad_utf8", "max_length", "max_ratio", "remove_duplicates"),
)


@dataclass(frozen=True)
class Prepared:
    """A prepared text that is open."""

    store: Store
    vocabulary: Vocabulary
    report: Report
    held_out: list[Pair]
    names: list[str]  # the file of each corpus's sources


def save_vocabulary(folder: Path, vocabulary: Vocabulary, config: Config, hashes: Mapping[str, str]) -> None:
    """Begin a prepared text: save its vocabulary and its settings. hashes: the SHA-256 of each text file."""
    with writing(folder):
        folder.mkdir(parents=True, exist_ok=True)
    with sealing(folder / "vocabulary", "vocabulary", {"data": dict(hashes)}) as new:
        (new / CONFIG).write_bytes(to_toml(without_folders(config)).encode())
        vocabulary.save(new)


def read_vocabulary(folder: Path, config: Config, hashes: Mapping[str, str] | None = None) -> Vocabulary:
    """Return the vocabulary of a prepared text. Raise an error if the text was prepared with other settings
    or, if hashes are given, from other files."""
    manifest, files = read_sealed(folder / "vocabulary", "vocabulary", (CONFIG,))
    theirs = from_table(tomllib.loads(files[CONFIG].decode()), where=str(folder / "vocabulary" / CONFIG))
    ours = without_folders(config)
    different = [differences(ours.data, theirs.data, CLEANED_BY)]
    if config.training.start_from is None:
        names = [setting.name for setting in fields(VocabularyConfig)]
        different.append(differences(ours.vocabulary, theirs.vocabulary, names))
    for name, found in (hashes or {}).items():
        if found != (there := manifest["data"].get(name, "absent")):
            different.append(f"{name} has the SHA-256 {found[:12]} (there {there[:12]})")
    if any(different):
        wrong = "this text was prepared from other files or with other settings"
        remedy = "Restore these, or prepare the text in another folder."
        raise UsageError(f"{folder}: {wrong}: {', '.join(filter(None, different))}. {remedy}")
    return load_vocabulary(folder / "vocabulary", theirs, files)


def shard_folder(folder: Path, number: int) -> Path:
    """Return the folder of a shard of a prepared text."""
    return folder / "shards" / f"{number:05d}"


def write_shard(source: Source, vocabulary: Vocabulary, with_text: bool, named: tuple[Path, Chunk]) -> int:
    """Write a chunk as a shard of a prepared text, unless it is written; return 1."""
    folder, chunk = named
    if not is_sealed(folder):
        shard = encode_chunk(source, vocabulary, with_text, chunk)
        about = {"corpus": shard.corpus, "figures": shard.figures, "left_out": shard.left_out}
        with sealing(folder, "shard", about) as new:
            for name in ARRAYS:
                np.save(new / f"{name}.npy", getattr(shard.examples, name))
    return 1


def read_shard(folder: Path, names: Names, about: Mapping[str, Any]) -> Shard:
    """Return a shard of a prepared text, whose examples are mapped into memory."""
    try:
        arrays = [np.load(folder / f"{name}.npy", mmap_mode="r") for name in ARRAYS]
    except (OSError, ValueError) as error:
        raise PellucidError(
            f"{folder}: this shard cannot be read: {error}. Prepare the text again."
        ) from None
    left_out, figures = Counter(about["left_out"]), Figures(*about["figures"])
    return Shard(about["corpus"], figures, left_out, Examples(names, *arrays))


def write_index(folder: Path, shards: int, text: Sifted, report: Report) -> None:
    """Finish a prepared text, when all of its shards are written."""
    tables = []
    for number in range(shards):
        path = shard_folder(folder, number)
        tables.append(read_manifest(path, "shard") | {"manifest": _sha256(path / MANIFEST)})
    about = {"names": text.source.names, "report": asdict(report), "shards": tables}
    with sealing(folder / "index", "prepared text", about) as new:
        lines = (json.dumps(asdict(pair), ensure_ascii=False) for pair in text.pairs(HELD_OUT))
        (new / HELD).write_text("".join(f"{line}\n" for line in lines), "utf-8", newline="\n")


def open_prepared(folder: Path, config: Config) -> Prepared:
    """Open a prepared text. Raise an error if it is not finished, or was prepared with other settings."""
    if not is_sealed(folder / "index"):
        finish = f"Run: pellucid prepare CONFIG {folder}"
        raise UsageError(
            f"[data] prepared = {folder}: no prepared text, or one that is not finished. {finish}"
        )
    vocabulary = read_vocabulary(folder, config)
    manifest, files = read_sealed(folder / "index", "prepared text", (HELD,))
    names = [(file, language) for file, language in manifest["names"]]
    tables = enumerate(manifest["shards"])
    shards = [read_shard(shard_folder(folder, number), names, about) for number, about in tables]
    store, report = store_of(shards, Report(**manifest["report"]), names)
    held_out = [Pair(**json.loads(line)) for line in files[HELD].decode().split("\n")[:-1]]
    return Prepared(store, vocabulary, report, held_out, [file for file, _ in names])


def verify(folder: Path) -> None:
    """Read a prepared text, and raise an error if a hash is wrong."""
    manifest, _ = read_sealed(folder / "index", "prepared text", (HELD,))
    for number, about in enumerate(manifest["shards"]):
        path = shard_folder(folder, number)
        read_sealed(path, "shard", ())
        if _sha256(path / MANIFEST) != about["manifest"]:
            raise PellucidError(f"{path}: this shard is of another text. Prepare the text in another folder.")


def fingerprint_of_prepared(folder: Path) -> dict[str, str]:
    """Return the SHA-256 of a prepared text: that of its index, which has those of its shards."""
    path = folder / "index" / MANIFEST
    return {"prepared": _sha256(path) if path.exists() else "absent"}


def _sha256(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()
