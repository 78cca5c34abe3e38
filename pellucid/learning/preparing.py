"""Prepare text for trainings, once: clean it, learn its vocabulary, encode it in several processes, and write
it as a folder that trainings map into memory."""

import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path

from pellucid.config.schema import Config
from pellucid.data.corpus import Report
from pellucid.data.processes import several
from pellucid.data.sifting import LEARNED, ParallelText, sift, text_of
from pellucid.data.store import EXAMPLES, join, read_vocabulary, save_vocabulary, write_shard
from pellucid.errors import UsageError
from pellucid.folder.manifest import is_sealed, remove, verify
from pellucid.folder.whole_file import making
from pellucid.interop.importing import load_folder
from pellucid.learning.claim import LOCK, alone_in
from pellucid.learning.starting import fit_sizes, prepare_vocabulary, start_from
from pellucid.learning.text import Request, check_text, data_of, fingerprints
from pellucid.text.vocabulary import Vocabulary


def prepare(config: Config, out: Path, processes: int, report: Callable[[str], None]) -> None:
    """Write the training text of a configuration as a prepared text, or what is missing of one. Check all
    hashes of one that is finished."""
    config = replace(config, data=replace(config.data, prepared=None, validation=()))
    asked, began = Request(config, out), time.perf_counter()
    check_text(asked)
    hashes, begun = fingerprints(asked), is_sealed(out / "vocabulary")
    found = {path.name for path in out.iterdir()} if out.is_dir() else set()
    if not begun and found and (LOCK not in found or found - {LOCK, "vocabulary"}):
        raise UsageError(f"{out} holds other files, and these must stay as they are. Name a new folder.")
    with making(out), alone_in(out):
        vocabulary = read_vocabulary(out, config, hashes) if begun else None
        if is_sealed(out / EXAMPLES):
            verify(out / EXAMPLES, "prepared text")
            report(f"{out} is prepared already, and all its hashes are right")
        else:
            done = _prepare(config, out, processes, report, vocabulary, hashes)
            seconds = time.perf_counter() - began
            report(f"{done}; {seconds:,.0f} seconds, {done.read / seconds:,.0f} pairs a second")
        remove(out / "shards")


def _prepare(
    config: Config,
    out: Path,
    processes: int,
    report: Callable[[str], None],
    vocabulary: Vocabulary | None,
    hashes: Mapping[str, str],
) -> Report:
    """Write what is missing of a prepared text; learn its vocabulary if there is none yet."""
    data = data_of(config)
    with several(processes) as run:
        text, found = sift(text_of(data.train, data), run)
        report(f"cleaned: {found}")
        if vocabulary is None:
            vocabulary = _vocabulary(config, text)
            save_vocabulary(out, vocabulary, replace(config, model=fit_sizes(config, vocabulary)), hashes)
            report(f"a vocabulary of {vocabulary.source_size:,}")
        chunks = enumerate(text.chunks(LEARNED))
        named = ((out / "shards" / f"{number:05d}", chunk) for number, chunk in chunks)
        shards = list(run(partial(write_shard, replace(text, fates=(), sources=()), vocabulary), named))
    return join(out, shards, text, found)


def _vocabulary(config: Config, text: ParallelText) -> Vocabulary:
    if config.training.start_from:
        return start_from(load_folder(Path(config.training.start_from)), config, text)[0]
    return prepare_vocabulary(text, config)
