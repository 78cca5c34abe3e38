"""Training speed beside a careful loop around transformers' MarianMTModel, in one run, turn by turn.

All train the same two shapes on Multi30k English-German in batches of at most 4,096 padded tokens: Pellucid
with the fused step and without compiled kernels (the plain step), and the loop. Target tokens are counted,
the end token included, padding not.
Needs `pip install "pellucid[interop]"` and the corpus: `pellucid data multi30k-en-de`.

With --threads 1, time is the process's own CPU time, so that other programs on the machine count less.

    python -m benchmarks.training_speed [--data data/multi30k-en-de] [--rounds 5] [--steps 8] [--threads N]
        [--precisions bf16,fp32]
"""

import argparse
import itertools
import os
import statistics
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import torch

import pellucid
from benchmarks import equal_tokens
from benchmarks.report import machine, write_report
from pellucid.config.schema import ModelConfig
from pellucid.config.toml_file import from_table
from pellucid.decoding.library import CHOICE

BATCH_TOKENS, VOCABULARY, DROPOUT, SMOOTHING = 4096, 8000, 0.3, 0.1
SHAPES = {
    f"4+4/{width}/{hidden:,}": dict(width=width, hidden=hidden, heads=4, encoder_layers=4, decoder_layers=4)
    for width, hidden in ((256, 1024), (128, 256))
}
WARM = 3  # steps before the first measured one


def our_steps(
    data: Path, out: Path, shape: dict[str, int], precision: str, bounds: list[float]
) -> Iterator[int]:
    """Target tokens of each step of a real training run: metrics are written, dropout is on, gradients are
    clipped. bounds: receives the tokens a second that a step would have if it were its products alone."""
    config = from_table(
        {
            "data": {"train": [str(data / "train.en"), str(data / "train.de")], "languages": ["en", "de"]},
            "vocabulary": {"size": VOCABULARY},
            "model": shape | {"dropout": DROPOUT},
            "training": {
                "batch_tokens": BATCH_TOKENS,
                "precision": precision,
                "label_smoothing": SMOOTHING,
                "peak_rate": 0.0005,
                "checkpoint_every": 100_000,
            },
        }
    )
    for step in pellucid.training(config, out):
        bounds.append(step.cost.tokens_a_second / step.cost.used)
        yield step.update.tokens


def without_kernels(steps: Iterator[int]) -> Iterator[int]:
    """Take the same steps as an installation without compiled kernels."""
    while True:
        os.environ[CHOICE] = "none"
        try:
            tokens = next(steps)
        finally:
            del os.environ[CHOICE]
        yield tokens


def peer_steps(data: Path, pieces_model: bytes, shape: dict[str, int], precision: str) -> Iterator[int]:
    """Target tokens of each step of the loop around MarianMTModel: sorted batches, AdamW, smoothing,
    clipping, autocast."""
    import random

    import sentencepiece

    pieces = sentencepiece.SentencePieceProcessor(model_proto=pieces_model)
    end, start, pad = pieces.eos_id(), pieces.bos_id(), pieces.pad_id()
    sides = [(data / name).read_text("utf-8").split("\n")[:-1] for name in ("train.en", "train.de")]
    source, target = ([[*ids, end] for ids in pieces.encode(lines)] for lines in sides)
    tokens = dict(vocabulary=VOCABULARY, pad_id=pad, start_id=start, end_id=end)
    model = equal_tokens.marian(ModelConfig(**tokens, **shape, dropout=DROPOUT)).train()
    optimizer = torch.optim.AdamW(model.parameters(), lr=5e-4)
    criterion = torch.nn.CrossEntropyLoss(ignore_index=-100, label_smoothing=SMOOTHING)
    batches = sorted_batches(source, target)
    random.Random(0).shuffle(batches)
    for rows in itertools.cycle(batches):
        x, y = padded([source[row] for row in rows], pad), padded([target[row] for row in rows], -100)
        shifted = padded([[start, *target[row][:-1]] for row in rows], pad)
        with torch.autocast("cpu", dtype=torch.bfloat16, enabled=precision == "bf16"):
            logits = model(input_ids=x, attention_mask=(x != pad).long(), decoder_input_ids=shifted).logits
        criterion(logits.float().flatten(0, 1), y.flatten()).backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)
        yield int((y != -100).sum())


