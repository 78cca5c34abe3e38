"""First weights: the same training from other random numbers.

Trains Transformer-Tiny on raw, cased Multi30k English-German with the settings of equal_tokens.py (bf16, one
thread), from each of the STARTS. What is compared is the
validation loss per target token after so many updates: no clock decides anything.

Needs the corpus: `pellucid data multi30k-en-de`.

    python -m benchmarks.first_weights run START [--norm first] [--seed 1] [--updates 1000] [--data …]
    python -m benchmarks.first_weights report
"""

import argparse
import dataclasses
import json
from collections.abc import Callable
from pathlib import Path

import torch
from torch import nn

from benchmarks import equal_tokens
from benchmarks.report import RESULTS, processor, write_report
from pellucid import model
from pellucid.model import Transformer, initialise

LOG = RESULTS / "first_weights.jsonl"
AT = (250, 500, 750, 1000)


def xavier(embedding: float, last: float) -> Callable[[Transformer], None]:
    """Xavier and N(0, 1/D), times these factors for the embeddings and for the last matrix of a sublayer."""

    @torch.no_grad()
    def start(model: Transformer) -> None:
        for name, parameter in model.named_parameters():
            if "embedding" in name or "projection.weight" in name:
                parameter.normal_(0.0, embedding * model.config.width**-0.5)
            elif parameter.dim() == 2:
                is_last = name.endswith((".output.weight", ".outer.weight"))
                nn.init.xavier_uniform_(parameter, gain=last if is_last else 1.0)
            elif name.endswith(".bias"):
                parameter.zero_()

    return start


@torch.no_grad()
def normal(model: Transformer) -> None:
    """N(0, 0.02) for all matrices, as MarianMTModel begins."""
    for name, parameter in model.named_parameters():
        if parameter.dim() == 2:
            parameter.normal_(0.0, 0.02)
        elif name.endswith(".bias"):
            parameter.zero_()


STARTS = {"now": initialise, "Xavier": xavier(1.0, 1.0), "N(0, 0.02)": normal}


def run(start: str, norm: str, seed: int, updates: int, data: Path) -> None:
    torch.set_num_threads(1)
    given = equal_tokens.material(data, dropout=0.2, batch_tokens=1024, precision="bf16")
    shape = dataclasses.replace(given.config.model, norm=norm)
    given = dataclasses.replace(given, config=dataclasses.replace(given.config, model=shape))
    model.initialise = STARTS[start]
    learn, judge = equal_tokens.ours(given, seed)
    for number, batch in zip(range(1, updates + 1), given.batches(), strict=False):
        learn(batch, number)
        if number in AT or number == updates:
            line = {"start": start, "norm": norm, "seed": seed, "update": number, "loss": judge()}
            with LOG.open("a", encoding="utf-8") as log:
                log.write(json.dumps(line) + "\n")


def report() -> None:
    lines = [json.loads(line) for line in LOG.read_text(encoding="utf-8").splitlines()]
    runs: dict[tuple[str, str, int], dict[int, float]] = {}
    for line in lines:
        runs.setdefault((line["norm"], line["start"], line["seed"]), {})[line["update"]] = line["loss"]
    rows = [
        [f"norm {norm}", start, str(seed), *(f"{losses[at]:.3f}" if at in losses else "" for at in AT)]
        for (norm, start, seed), losses in sorted(runs.items())
    ]
    about = (
        "Validation loss per target token (no smoothing) on Multi30k en-de, raw and cased: Transformer-Tiny "
        "with the settings of equal_tokens (1,024 padded tokens a batch, dropout 0.2, peak 0.002, warm-up "
        "800, bf16). *now*: what model.py does. *Xavier*: what it did before 2026-11-24, with N(0, 1/D), "
        "unscaled. *N(0, 0.02)*: all matrices, as MarianMTModel begins.",
        f"One thread, on {processor()}.",
    )
    columns = ("norm", "start", "seed", *(f"{at:,} updates" for at in AT))
    write_report("first_weights", "First weights", about, columns, rows)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("what", choices=("run", "report"))
    parser.add_argument("start", nargs="?", choices=STARTS, default="now")
    parser.add_argument("--norm", choices=("first", "last"), default="last")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--updates", type=int, default=1000)
    parser.add_argument("--data", type=Path, default=Path("data/multi30k-en-de"))
    asked = parser.parse_args()
    if asked.what == "report":
        report()
    else:
        run(asked.start, asked.norm, asked.seed, asked.updates, asked.data)


if __name__ == "__main__":
    main()
