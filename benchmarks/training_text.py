"""Training text as arrays: memory and time with many millions of pairs, and the pace of `pellucid prepare`.

A prepared text of random ids is made in DIR (about 90 bytes a pair) and trained from: the peak of resident
memory, seconds to the first step from the middle of an epoch, and to the first step of a resume there. With
--data, `prepare` of 2 million pairs, one to four Tatoeba sentences a line, beside a loop around SentencePiece
that does what fairseq-preprocess does after it. Linux only: it reads /proc.

    python -m benchmarks.training_text 10 DIR
    python -m benchmarks.training_text 100 DIR
    python -m benchmarks.training_text 0 DIR --data data/tatoeba-en-fr
"""

import argparse
import json
import os
import random
import shutil
import subprocess
import sys
import time
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np

import pellucid
from benchmarks.report import machine
from benchmarks.training_memory import megabytes
from pellucid.config.toml_file import from_table, to_toml
from pellucid.data.corpus import Report
from pellucid.data.examples import PAIR
from pellucid.data.store import EXAMPLES, open_prepared, save_vocabulary
from pellucid.folder.manifest import is_sealed, sealing
from pellucid.learning import setting_up
from pellucid.learning.preparing import prepare
from pellucid.learning.starting import prepare_vocabulary
from pellucid.text.vocabulary import Vocabulary

WORDS = [f"{first}{second}" for first in "bcdfghklmn" for second in ("a", "e", "i", "o", "u", "ai", "ou")]
STEPS, PIECE, LINES = 60, 1_000_000, 2_000_000


def config(prepared: Path) -> pellucid.Config:
    """Return the settings of a tiny model on a prepared text."""
    training = dict(steps=STEPS, batch_tokens=1024, threads=1, precision="fp32", warmup_steps=20)
    table: dict[str, Any] = {"data": {"prepared": str(prepared)}, "model": {"preset": "tiny"}}
    return from_table(table | {"vocabulary": {"size": 60, "kind": "bpe"}, "training": training})


def write_synthetic(folder: Path, millions: int) -> None:
    """Write a prepared text of random ids, 4 to 29 tokens a side, unless it is there."""
    if is_sealed(folder / EXAMPLES):
        return
    chance, settings = np.random.default_rng(1), config(folder)
    pairs = [pellucid.data.corpus.Pair(word, word[::-1], 0, 1, "synthetic") for word in WORDS]
    vocabulary = prepare_vocabulary(pairs, settings)
    save_vocabulary(folder, vocabulary, settings, {})
    figures, about = np.zeros(6, np.int64), dict[str, Any]()
    with (
        sealing(folder / EXAMPLES, "prepared text", about) as new,
        open(new / "ids", "wb") as ids,
        open(new / "pairs", "wb") as rows,
    ):
        for number in range(millions):
            piece, lengths = np.zeros(PIECE, PAIR), chance.integers(4, 30, (PIECE, 2), np.int32)
            both = lengths.sum(1)
            piece["source"], piece["target"] = lengths.T
            piece["begin"] = ids.tell() // 2 + np.cumsum(both) - both
            piece["line"] = np.arange(PIECE) + number * PIECE + 1
            ids.write(chance.integers(4, vocabulary.source_size, both.sum(), np.uint16).data)
            rows.write(piece.data)
            figures[1:4] += [lengths.max(1).sum(), *(lengths - 1).sum(0)]
        figures[0] = 29
        count = millions * PIECE
        about |= dict(names=[("synthetic", 0)], sizes=[count], figures=figures.tolist(), held_out=[])
        about["report"] = asdict(Report(read=count, kept=count))


def train(prepared: Path, out: Path, resume: bool) -> dict[str, float]:
    """Train from the middle of an epoch; return the seconds to the first step, and the peak of memory."""
    plan, settings = setting_up.plan_batches, config(prepared)
    middle = len(open_prepared(prepared, settings).examples) // 2 // 5000  # a window has about 5,000 pairs

    def from_the_middle(examples: Any, order: Any, epoch: int, first: Any, change: Any) -> Any:
        return plan(examples, order, epoch, first if any(first) else (middle, 0), change)

    setting_up.plan_batches = from_the_middle
    began, first = time.perf_counter(), 0.0
    if resume:
        settings = pellucid.Config(**vars(settings) | {"training": _longer(settings.training)})
    for _ in pellucid.training(settings, out, resume=resume):
        first = first or time.perf_counter() - began
    return {"seconds": first, "memory": megabytes("self", "VmHWM"), "before": BEFORE}


