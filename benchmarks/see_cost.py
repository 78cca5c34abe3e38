"""What seeing costs when nobody looks: the `see` calls of one step, times what a call costs.

python -m benchmarks.see_cost [--repeats 9]
"""

import argparse
import statistics
import time
from collections.abc import Callable

import torch
import torch.nn.functional as F

from benchmarks.report import machine, write_report
from pellucid.cache import GrowingPast
from pellucid.config.schema import ModelConfig
from pellucid.model import Transformer
from pellucid.seeing.watching import Part

MODELS = {
    "demo (2+2 layers, width 64)": ModelConfig(
        vocabulary=987, width=64, heads=4, hidden=192, encoder_layers=2, decoder_layers=2
    ),
    "base (6+6 layers, width 512)": ModelConfig(
        vocabulary=32_000, width=512, heads=8, hidden=2048, encoder_layers=6, decoder_layers=6
    ),
}
SENTENCES, LENGTH = 16, 20  # of a training step; a decoding step is a position of one sentence, beam 4
BEAM = 4
CALLS = 1_000_000  # timed together, for one of them is too short


def main() -> None:
    """Measure, and write the page."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--repeats", type=int, default=9)
    repeats = parser.parse_args().repeats
    torch.set_num_threads(1)
    call = seconds_a_call(repeats)
    rows = []
    for name, config in MODELS.items():
        model = Transformer(config)
        for step, run in (("training", training_step(model)), ("decoding", decoding_step(model))):
            calls, seconds = count(run), median(run, repeats)
            cost = calls * call
            share = f"{100 * cost / seconds:.4f} %"
            rows.append([name, step, str(calls), f"{1e6 * cost:.1f}", f"{1e3 * seconds:.2f}", share])
    about = [
        f"The `see` calls of one step when nobody watches, times {1e9 * call:.0f} ns, what a call costs: "
        "it looks up a thread's watcher and gives back its argument (the median of "
        f"{repeats} × {CALLS:,} calls, less the empty loop). A training step: {SENTENCES} sentences of "
        f"{LENGTH} tokens, forward, backward and Adam, in float32. A decoding step: one position of one "
        f"sentence with beam {BEAM}, behind {LENGTH} others.",
        f"Measured on {machine()}. Compiled, no call is left at all: tests/seeing/test_trace.py compares the "
        "graph of a 6+6 model with that of one whose `see` is deleted, operation by operation.",
    ]
    columns = ["model", "step", "`see` calls", "their cost, µs", "the step, ms", "share of the step"]
    write_report("see_cost", "What seeing costs when nobody looks", about, columns, rows)


def seconds_a_call(repeats: int) -> float:
    """One call of `see` without a watcher: the median, less the loop around it."""
    part, tensor = Part(), torch.zeros(1)
    see = part.see

    def empty() -> float:
        start = time.perf_counter()
        for _ in range(CALLS):
            pass
        return time.perf_counter() - start

    def calling() -> float:
        start = time.perf_counter()
        for _ in range(CALLS):
            see("scores_BHLM", tensor)
        return time.perf_counter() - start

    return statistics.median(calling() - empty() for _ in range(repeats)) / CALLS


def training_step(model: Transformer) -> Callable[[], object]:
    """Forward, backward and update."""
    ids = torch.randint(4, model.config.vocabulary, (SENTENCES, LENGTH))
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-5)

    def step() -> None:
        model.train()
        optimizer.zero_grad()
        logits = model(ids, torch.ones_like(ids, dtype=torch.bool), ids)
        F.cross_entropy(logits.flatten(0, 1), ids.flatten()).backward()
        optimizer.step()

    return step


def decoding_step(model: Transformer) -> Callable[[], object]:
    """One position more, of one sentence's hypotheses, behind a past."""
    ids = torch.randint(4, model.config.vocabulary, (1, LENGTH))
    model.eval()
    with torch.no_grad():
        memory = model.remember(model.encode(ids, None), None)
        begun = GrowingPast()
        model.decode(ids.expand(BEAM, -1), memory, begun)

    @torch.no_grad()
    def step() -> None:
        model.eval()
        past = GrowingPast()
        past._keys, past._values = list(begun._keys), list(begun._values)
        model.decode(ids[:, :1].expand(BEAM, 1), memory, past)

    return step


def count(run: Callable[[], object]) -> int:
    """Count the `see` calls of one run."""
    calls = 0
    see = Part.see

    def counted(part: Part, name_axes: str, tensor: torch.Tensor) -> torch.Tensor:
        nonlocal calls
        calls += 1
        return see(part, name_axes, tensor)

    Part.see = counted  # type: ignore[method-assign]
    try:
        run()
    finally:
        Part.see = see  # type: ignore[method-assign]
    return calls


def median(run: Callable[[], object], repeats: int) -> float:
    """Seconds of processor time of one run, after one that warms up."""
    run()
    times = []
    for _ in range(repeats):
        start = time.process_time()
        run()
        times.append(time.process_time() - start)
    return statistics.median(times)


if __name__ == "__main__":
    main()
