"""Decoding beside transformers' `generate` and CTranslate2, in one run, turn by turn, with the same weights.

Transformer-base with random weights and a vocabulary of 32,000; 25 source and exactly 25 target tokens.
Needs `pip install "pellucid[interop]" ctranslate2`; without CTranslate2 its rows are left out.

    python -m benchmarks.decode [--cells 1x1,1x4,32x1,32x4] [--only "Pellucid int8 (,CTranslate2"]
                                [--rounds 15] [--seconds 60] [--again]

--only takes names or beginnings of names. --seconds is the most time for a cell. --again shows the runs that
are in benchmarks/results/decode.json too, each with its own ratios: figures of different runs are not
compared.
"""

import argparse
import gc
import importlib.util
import json
import os
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import torch

from benchmarks import decode_engines as engines
from benchmarks.report import RESULTS, machine, write_report

CELLS = "1x1,1x4,32x1,32x4"  # sentences x beam
# CTranslate2's precisions, workers, and threads of each worker
CT2_SETTINGS = [(kind, *both) for kind in ("fp32", "int8") for both in ((1, 2), (2, 1), (1, 1))]
PEERS = [("transformers", " generate (2 threads)")]
PEERS += [("CTranslate2", f" {kind} ({workers} x {threads})") for kind, workers, threads in CT2_SETTINGS]
Make = Callable[[], engines.Decoder]


def makers(folder: Path, wanted: Callable[[str], bool]) -> dict[str, Make]:
    """Return a function that makes each wanted engine, by name."""
    model, made = engines.our_model(), dict[str, Make]()
    for threads in (1, 2):
        ours = {"fp32": ("fp32", None), "bf16": ("bf16", None), "int8": ("int8", None)}
        ours |= {"fp32 in PyTorch": ("fp32", "none"), "int8 by avx2": ("int8", "avx2")}
        for name, (precision, kernels) in ours.items():
            made[f"Pellucid {name} ({threads} thread{'s' * (threads > 1)})"] = (
                lambda precision=precision, kernels=kernels, threads=threads: engines.pellucid(
                    model, precision, threads, kernels
                )
            )
    peers = any(wanted(f"{peer}{more}") for peer, more in PEERS)
    if peers and importlib.util.find_spec("transformers"):
        theirs = engines.marian(model)
        made["transformers generate (2 threads)"] = lambda: engines.generate(theirs, 2)
        if importlib.util.find_spec("ctranslate2"):
            folders = engines.convert(engines.marian(model), folder)  # which changes what it converts
            for precision, workers, threads in CT2_SETTINGS:
                made[f"CTranslate2 {precision} ({workers} x {threads})"] = (
                    lambda precision=precision, workers=workers, threads=threads: engines.ctranslate2(
                        folders[precision], precision, workers, threads
                    )
                )
    return {name: make for name, make in made.items() if wanted(name)}


def measure(
    decoders: dict[str, engines.Decoder], cell: str, rounds: int, seconds: float
) -> dict[str, dict[str, Any]]:
    """Wall and CPU seconds of each engine for a cell: all in turn, again and again."""
    count, beam = map(int, cell.split("x"))
    numbers = np.random.default_rng(count)
    ids = numbers.integers(engines.END + 1, engines.VOCABULARY, (count, engines.LENGTH))
    ids[:, -1] = engines.END
    sources = ids.tolist()
    times: dict[str, list[tuple[float, float]]] = {name: [] for name in decoders}
    said = {name: decode(sources, beam) for name, decode in decoders.items()}  # warm, and what they say
    started = time.perf_counter()
    for number in range(rounds):
        if number and time.perf_counter() - started > seconds:
            break
        for name, decode in decoders.items():
            gc.collect()
            wall, processor = time.perf_counter(), time.process_time()
            decode(sources, beam)
            times[name].append((time.perf_counter() - wall, time.process_time() - processor))
    reference = next((said[name] for name in said if name.startswith("Pellucid fp32")), None)
    results = {}
    for name, each in times.items():
        walls, processors = zip(*each, strict=True)
        results[name] = {
            "wall": [statistics.median(walls), min(walls)],
            "cpu": [statistics.median(processors), min(processors)],
            "rounds": len(each),
            "same tokens as fp32": None if reference is None else same(said[name], reference),
        }
    return results


def same(ours: list[list[int]], theirs: list[list[int]]) -> float:
    """Return the share of tokens that two engines have in common, position by position."""
    pairs = [pair for one, other in zip(ours, theirs, strict=True) for pair in zip(one, other, strict=False)]
    return sum(one == other for one, other in pairs) / max(1, len(pairs))


def rows_of(run: int, found: dict[str, dict[str, dict[str, Any]]]) -> Iterator[list[str]]:
    """Yield the rows of a run: tokens per second by wall and by CPU time, medians (and best), and ratios."""
    for cell, by_name in found.items():
        count, beam = map(int, cell.split("x"))
        tokens = count * engines.LENGTH
        base = {}
        for clock in ("wall", "cpu"):
            theirs = [each[clock][0] for name, each in by_name.items() if name.startswith("CTranslate2")]
            base[clock] = min(theirs, default=None)
        for name, each in by_name.items():
            row = [f"{run}", f"{count}, beam {beam}", name]
            for clock in ("wall", "cpu"):
                median, least = each[clock]
                row.append(f"{tokens / median:,.0f} ({tokens / least:,.0f})")
                row.append("" if base[clock] is None else f"{base[clock] / median:.2f}")
            agreement = each["same tokens as fp32"]
            yield [*row, "" if agreement is None else f"{agreement:.0%}"]


def report(runs: list[dict[str, Any]]) -> None:
    """Write the page of all runs."""
    about = (
        "Target tokens per second, the median of the rounds (in brackets the best), by the wall's clock and "
        "per second of the processor; ratios to the best median of all CTranslate2's set-ups in the run.",
        "Transformer-base with random weights, vocabulary 32,000, 25 source and 25 target tokens.",
        *(f"Run {number}: {each['machine']}." for number, each in enumerate(runs, 1)),
    )
    columns = (
        "run",
        "sentences",
        "engine",
        "by the wall",
        "ratio",
        "by the processor",
        "ratio",
        "tokens of fp32",
    )
    rows = (row for number, each in enumerate(runs, 1) for row in rows_of(number, each["cells"]))
    write_report("decode", "Decoding speed", about, columns, rows)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--cells", default=CELLS)
    parser.add_argument("--only", default="")
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--again", action="store_true")
    arguments = parser.parse_args()
    beginnings = tuple(filter(None, arguments.only.split(",")))
    saved = RESULTS / "decode.json"
    about = f"{machine()}; load of the machine {os.getloadavg()[0]:.1f} at its start"
    runs = json.loads(saved.read_text()) if arguments.again else []
    cells: dict[str, dict[str, dict[str, Any]]] = {}
    with tempfile.TemporaryDirectory() as folder:
        made = makers(Path(folder), lambda name: not beginnings or name.startswith(beginnings))
        decoders = {name: make() for name, make in made.items()}
        for cell in arguments.cells.split(","):
            cells[cell] = measure(decoders, cell, arguments.rounds, arguments.seconds)
            for name, each in cells[cell].items():
                print(f"{cell} {name}: {each}", file=sys.stderr, flush=True)
            RESULTS.mkdir(exist_ok=True)
            saved.write_text(json.dumps([*runs, {"machine": about, "cells": cells}], indent=1) + "\n")
    report(json.loads(saved.read_text()))


if __name__ == "__main__":
    torch.set_grad_enabled(False)
    main()
