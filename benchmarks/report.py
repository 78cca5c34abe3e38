"""The pages in benchmarks/results/: what was compared, on what, and a table."""

import platform
from collections.abc import Iterable, Sequence
from importlib.metadata import version
from pathlib import Path

import torch

RESULTS = Path(__file__).parent / "results"


def machine() -> str:
    """Describe the CPU, the threads in use and the relevant versions in a few words."""
    kind = f"{platform.machine()}, {torch.backends.cpu.get_cpu_capability()}"  # such as AVX512
    return f"{torch.get_num_threads()} threads of {processor()} ({kind}), torch {version('torch')}"


def processor() -> str:
    """Return the name of the CPU, if the system tells it."""
    try:
        text = Path("/proc/cpuinfo").read_text(encoding="utf-8")
    except OSError:
        return platform.processor()
    names = [line.partition(":")[2].strip() for line in text.splitlines() if line.startswith("model name")]
    return names[0] if names else platform.processor()


def write_report(
    name: str,
    title: str,
    about: Sequence[str],
    columns: Sequence[str],
    rows: Iterable[Sequence[str]],
    script: str = "",
) -> None:
    """Write benchmarks/results/NAME.md and print it. script: what writes it, if it has another name."""
    lines = [f"# {title}", "", *(f"{paragraph}\n" for paragraph in about)]
    lines += [f"`python -m benchmarks.{script or name}` writes this page.", ""]
    lines += [f"| {' | '.join(columns)} |", f"|{'---|' * len(columns)}"]
    lines += [f"| {' | '.join(row)} |" for row in rows]
    RESULTS.mkdir(parents=True, exist_ok=True)
    (RESULTS / f"{name}.md").write_text("\n".join(lines) + "\n", encoding="utf-8")
    print("\n".join(lines))
