"""A prepared text: a folder that `pellucid prepare` writes once, and that trainings map into memory.

It holds two sealed folders: vocabulary/, with the settings, and examples/. While it is made, shards/00000/
and so on have the examples of a chunk of text each.
"""

import hashlib
import mmap
import tomllib
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, astuple, dataclass, replace
from pathlib import Path

import numpy as np

from pellucid.config.schema import Config
from pellucid.config.settings import differences
from pellucid.config.toml_file import from_table, to_toml, without_folders
from pellucid.data.corpus import Pair, Report, nothing_left
from pellucid.data.examples import ARRAYS, PAIR, Examples, Figures, encode, kind_of_ids, without
from pellucid.data.sifting import HELD_OUT, Array, Chunk, ParallelText
from pellucid.errors import PellucidError, UsageError
from pellucid.folder.manifest import MANIFEST, is_sealed, read_manifest, read_sealed, sealing
from pellucid.folder.whole_file import writing
from pellucid.text.vocabulary import Vocabulary, load_vocabulary

CONFIG, EXAMPLES = "config.toml", "examples"
USED_LATER = ("validation", "prepared", "weights", "temperature", "licence")  # settings of [data]


@dataclass(frozen=True)
class Prepared:
    """A prepared text that is open."""

    examples: Examples
    vocabulary: Vocabulary
    report: Report
    held_out: list[Pair]


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
    # `prepare` leaves out the files to validate on, and short names depend on all files that are named.
    ours = without_folders(replace(config, data=replace(config.data, validation=(), prepared=None)))
    different = [differences(ours.data, theirs.data, [*vars(ours.data).keys() - {*USED_LATER}])]
    if config.training.start_from is None:
        different.append(differences(ours.vocabulary, theirs.vocabulary, vars(ours.vocabulary)))
    for name, found in (hashes or {}).items():
        if found != (there := manifest["data"].get(name, "absent")):
            different.append(f"{name} has the SHA-256 {found[:12]} (there {there[:12]})")
    if any(different):
        wrong = "this text was prepared from other files or with other settings"
        remedy = "Restore these, or prepare the text in another folder."
        raise UsageError(f"{folder}: {wrong}: {', '.join(filter(None, different))}. {remedy}")
    return load_vocabulary(folder / "vocabulary", theirs, files)


def write_shard(text: ParallelText, vocabulary: Vocabulary, named: tuple[Path, Chunk]) -> Path:
    """Encode a chunk and write it as a shard, unless it is written; return the folder."""
    folder, chunk = named
    if not is_sealed(folder):
        examples, left_out = encode(text.pairs(chunk), vocabulary, text.data, text.names)
        about = {"figures": examples.figures, "sizes": examples.sizes, "left_out": left_out}
        with sealing(folder, "shard", about) as new:
            for name in ARRAYS:
                (new / name).write_bytes(getattr(examples, name))
    return folder


def join(folder: Path, shards: Sequence[Path], text: ParallelText, report: Report) -> Report:
    """Finish a prepared text: join its shards, and return the report. Raise an error if no pair is left."""
    tables = [read_manifest(shard, "shard") for shard in shards]
    sizes, figures = (np.array([table[name] for table in tables]) for name in ("sizes", "figures"))
    report = without(report, sum((Counter(table["left_out"]) for table in tables), Counter()))
    if not report.kept:
        raise nothing_left(text.names[0][0], report)
    about = dict(
        names=text.names,
        sizes=sizes.sum(0).tolist(),
        figures=[*figures.max(0)[:1].tolist(), *figures.sum(0)[1:].tolist()],
        report=asdict(report),
        held_out=[astuple(pair) for pair in text.with_fate(HELD_OUT)],
    )
    with (
        sealing(folder / EXAMPLES, "prepared text", about) as new,
        open(new / "ids", "wb") as ids,
        open(new / "pairs", "wb") as pairs,
    ):
        begin = 0
        for shard in shards:
            ids.write((shard / "ids").read_bytes())
            rows = np.fromfile(shard / "pairs", PAIR)
            rows["begin"] += begin
            begin += int((rows["source"] + rows["target"]).sum())
            pairs.write(rows.data)
    return report


def open_prepared(folder: Path, config: Config) -> Prepared:
    """Open a prepared text. Raise an error if it is not finished, or was prepared with other settings."""
    if not is_sealed(folder / EXAMPLES):
        unfinished = "no prepared text, or one that is not finished"
        raise UsageError(f"[data] prepared = {folder}: {unfinished}. Run: pellucid prepare CONFIG {folder}")
    vocabulary, about = read_vocabulary(folder, config), read_manifest(folder / EXAMPLES, "prepared text")
    figures, count = Figures(*about["figures"]), sum(about["sizes"])
    kinds, arrays = (np.dtype(kind_of_ids(vocabulary)), PAIR), list[Array]()
    sizes = figures.sources + figures.targets + 2 * count, count
    try:
        for name, kind, size in zip(ARRAYS, kinds, sizes, strict=True):
            with open(folder / EXAMPLES / name, "rb") as file:
                arrays.append(np.ndarray(size, kind, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)))
    except (OSError, ValueError, TypeError) as error:  # TypeError: a file is too short
        raise PellucidError(f"{folder}: cannot be read: {error}. Prepare the text again.") from None
    examples = Examples([(*name,) for name in about["names"]], figures, about["sizes"], *arrays)
    held_out = [Pair(*each) for each in about["held_out"]]
    return Prepared(examples, vocabulary, Report(**about["report"]), held_out)


def fingerprint_of_prepared(folder: Path) -> dict[str, str]:
    """Return the SHA-256 of a prepared text: that of its manifest, which has those of its files."""
    path = folder / EXAMPLES / MANIFEST
    return {"prepared": hashlib.sha256(path.read_bytes()).hexdigest() if path.exists() else "absent"}
