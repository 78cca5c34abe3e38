"""A prepared text: a folder that `pellucid prepare` writes once, and that trainings map into memory.

It holds two sealed folders: vocabulary/, with the settings, and examples/. While it is made, shards/00000/
and so on have the examples of a chunk of text each.
"""

import hashlib
import json
import tomllib
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import reduce
from pathlib import Path

import numpy as np

from pellucid.config.schema import Config
from pellucid.config.settings import differences
from pellucid.config.toml_file import from_table, to_toml, without_folders
from pellucid.data.corpus import Pair, Report, nothing_left
from pellucid.data.examples import ARRAYS, Examples, Figures, encode, ends_of, without
from pellucid.data.sifting import HELD_OUT, Chunk, ParallelText
from pellucid.errors import PellucidError, UsageError
from pellucid.folder.manifest import MANIFEST, is_sealed, read_manifest, read_sealed, sealing
from pellucid.folder.whole_file import writing
from pellucid.text.vocabulary import Vocabulary, load_vocabulary

CONFIG, EXAMPLES, HELD = "config.toml", "examples", "held_out.jsonl"
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
    ours = without_folders(config)
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
        examples, left_out = encode(text.pairs(chunk), text.names, vocabulary, text.data)
        about = {"figures": examples.figures, "sizes": examples.sizes, "left_out": left_out}
        with sealing(folder, "shard", about) as new:
            for name in ARRAYS:
                np.save(new / f"{name}.npy", getattr(examples, name))
    return folder


def join(folder: Path, shards: Sequence[Path], text: ParallelText, report: Report) -> Report:
    """Finish a prepared text: join its shards, and return the report. Raise an error if no pair is left."""
    tables = [read_manifest(shard, "shard") for shard in shards]
    sizes = np.sum([table["sizes"] for table in tables], 0).tolist()
    figures = reduce(Figures.plus, (Figures(*table["figures"]) for table in tables))
    report = without(report, sum((Counter(table["left_out"]) for table in tables), Counter()))
    if not report.kept:
        raise nothing_left(text.names[0][0], report)
    about = {"names": text.names, "sizes": sizes, "figures": figures, "report": asdict(report)}
    with sealing(folder / EXAMPLES, "prepared text", about) as new:
        for name in ARRAYS:
            _join(new / f"{name}.npy", [shard / f"{name}.npy" for shard in shards])
        lines = (json.dumps(asdict(pair), ensure_ascii=False) for pair in text.with_fate(HELD_OUT))
        (new / HELD).write_text("".join(f"{line}\n" for line in lines), "utf-8", newline="\n")
    return report


def _join(path: Path, parts: Sequence[Path]) -> None:
    """Write arrays as one; of arrays that begin with 0, the ends."""
    ends = path.stem == "ends"
    sizes = [len(np.load(part, mmap_mode="r")) - ends for part in parts]
    dtype, places = np.load(parts[0]).dtype, ends_of(np.array(sizes)) + ends
    whole = np.lib.format.open_memmap(path, "w+", dtype, (int(places[-1]),))
    for part, begin, end in zip(parts, places, places[1:], strict=False):
        array = np.load(part)
        whole[begin:end] = array[1:] + whole[begin - 1] if ends else array
    whole.flush()


def open_prepared(folder: Path, config: Config) -> Prepared:
    """Open a prepared text. Raise an error if it is not finished, or was prepared with other settings."""
    if not is_sealed(folder / EXAMPLES):
        unfinished = "no prepared text, or one that is not finished"
        raise UsageError(f"[data] prepared = {folder}: {unfinished}. Run: pellucid prepare CONFIG {folder}")
    vocabulary, about = read_vocabulary(folder, config), read_manifest(folder / EXAMPLES, "prepared text")
    names = [(file, language) for file, language in about["names"]]
    try:
        arrays = [np.load(folder / EXAMPLES / f"{name}.npy", mmap_mode="r") for name in ARRAYS]
        lines = (folder / EXAMPLES / HELD).read_text("utf-8").split("\n")
    except (OSError, ValueError) as error:
        raise PellucidError(f"{folder}: cannot be read: {error}. Prepare the text again.") from None
    figures, held_out = Figures(*about["figures"]), [Pair(**json.loads(line)) for line in lines[:-1]]
    examples = Examples(names, figures, about["sizes"], *arrays)
    return Prepared(examples, vocabulary, Report(**about["report"]), held_out)


def fingerprint_of_prepared(folder: Path) -> dict[str, str]:
    """Return the SHA-256 of a prepared text: that of its manifest, which has those of its files."""
    path = folder / EXAMPLES / MANIFEST
    return {"prepared": hashlib.sha256(path.read_bytes()).hexdigest() if path.exists() else "absent"}
