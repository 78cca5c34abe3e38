"""Training speed beside a careful loop around transformers' MarianMTModel, in one run, turn by turn.

Both train the same shape (4+4 layers, width 256, hidden 1,024, 4 heads, a joint vocabulary of 8,000) on
Multi30k English-German in batches of at most 4,096 padded tokens. Target tokens are counted, the end token
included, padding not.
Needs `pip install "pellucid[interop]"` and the corpus: `pellucid data multi30k-en-de`.

    python -m benchmarks.training_speed [--data data/multi30k-en-de] [--rounds 5] [--steps 8]
"""

import argparse
import statistics
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import torch

import pellucid
from benchmarks.report import machine, write_report
from pellucid.config.toml_file import from_table

BATCH_TOKENS, VOCABULARY, DROPOUT, SMOOTHING = 4096, 8000, 0.3, 0.1
SHAPE = dict(width=256, hidden=1024, heads=4, encoder_layers=4, decoder_layers=4, dropout=DROPOUT)
WARM = 5  # steps before the first measured one


def our_steps(data: Path, out: Path, precision: str) -> Iterator[int]:
    """Target tokens of each step of a real training run: metrics are written, dropout is on, gradients are
    clipped."""
    config = from_table(
        {
            "data": {"train": [str(data / "train.en"), str(data / "train.de")], "languages": ["en", "de"]},
            "vocabulary": {"size": VOCABULARY},
            "model": SHAPE,
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
        yield step.update.tokens


def peer_steps(data: Path, pieces_model: bytes, precision: str) -> Iterator[int]:
    """Target tokens of each step of the loop around MarianMTModel: sorted batches, AdamW, smoothing,
    clipping, autocast."""
    import random

    import sentencepiece
    from transformers import MarianConfig, MarianMTModel

    pieces = sentencepiece.SentencePieceProcessor(model_proto=pieces_model)
    end, start, pad = pieces.eos_id(), pieces.bos_id(), pieces.pad_id()
    sides = [(data / name).read_text("utf-8").split("\n")[:-1] for name in ("train.en", "train.de")]
    source, target = ([[*ids, end] for ids in pieces.encode(lines)] for lines in sides)
    model = MarianMTModel(
        MarianConfig(
            vocab_size=VOCABULARY,
            d_model=SHAPE["width"],
            encoder_layers=SHAPE["encoder_layers"],
            decoder_layers=SHAPE["decoder_layers"],
            encoder_attention_heads=SHAPE["heads"],
            decoder_attention_heads=SHAPE["heads"],
            encoder_ffn_dim=SHAPE["hidden"],
            decoder_ffn_dim=SHAPE["hidden"],
            max_position_embeddings=256,
            pad_token_id=pad,
            eos_token_id=end,
            forced_eos_token_id=None,
            decoder_start_token_id=start,
            activation_function="relu",
            scale_embedding=True,
            dropout=DROPOUT,
        )
    ).train()
    optimizer = torch.optim.AdamW(model.parameters(), lr=5e-4)
    criterion = torch.nn.CrossEntropyLoss(ignore_index=-100, label_smoothing=SMOOTHING)
    batches = sorted_batches(source, target)
    random.Random(0).shuffle(batches)
    for rows in batches:
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
    started = time.perf_counter()
    tokens = sum(next(steps) for _ in range(count))
    return tokens / (time.perf_counter() - started)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", type=Path, default=Path("data/multi30k-en-de"))
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--steps", type=int, default=8)
    arguments = parser.parse_args()
    if not (arguments.data / "train.de").exists():
        parser.exit(
            2, f"{arguments.data}: no Multi30k here. First: pellucid data multi30k-en-de (or --data FOLDER)\n"
        )
    torch.manual_seed(0)
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder)
        contestants: dict[str, Iterator[int]] = {}
        for precision in ("bf16", "fp32"):
            contestants[f"Pellucid, {precision}"] = our_steps(arguments.data, out / precision, precision)
            next(contestants[f"Pellucid, {precision}"])  # reads the data and learns the vocabulary
            pieces = (out / precision / "last" / "vocabulary.model").read_bytes()
            contestants[f"MarianMTModel, {precision}"] = peer_steps(arguments.data, pieces, precision)
        for steps in contestants.values():
            tokens_per_second(steps, WARM)
        speeds: dict[str, list[float]] = {name: [] for name in contestants}
        for _ in range(arguments.rounds):
            for name, steps in contestants.items():
                speeds[name].append(tokens_per_second(steps, arguments.steps))
    medians = {name: statistics.median(values) for name, values in speeds.items()}
    peer = medians["MarianMTModel, bf16"]
    rows = [
        (
            name,
            f"{medians[name]:,.0f}",
            f"{min(values):,.0f} to {max(values):,.0f}",
            f"{medians[name] / peer:.2f}",
        )
        for name, values in speeds.items()
    ]
    about = (
        "The loop around transformers' MarianMTModel sorts its batches, uses AdamW, label smoothing, "
        "clipping and autocast. "
        "Both train 4+4 layers, width 256, hidden 1,024, 4 heads, vocabulary 8,000 on Multi30k en-de in "
        "batches of at most "
        "4,096 padded tokens. Counted: target tokens, the end token included, padding not.",
        f"{arguments.rounds} rounds of {arguments.steps} steps each, in turn, after {WARM} steps to warm up; "
        f"{machine()}.",
    )
    columns = ("training loop", "target tokens a second (median)", "range", "ratio to the peer in bf16")
    write_report("training_speed", "Training speed", about, columns, rows)


if __name__ == "__main__":
    main()
