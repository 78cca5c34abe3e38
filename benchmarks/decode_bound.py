"""How far a step of the engine is from what the processor can do: one thread, int8, transformer-base.

Two bounds, measured here by other means: multiplying all weights with all rows at the speed of PyTorch's int8
product, and reading all weights once at the speed at which a thread sums a long array.

    python -m benchmarks.decode_bound [--rounds 8]
"""

import argparse
import statistics
import time
from collections.abc import Callable
from typing import Any

import torch

from benchmarks import decode_engines as engines
from benchmarks.report import machine, write_report
from pellucid.config.schema import ModelConfig
from pellucid.decoding import native

CASES = [(1, 1), (1, 4), (16, 1), (32, 1), (32, 4)]  # sentences, beam
SOURCE = 25  # tokens


def seconds(work: Callable[[], object], rounds: int = 7) -> float:
    """Return the time of the fastest round."""
    work()
    spent = []
    for _ in range(rounds):
        started = time.perf_counter()
        work()
        spent.append(time.perf_counter() - started)
    return min(spent)


def peaks() -> tuple[float, float]:
    """Operations on int8, and bytes read, a second."""
    left, right = (torch.randint(-127, 127, (2048, 2048), dtype=torch.int8) for _ in range(2))
    long = torch.ones(64 << 20)
    operations = 2 * 2048**3 / seconds(lambda: torch._int_mm(left, right.t()))
    return operations, 4 * len(long) / seconds(long.sum)


def weights_of_a_step(config: ModelConfig) -> int:
    """Count the numbers that every row of a step is multiplied with: queries, keys and values of its own, an
    output, a query for the source and its output, feed-forward, and the logits."""
    layer = 6 * config.width**2 + 2 * config.width * config.hidden
    return config.decoder_layers * layer + config.target_size * config.width


def timed(name: str, spent: dict[str, list[float]]) -> Callable[..., Any]:
    """Return a method of State that records the time of each call."""
    method = getattr(native.State, name)

    def call(*arguments: Any) -> Any:
        started = time.perf_counter()
        result = method(*arguments)
        spent.setdefault(name, []).append(time.perf_counter() - started)
        return result

    return call


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rounds", type=int, default=8)
    rounds = parser.parse_args().rounds
    torch.set_num_threads(1)
    model = engines.our_model()
    decode, numbers = engines.pellucid(model, "int8", 1), weights_of_a_step(model.config)
    operations, read = peaks()
    spent: dict[str, list[float]] = {}
    native.State.encode = timed("encode", spent)  # type: ignore[method-assign]
    native.State.step = timed("step", spent)  # type: ignore[method-assign]
    rows = []
    for sentences, beam in CASES:
        sources = [[*torch.randint(4, engines.VOCABULARY, (SOURCE - 1,)).tolist(), engines.END]] * sentences
        decode(sources, beam)
        spent.clear()
        started = time.perf_counter()
        for _ in range(rounds):
            decode(sources, beam)
        whole = (time.perf_counter() - started) / rounds
        step, encoder = statistics.median(spent["step"]), sum(spent["encode"]) / rounds
        search = (whole - encoder - sum(spent["step"]) / rounds) / engines.LENGTH
        bounds = 2 * numbers * sentences * beam / operations, numbers / read
        row = [f"{1000 * each:.2f}" for each in (step, *bounds, search, encoder)]
        rows.append([f"{sentences}, beam {beam}", *row[:3], f"{max(bounds) / step:.0%}", *row[3:]])
    about = (
        f"Milliseconds of a step, and what it takes at least: {numbers / 1e6:.1f} million weights by "
        f"{operations / 1e12:.2f} trillion operations a second (PyTorch's int8 product of 2048 × 2048), and "
        f"read at {read / 1e9:.0f} GB a second (the sum of a long array). Keys and values are not counted. "
        "Beside a step: the search in Python, and the encoder for all sources.",
        f"Random weights of transformer-base, {SOURCE} source tokens. {machine()}.",
    )
    columns = ["sentences", "step", "multiplying", "reading", "of the bound", "search", "encoder"]
    write_report("decode_bound", "How far the engine is from the bound", about, columns, rows)


if __name__ == "__main__":
    torch.set_grad_enabled(False)
    main()
