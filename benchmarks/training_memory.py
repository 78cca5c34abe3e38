"""Memory of a long training: resident memory step by step, and its peak.

Transformer-Tiny on Multi30k English-German (BPE of 10,000, batches of 4,096 tokens, bf16 where the processor
has it), with validations. Linux only: it reads /proc.

    python -m benchmarks.training_memory [--data data/multi30k-en-de] [--steps 2000] [--threads 1]
"""

import argparse
import resource
import tempfile
import time
from pathlib import Path

import pellucid
from benchmarks.report import machine, write_report
from pellucid.config.toml_file import from_table


def resident() -> float:
    """Resident memory now, in MB."""
    status = Path("/proc/self/status").read_text(encoding="ascii")
    return int(status.partition("VmRSS:")[2].split()[0]) / 1000


def peak() -> float:
    """The most resident memory so far, in MB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1000


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", type=Path, default=Path("data/multi30k-en-de"))
    parser.add_argument("--steps", type=int, default=2000)
    parser.add_argument("--threads", type=int, default=1)
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
                rows.append((f"{step.number:,}{after}", f"{resident():,.0f}", f"{peak():,.0f}"))
    about = (
        "Transformer-Tiny, BPE of 10,000, batches of 4,096 tokens, Multi30k en-de, validations of 1,014 "
        f"sentences with beam 5; {arguments.threads} thread(s); "
        f"{time.process_time() - seconds:,.0f} CPU seconds; {machine()}.",
    )
    write_report(
        "training_memory", "Memory of a training", about, ("step", "resident, MB", "peak so far, MB"), rows
    )


if __name__ == "__main__":
    main()
