"""Training on one thread and on two, on a quiet machine and beside other busy processes.

Transformer-Tiny on Multi30k English-German, batches of 4,096 padded tokens, bf16 where the processor has it.
Threads that wait in a barrier of OpenMP may spin or sleep; `OMP_WAIT_POLICY` and `GOMP_SPINCOUNT` choose.

    python -m benchmarks.training_threads [--data data/multi30k-en-de] [--rounds 3] [--seconds 15]
"""

import argparse
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from benchmarks.report import machine, write_report

PASSIVE = {"OMP_WAIT_POLICY": "passive"}
# name: (trainings, "--measure" of each, what the environment says before torch is imported)
SETTINGS: dict[str, tuple[int, str, dict[str, str]]] = {
    "1 thread": (1, "1", PASSIVE),
    "a worker beside it, 1 thread each (what `pellucid train` does)": (1, "2 workers", PASSIVE),
    "2 threads, spinning (OpenMP's default)": (1, "2", {}),
    "2 threads, spinning briefly (GOMP_SPINCOUNT=10000)": (1, "2", {"GOMP_SPINCOUNT": "10000"}),
    "2 threads, sleeping (OMP_WAIT_POLICY=passive)": (1, "2", PASSIVE),
    # The bound: these two never meet.
    "2 trainings of 1 thread each, added up": (2, "1", PASSIVE),
}
BUSY = "while True: pass"


def measure(data: Path, how: str, seconds: float) -> None:
    """In a process of its own: print the target tokens per second of training, after three steps."""
    import torch

    from benchmarks.equal_tokens import material
    from pellucid.learning.learner import Learner
    from pellucid.model import Transformer

    given = material(data, 0.2, 4096, "auto")
    threads, _, workers = how.partition(" ")
    torch.set_num_threads(int(threads))
    learner = Learner(Transformer(given.config.model), given.config.training)
    if workers:
        learner.start_workers()
    batches = given.batches()
    for number in range(1, 4):
        learner.learn([next(batches)], number)
    tokens, started = 0, time.perf_counter()
    while time.perf_counter() - started < seconds:
        tokens += learner.learn([next(batches)], 4).tokens
    print(tokens / (time.perf_counter() - started))
    learner.close()


def tokens_per_second(data: Path, name: str, seconds: float) -> float:
    processes, how, environment = SETTINGS[name]
    clean = {key: value for key, value in os.environ.items() if not key.startswith(("OMP_", "GOMP_"))}
    command = [sys.executable, "-m", "benchmarks.training_threads", "--data", str(data)]
    command += ["--measure", how, "--seconds", str(seconds)]
    running = [
        subprocess.Popen(command, env=clean | environment, stdout=subprocess.PIPE, text=True)
        for _ in range(processes)
    ]
    return sum(float(each.communicate()[0]) for each in running)


@contextmanager
def busy(processes: int) -> Iterator[None]:
    """So many other processes that each keep a core busy."""
    others = [subprocess.Popen([sys.executable, "-c", BUSY]) for _ in range(processes)]
    try:
        yield
    finally:
        for other in others:
            other.kill()
            other.wait()


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", type=Path, default=Path("data/multi30k-en-de"))
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=15.0)
    parser.add_argument("--measure", metavar="HOW", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if not (arguments.data / "train.de").exists():
        parser.exit(2, f"{arguments.data}: no Multi30k. First: pellucid data multi30k-en-de (or --data)\n")
    if arguments.measure:
        measure(arguments.data, arguments.measure, arguments.seconds)
        return
    found: dict[tuple[str, int], list[float]] = {}
    for _ in range(arguments.rounds):
        for others in (0, 2):
            for name in SETTINGS:
                with busy(others):
                    speed = tokens_per_second(arguments.data, name, arguments.seconds)
                found.setdefault((name, others), []).append(speed)
                print(f"{name}, beside {others}: {speed:,.0f}", file=sys.stderr)
    rows = []
    for name in SETTINGS:
        cells = []
        for others in (0, 2):
            speeds = found[name, others]
            one = statistics.median(found["1 thread", others])
            median = statistics.median(speeds)
            cells += [f"{median:,.0f} ({min(speeds):,.0f} to {max(speeds):,.0f})", f"{median / one:.2f}"]
        rows.append([name, *cells])
    about = (
        "Target tokens a second of training Transformer-Tiny (4+4 layers, width 128, hidden 256, vocabulary "
        "8,000) on Multi30k en-de, batches of at most 4,096 padded tokens: medians of "
        f"{arguments.rounds} rounds of {arguments.seconds:g} seconds, all settings in turn (least to most).",
        f"{machine()}; each setting in a process of its own.",
    )
    columns = ("setting", "quiet", "to 1 thread", "beside 2 busy processes", "to 1 thread there")
    write_report("training_threads", "Threads in training", about, columns, rows)


if __name__ == "__main__":
    main()