def sorted_batches(source: list[list[int]], target: list[list[int]]) -> list[list[int]]:
    """Rows of like length, at most BATCH_TOKENS a batch on the longer side."""
    batches: list[list[int]] = [[]]
    longest = 0
    for row in sorted(range(len(source)), key=lambda row: (len(target[row]), len(source[row]))):
        longest = max(longest, len(source[row]), len(target[row]))
        if longest * (len(batches[-1]) + 1) > BATCH_TOKENS:
            batches.append([])
            longest = max(len(source[row]), len(target[row]))
        batches[-1].append(row)
    return batches


def padded(rows: list[list[int]], value: int) -> torch.Tensor:
    length = max(map(len, rows))
    return torch.tensor([row + [value] * (length - len(row)) for row in rows])


def tokens_per_second(steps: Iterator[int], count: int) -> float:
    """Over the next `count` steps."""
    clock = time.process_time if torch.get_num_threads() == 1 else time.perf_counter
    started = clock()
    tokens = sum(next(steps) for _ in range(count))
    return tokens / (clock() - started)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", type=Path, default=Path("data/multi30k-en-de"))
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--steps", type=int, default=8)
    parser.add_argument("--threads", type=int, default=torch.get_num_threads())
    parser.add_argument("--precisions", type=lambda text: text.split(","), default=["bf16", "fp32"])
    arguments = parser.parse_args()
    torch.set_num_threads(arguments.threads)
    if not (arguments.data / "train.de").exists():
        parser.exit(
            2, f"{arguments.data}: no Multi30k here. First: pellucid data multi30k-en-de (or --data FOLDER)\n"
        )
    torch.manual_seed(0)
    rows = [row for name in SHAPES for row in compare(name, arguments)]
    about = (
        "The loop around transformers' MarianMTModel sorts its batches, uses AdamW, label smoothing, "
        "clipping and autocast. All train the same shapes (encoder and decoder layers/width/hidden, 4 heads, "
        "vocabulary 8,000) on Multi30k en-de in batches of at most 4,096 padded tokens. "
        "Counted: target tokens, the end token included, padding not. Plain: the model itself in PyTorch, "
        "without compiled kernels. Bound: the operations of the step's products, as a share of what the "
        "cores do in products alone, measured at the start.",
        f"{arguments.rounds} rounds of {arguments.steps} steps each, in turn, after {WARM} steps to warm up, "
        f"by {'CPU time' if arguments.threads == 1 else 'the clock'}; {machine()}.",
    )
    columns = ("shape", "training loop", "target tokens a second (median)", "range")
    columns += ("ratio to the faster MarianMTModel (median of rounds)", "share of the bound")
    write_report("training_speed", "Training speed", about, columns, rows)


def compare(name: str, arguments: argparse.Namespace) -> list[tuple[str, ...]]:
    """Train this shape by all loops in turn; return a row of the table for each."""
    data, shape = arguments.data, SHAPES[name]
    bounds: dict[str, list[float]] = {}
    with tempfile.TemporaryDirectory() as folder:
        out, loops = Path(folder), dict[str, Iterator[int]]()
        for precision in arguments.precisions:
            for kind in ("fused", "plain")[: 2 if precision == "bf16" else 1]:
                loop = f"Pellucid, {precision}, {kind}"
                bounds[loop] = []
                steps = our_steps(data, out / loop, shape, precision, bounds[loop])
                loops[loop] = steps if kind == "fused" else without_kernels(steps)
                next(loops[loop])  # reads the data and learns the vocabulary
            pieces = (out / f"Pellucid, {precision}, fused" / "last" / "vocabulary.model").read_bytes()
            loops[f"MarianMTModel, {precision}"] = peer_steps(data, pieces, shape, precision)
        for steps in loops.values():
            tokens_per_second(steps, WARM)
        speeds: dict[str, list[float]] = {loop: [] for loop in loops}
        for _ in range(arguments.rounds):
            for loop, steps in loops.items():
                speeds[loop].append(tokens_per_second(steps, arguments.steps))
    peers = [speeds[f"MarianMTModel, {precision}"] for precision in arguments.precisions]
    peer = max(peers, key=statistics.median)
    return [
        (
            name,
            loop,
            f"{statistics.median(values):,.0f}",
            f"{min(values):,.0f} to {max(values):,.0f}",
            f"{statistics.median(ours / theirs for ours, theirs in zip(values, peer, strict=True)):.2f}",
            f"{statistics.median(values) / statistics.median(bounds[loop]):.0%}" if loop in bounds else "",
        )
        for loop, values in speeds.items()
    ]


if __name__ == "__main__":
    main()
