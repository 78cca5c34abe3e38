"""Optimizers for a small translation model: AdamW, Muon, SOAP and Schedule-Free AdamW.

Trains Transformer-Tiny on raw, cased Multi30k English-German (the text, batches and model of equal_tokens.py;
bf16, one thread), norm last, from the first weights of model.py. Everything but the optimizer is the same:
clipping 1, no weight decay, warm-up 400 updates, then the inverse square root, and to 0 over the last 30%.
Schedule-Free, which needs no schedule, keeps its rate after the warm-up. What is compared is the validation
loss per target token, by updates and by the processor time of this process, validations left out.

Muon and SOAP learn the matrices of the layers; embeddings (which are the output, too), biases and norms get
AdamW at a rate of 0.002. Each optimizer has its usual settings otherwise.

Needs `pip install schedulefree pytorch-optimizer` and the corpus: `pellucid data multi30k-en-de`.

    python -m benchmarks.optimizers run NAME --rate 0.002 [--seed 1] [--updates 2000] [--data …]
    python -m benchmarks.optimizers report
"""

import argparse
import dataclasses
import importlib
import json
import math
import statistics
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch

from benchmarks import equal_tokens
from benchmarks.report import RESULTS, processor, write_report
from pellucid.learning import learner

LOG = RESULTS / "optimizers.jsonl"
EVERY = 100  # updates between two validations
REST = 0.002  # AdamW's rate for what Muon and SOAP do not learn
NAMES = ("AdamW", "Muon", "SOAP", "Schedule-Free")


class Pair:
    """An optimizer of the layers' matrices, and AdamW for the rest. `rate`: the first one's highest rate."""

    def __init__(self, first: torch.optim.Optimizer, rest: torch.optim.Optimizer, rate: float) -> None:
        self._first, self._rest, self._ratio = first, rest, REST / rate
        self.param_groups = first.param_groups + rest.param_groups

    def step(self) -> None:
        for group in self._rest.param_groups:  # the learner gave all groups the same rate
            group["lr"] *= self._ratio
        self._first.step()
        self._rest.step()


def optimizer_for(name: str, model: torch.nn.Module, rate: float) -> Any:
    named = list(model.named_parameters())
    if name == "Schedule-Free":
        make = importlib.import_module("schedulefree").AdamWScheduleFree
        return make(model.parameters(), lr=rate, betas=(0.9, 0.98), eps=1e-9)
    matrices = [each for name, each in named if each.dim() == 2 and "embedding" not in name]
    others = [each for name, each in named if each.dim() != 2 or "embedding" in name]
    if name == "Muon":
        how: dict[str, Any] = dict(weight_decay=0.0, adjust_lr_fn="match_rms_adamw")
        first: torch.optim.Optimizer = torch.optim.Muon(matrices, lr=rate, **how)
    else:
        first = importlib.import_module("pytorch_optimizer").SOAP(matrices, lr=rate, weight_decay=0.0)
    rest = torch.optim.AdamW(others, lr=rate, betas=(0.9, 0.98), eps=1e-9, weight_decay=0.0, fused=True)
    return Pair(first, rest, rate)


def run(name: str, rate: float, seed: int, updates: int, data: Path) -> None:
    torch.set_num_threads(1)
    given = equal_tokens.material(data, dropout=0.2, batch_tokens=1024, precision="bf16")
    constant = name == "Schedule-Free"
    how = dict(peak_rate=rate, warmup_steps=400, cooldown=0.0 if constant else 0.3, weight_decay=0.0)
    training = dataclasses.replace(given.config.training, **how)
    given = dataclasses.replace(given, config=dataclasses.replace(given.config, training=training))
    taught, _, judge = equal_tokens.ours(given, seed)
    if name != "AdamW":  # that is the learner's own, compiled
        taught.optimizer = optimizer_for(name, taught.model, rate)
        learner.adamw.applies = lambda weights: False
    if constant:
        learner.learning_rate = lambda step, *_: rate * min(1.0, step / training.warmup_steps)
        taught.optimizer.train()
    seconds, losses = 0.0, []
    for number, batch in zip(range(1, updates + 1), given.batches(), strict=False):
        began = time.process_time()
        losses.append(taught.learn([batch], number, number / updates).plain_loss)
        seconds += time.process_time() - began
        if number % EVERY == 0:
            if constant:
                taught.optimizer.eval()
            line = {"optimizer": name, "rate": rate, "seed": seed, "update": number, "updates": updates}
            line |= {"training_loss": round(statistics.fmean(losses), 4), "loss": round(judge(), 4)}
            with LOG.open("a", encoding="utf-8") as log:
                log.write(json.dumps(line | {"cpu_seconds": round(seconds, 1)}) + "\n")
            losses = []
            if constant:
                taught.optimizer.train()
            if not math.isfinite(line["loss"]) or (line["loss"] > 7 and number > 500):
                break  # it diverged


