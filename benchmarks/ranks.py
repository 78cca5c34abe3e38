"""Training on two cores in three ways: one process, one with a worker beside it, and two ranks.

Transformer-Tiny on Multi30k English-German, bf16 where the processor has it, a thread in each process. The
ranks are started by torchrun, and sum their gradients by DistributedDataParallel over gloo.

    python -m benchmarks.ranks [--data data/multi30k-en-de] [--tokens 4096] [--rounds 5] [--seconds 20]
"""

import argparse
import os
import statistics
import subprocess
import sys
import time
from pathlib import Path

from benchmarks.report import machine, write_report

TORCHRUN = ("-m", "torch.distributed.run", "--standalone", "--nproc-per-node=2")
# name: (what starts it, the threads of the training)
WAYS: dict[str, tuple[tuple[str, ...], int]] = {
    "one process": ((), 1),
    "a worker beside it (what `pellucid train` does)": ((), 2),
    "two ranks (what `torchrun` does)": (TORCHRUN, 1),
}


def measure(data: Path, tokens: int, threads: int, seconds: float) -> None:
    """In processes of their own: print the target tokens per second of training, after ten steps."""
    import torch

    from benchmarks.equal_tokens import material
    from pellucid.learning.learner import Learner
    from pellucid.learning.ranks import joined
    from pellucid.model import Transformer

    given = material(data, 0.2, tokens, "auto")
    torch.set_num_threads(threads)
    torch.manual_seed(1)
    with joined() as ranks:
        learner = Learner(Transformer(given.config.model), given.config.training, ranks)
        learner.start_workers()
        batches, trained, number, started = given.batches(), 0, 0, 0.0
        # All stop after the same step, as a training by minutes does.
        while number <= 10 or ranks.largest(time.perf_counter() - started)[0] < seconds:
            if number == 10:
                trained, started = 0, time.perf_counter()
            number += 1
            trained += learner.learn([next(batches)], number).tokens
        if ranks.is_first:
            print(trained / (time.perf_counter() - started))
        learner.close()


def tokens_per_second(data: Path, tokens: int, name: str, seconds: float) -> float:
    start, threads = WAYS[name]
    command = [sys.executable, *start, "-m", "benchmarks.ranks", "--data", str(data)]
    command += ["--tokens", str(tokens), "--measure", str(threads), "--seconds", str(seconds)]
    environment = os.environ | {"OMP_WAIT_POLICY": "passive", "OMP_NUM_THREADS": str(threads)}
    ran = subprocess.run(command, env=environment, stdout=subprocess.PIPE, text=True, check=True)
    return float(ran.stdout.split()[-1])


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", type=Path, default=Path("data/multi30k-en-de"))
    parser.add_argument("--tokens", type=int, default=4096)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=20.0)
    parser.add_argument("--measure", metavar="THREADS", type=int, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if not (arguments.data / "train.de").exists():
        parser.exit(2, f"{arguments.data}: no Multi30k. First: pellucid data multi30k-en-de (or --data)\n")
    data, tokens, seconds = arguments.data, arguments.tokens, arguments.seconds
    if arguments.measure:
        measure(data, tokens, arguments.measure, seconds)
        return
    found: dict[str, list[float]] = {name: [] for name in WAYS}
    for _ in range(arguments.rounds):
        for name, speeds in found.items():
            speeds.append(tokens_per_second(data, tokens, name, seconds))
            print(f"{name}: {speeds[-1]:,.0f}", file=sys.stderr)
    one, beside, _ = (statistics.median(speeds) for speeds in found.values())
    rows = [
        [name, f"{median:,.0f} ({min(speeds):,.0f} to {max(speeds):,.0f})"]
        + [f"{median / other:.2f}" for other in (one, beside)]
        for name, speeds in found.items()
        for median in [statistics.median(speeds)]
    ]
    about = (
        "Target tokens a second of training Transformer-Tiny (4+4 layers, width 128, hidden 256, vocabulary "
        f"8,000) on Multi30k en-de, batches of at most {tokens:,} padded tokens: medians of "
        f"{arguments.rounds} rounds of {seconds:g} seconds, all ways in turn (least to most).",
        f"{machine()}; a thread in each process.",
    )
    columns = ("way", "tokens a second", "to one process", "to a worker beside it")
    write_report("ranks", "Ranks and workers on two cores", about, columns, rows)


if __name__ == "__main__":
    main()
