"""A file of a million lines: the memory of the command, the time that it says is left, and kill -9.

English sentences of the demo's phrasebook, drawn at random, are translated to Spanish by the demo model with
greedy search: once in one go, and once killed (kill -9) several times at random moments and resumed. Both
files must be equal, byte for byte. Linux only: it reads /proc.

    python -m benchmarks.bulk [--lines 1000000] [--kills 5] [--seed 1]
"""

import argparse
import hashlib
import json
import random
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from benchmarks.report import machine, write_report
from benchmarks.training_memory import megabytes
from pellucid.cli.bulk import BLOCK
from pellucid.data.phrasebook import split

SHOWN = 8  # rows of the table


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--lines", type=int, default=1_000_000)
    parser.add_argument("--kills", type=int, default=5)
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    chance = random.Random(arguments.seed)
    texts = sorted({phrase.source for phrase in split()["train"] if phrase.direction == "en-es"})
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        with (folder / "in.txt").open("w", encoding="utf-8") as file:
            file.writelines(f"{chance.choice(texts)}\n" for _ in range(arguments.lines))
        seen = list(watch(folder / "whole.txt"))
        seconds = seen[-1][0]
        kills, block = [], seconds * BLOCK / arguments.lines
        for number in range(arguments.kills):  # one in each part of the file, the last before its end
            part = chance.uniform(number, number + 0.9) / arguments.kills
            lines = kill(folder / "killed.txt", int(part * arguments.lines), chance.uniform(0, block))
            kills.append(f"{lines:,}")
            print("killed at", kills[-1], flush=True)
        list(watch(folder / "killed.txt"))
        hashes = [digest(folder / each) for each in ("whole.txt", "killed.txt")]
    if len({*hashes}) > 1:
        sys.exit("the files differ")
    at = [seen[round(place * (len(seen) - 1) / SHOWN)] for place in range(1, SHOWN + 1)]
    rows = [
        (f"{lines:,}", f"{now:.0f}", f"{resident:.0f}", left, f"{seconds - now:.0f}")
        for now, lines, resident, left in at
    ]
    about = (
        *(each.replace("\n", " ") for each in __doc__.strip().split("\n\n")[1:2]),
        f"Killed (seed {arguments.seed}) with {', '.join(kills)} lines saved: the file is the same "
        f"(SHA-256 {hashes[0][:16]}…). {machine()}, beside other work.",
    )
    columns = ("lines saved", "seconds", "resident, MB", "said to be left", "left in truth, seconds")
    write_report("bulk", f"A file of {arguments.lines:,} lines", about, columns, rows)


def start(out: Path) -> subprocess.Popen[str]:
    command = ["-m", "pellucid", "translate", "demo", "--to", "es", "--beam", "1", "--resume"]
    files = ["--source", str(out.with_name("in.txt")), "--out", str(out)]
    errors = out.with_suffix(".log").open("w")
    return subprocess.Popen([sys.executable, *command, *files], stderr=errors, text=True)


def watch(out: Path) -> Iterator[tuple[float, int, float, str]]:
    """Run the command to its end. Yield about every second its time, the lines saved, its resident memory in
    MB, and the time that it last said was left."""
    begun, process = time.perf_counter(), start(out)
    while process.poll() is None:
        time.sleep(1)
        if lines := saved(out):
            told = out.with_suffix(".log").read_text("utf-8").splitlines()
            left = told[-1].split()[-2] if told else ""
            yield time.perf_counter() - begun, lines, megabytes(process.pid, "VmRSS"), left
    if process.returncode:
        sys.exit(out.with_suffix(".log").read_text("utf-8"))


def kill(out: Path, lines: int, seconds: float) -> int:
    """Run the command, and kill it some seconds after more than so many lines are saved. Return how many
    are."""
    process = start(out)
    while saved(out) <= lines and process.poll() is None:
        time.sleep(0.001)
    time.sleep(seconds)
    process.kill()
    if process.wait() != -signal.SIGKILL:
        sys.exit(f"it had ended before it was killed, with {process.returncode}. Give more --lines.")
    return saved(out)


def saved(out: Path) -> int:
    """Return how many lines are translated and on the disk; 0 before the start and after the end."""
    try:
        return int(json.loads(Path(f"{out}.part.json").read_bytes())["lines"])
    except FileNotFoundError:
        return 0


def digest(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


if __name__ == "__main__":
    main()