def report() -> None:
    lines = [json.loads(line) for line in LOG.read_text(encoding="utf-8").splitlines()]
    runs: dict[tuple[str, float, int], list[dict[str, Any]]] = {}
    for line in lines:
        runs.setdefault((line["optimizer"], line["rate"], line["seed"]), []).append(line)
    finished = {key: each for key, each in runs.items() if each[-1]["update"] == each[-1]["updates"]}
    best = {
        name: min(
            (key[1] for key in finished if key[0] == name and key[2] == 1),
            key=lambda rate: finished[name, rate, 1][-1]["loss"],
        )
        for name in NAMES
    }
    aim = statistics.fmean(
        each[-1]["loss"] for key, each in finished.items() if key[:2] == ("AdamW", best["AdamW"])
    )
    rows = []
    for name in NAMES:
        for rate in sorted({key[1] for key in runs if key[0] == name}):
            seeds = [each for key, each in sorted(runs.items()) if key[:2] == (name, rate)]
            rows.append([f"**{name}**" if rate == best[name] else name, f"{rate:g}", *cells(seeds, aim)])
    about = (
        "Validation loss per target token (no smoothing) on Multi30k en-de, raw and cased: Transformer-Tiny, "
        "norm last, 1,024 padded tokens a batch, dropout 0.2, bf16, 2,000 updates: warm-up 400, then the "
        "inverse square root, to 0 over the last 30%; Schedule-Free without a schedule. Muon and SOAP learn "
        f"the matrices of the layers, AdamW at {REST:g} the rest. In bold the best rate of each; of several "
        f"seeds, mean ± standard deviation. *To {aim:.3f}*: until the loss is at most what AdamW's is at its "
        f"end (mean of its seeds), looked at every {EVERY} updates.",
        f"Seconds are processor time of one thread of {processor()}, validations left out, beside another "
        "training. AdamW is Pellucid's compiled one, Muon torch's; SOAP and Schedule-Free are those of the "
        "packages pytorch-optimizer and schedulefree.",
    )
    columns = (
        "optimizer",
        "rate",
        "seeds",
        "loss after 1,000",
        "loss after 2,000",
        "seconds an update",
        f"updates to {aim:.3f}",
        f"seconds to {aim:.3f}",
    )
    write_report(
        "optimizers", "Optimizers for a small translation model", about, columns, rows, "optimizers report"
    )


def cells(seeds: Sequence[list[dict[str, Any]]], aim: float) -> list[str]:
    """Return the figures of a rate's runs."""
    ends = [each[-1]["loss"] for each in seeds if each[-1]["update"] == each[-1]["updates"]]
    halves = [line["loss"] for each in seeds for line in each if line["update"] == 1000]
    cost = statistics.median(each[-1]["cpu_seconds"] / each[-1]["update"] for each in seeds)
    there = [next((line for line in each if line["loss"] <= aim), None) for each in seeds]
    reached = [line for line in there if line]
    last = max(each[-1]["update"] for each in seeds)
    found = [str(len(seeds)), spread(halves), spread(ends) if ends else f"ended at {last:,}", f"{cost:.3f}"]
    if len(reached) < len(seeds):
        return [*found, f"{len(reached)} of {len(seeds)}" if reached else "", ""]
    return [
        *found,
        f"{statistics.fmean(line['update'] for line in reached):,.0f}",
        f"{statistics.fmean(line['cpu_seconds'] for line in reached):.0f}",
    ]


def spread(values: Sequence[float]) -> str:
    if not values:
        return ""
    deviation = f" ± {statistics.stdev(values):.3f}" if len(values) > 1 else ""
    return f"{statistics.fmean(values):.3f}{deviation}"


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("what", choices=("run", "report"))
    parser.add_argument("name", nargs="?", choices=NAMES, default="AdamW")
    parser.add_argument("--rate", type=float, default=0.002)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--updates", type=int, default=2000)
    parser.add_argument("--data", type=Path, default=Path("data/multi30k-en-de"))
    asked = parser.parse_args()
    if asked.what == "report":
        report()
    else:
        run(asked.name, asked.rate, asked.seed, asked.updates, asked.data)


if __name__ == "__main__":
    main()