def _longer(training: Any) -> Any:
    return type(training)(**vars(training) | {"steps": 2 * STEPS})


def write_lines(data: Path, folder: Path) -> list[str]:
    """Write 2 million pairs: one to four sentences of Tatoeba a line."""
    paths, chance = [folder / "large.en", folder / "large.fr"], random.Random(1)
    sides = [(data / f"train.{language}").read_text("utf-8").split("\n")[:-1] for language in ("en", "fr")]
    with paths[0].open("w", encoding="utf-8") as left, paths[1].open("w", encoding="utf-8") as right:
        for _ in range(LINES):
            rows = chance.choices(range(len(sides[0])), k=chance.randint(1, 4))
            for file, side in zip((left, right), sides, strict=True):
                file.write(" ".join(side[row] for row in rows) + "\n")
    return [*map(str, paths)]


def prepare_lines(data: Path, folder: Path) -> None:
    """Print the pace of `pellucid prepare` with a ready-made vocabulary, and that of a loop."""
    files, table = write_lines(data, folder), {"vocabulary": {"size": 16_000}, "data": {}}
    if not is_sealed(folder / "small" / EXAMPLES):  # for its vocabulary
        small = {"data": {"train": [str(data / "train.en"), str(data / "train.fr")]}}
        prepare(from_table(table | small), folder / "small", os.cpu_count() or 1, print)
    made = str(folder / "small" / "vocabulary" / "vocabulary.model")
    table = {"data": {"train": files}, "vocabulary": {"model": [made]}}
    (folder / "large.toml").write_text(to_toml(from_table(table)), "utf-8")
    for number in (1, os.cpu_count() or 1):
        shutil.rmtree(folder / "large", ignore_errors=True)
        command = ["prepare", str(folder / "large.toml"), str(folder / "large"), "--processes", str(number)]
        began = time.perf_counter()
        said = subprocess.run(
            [sys.executable, "-m", "pellucid", *command], check=True, capture_output=True, text=True
        )
        print(f"prepare, {number} processes: {time.perf_counter() - began:.0f} s")
        print(said.stderr.splitlines()[-1], flush=True)
    vocabulary = open_prepared(folder / "large", from_table(table)).vocabulary
    print(f"a loop in one process: {loop(vocabulary, files, folder):,.0f} pairs a second")


def loop(vocabulary: Vocabulary, files: list[str], folder: Path, count: int = 200_000) -> float:
    """Pairs a second of pieces, their ids from a dictionary, written as arrays; without any cleaning."""
    model: Any = vocabulary.source
    numbers = {model.id_to_piece(number): number for number in range(vocabulary.source_size)}
    began = time.perf_counter()
    for file in files:
        with open(file, encoding="utf-8") as lines, open(folder / "loop", "wb") as out:
            for _, line in zip(range(count), lines, strict=False):
                pieces = model.encode_as_pieces(line.rstrip("\n"))
                np.array([numbers.get(piece, 1) for piece in pieces] + [3], np.uint16).tofile(out)
    return count / (time.perf_counter() - began)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("millions", type=int)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--data", type=Path)
    parser.add_argument("--run", type=Path, help=argparse.SUPPRESS)  # the measured process
    arguments = parser.parse_args()
    folder = arguments.folder
    prepared = folder / f"{arguments.millions}m"
    if arguments.run:
        print(json.dumps(train(prepared, arguments.run, arguments.run.exists())))
        return
    folder.mkdir(parents=True, exist_ok=True)
    print(machine())
    if arguments.millions:
        write_synthetic(prepared, arguments.millions)
        size = sum(path.stat().st_size for path in (prepared / EXAMPLES).iterdir())
        print(f"{arguments.millions} million pairs, {size / 1e9:.2f} GB of files")
        shutil.rmtree(folder / "run", ignore_errors=True)
        for what in ("begun", "resumed"):
            command = [
                sys.executable,
                "-m",
                "benchmarks.training_text",
                *sys.argv[1:3],
                "--run",
                folder / "run",
            ]
            said = json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE).stdout)
            print(
                f"{what} in mid-epoch: {said['seconds']:.1f} s to the first step, peak of resident memory "
                f"{said['memory']:,.0f} MB, {said['before']:,.0f} MB of it before the training",
                flush=True,
            )
    if arguments.data:
        prepare_lines(arguments.data, folder)


BEFORE = megabytes("self", "VmHWM")

if __name__ == "__main__":
    main()
