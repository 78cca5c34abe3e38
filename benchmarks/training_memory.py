"""Memory of a long training: resident memory step by step, and its peak.

Transformer-Tiny on Multi30k English-German (BPE of 10,000, batches of 4,096 tokens, bf16 where the processor
has it), with validations; on two threads a worker computes half of each batch. Linux only: it reads /proc.

    python -m benchmarks.training_memory [--data data/multi30k-en-de] [--steps 2000] [--threads 2]
"""

import argparse
import os
import tempfile
import time
from pathlib import Path

import pellucid
from benchmarks.report import machine, write_report
from pellucid.config.toml_file import from_table


def megabytes(process: int | str, field: str) -> float:
    """One of /proc's figures of a process, in MB: VmRSS is resident memory now, VmHWM the most so far."""
    status = Path(f"/proc/{process}/status").read_text(encoding="ascii")
    return int(status.partition(f"{field}:")[2].split()[0]) * 1024 / 1e6  # its kB are 1,024 bytes


def workers() -> list[str]:
    """Return the process ids of the training's workers."""
    children = Path(f"/proc/self/task/{os.getpid()}/children").read_text(encoding="ascii").split()
    return [child for child in children if "pellucid" in Path(f"/proc/{child}/cmdline").read_text("utf-8")]


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", type=Path, default=Path("data/multi30k-en-de"))
    parser.add_argument("--steps", type=int, default=2000)
    parser.add_argument("--threads", type=int, default=2)
    arguments = parser.parse_args()
    data = arguments.data
    if not (data / "train.de").exists():
        parser.exit(2, f"{data}: no Multi30k here. First: pellucid data multi30k-en-de (or --data FOLDER)\n")
    table = {
        "data": {
            "train": [str(data / "train.en"), str(data / "train.de")],
            "validation": [str(data / "val.en"), str(data / "val.de")],
        },
        "vocabulary": {"size": 10_000, "kind": "bpe"},
        "model": {"preset": "tiny"},
        "training": {
            "steps": arguments.steps,
            "peak_rate": 0.002,
            "warmup_steps": 1000,
            "validate_every": max(arguments.steps // 4, 1),
            "threads": arguments.threads,
        },
    }
    rows, seconds = [], time.process_time()
    shown = {10, 50, 100, 150, 500, *range(0, arguments.steps + 1, max(arguments.steps // 8, 1))}
    with tempfile.TemporaryDirectory() as folder:
        for step in pellucid.training(from_table(table), Path(folder) / "run"):
            if step.number in shown:
                after = " (after a validation)" if step.validation else ""
                cells = [
                    " + ".join(f"{megabytes(process, field):,.0f}" for process in ("self", *workers()))
                    for field in ("VmRSS", "VmHWM")
                ]
                rows.append((f"{step.number:,}{after}", *cells))
    about = (
        "Transformer-Tiny, BPE of 10,000, batches of 4,096 tokens, Multi30k en-de, validations of 1,014 "
        f"sentences with beam 5; {arguments.threads} thread(s); "
        f"{time.process_time() - seconds:,.0f} CPU seconds in the training's process; {machine()}.",
    )
    columns = ("step", "resident, MB: training + worker", "peak so far, MB: training + worker")
    write_report("training_memory", "Memory of a training", about, columns, rows)


if __name__ == "__main__":
    main()
