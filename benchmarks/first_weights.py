"""First weights: the same training from other random numbers.

Trains Transformer-Tiny on raw, cased Multi30k English-German with the settings of equal_tokens.py (bf16, one
thread), from each of the STARTS. What is compared is the validation loss per target token after so many
updates: no clock decides anything. MarianMTModel's own start is trained by its own loop (float32).

`watch` also records every 50 updates, for one batch that is not trained on, how much the cross-attention of
each layer looks at single words (1 - entropy / log of the number of words: 0 for a mean of all words, 1 for
one word), the norm of each layer's gradient, and the size of what sublayers add, compared with the sum.

Needs the corpus: `pellucid data multi30k-en-de`.

    python -m benchmarks.first_weights run START [--norm first] [--seed 1] [--updates 1000] [--data …]
    python -m benchmarks.first_weights watch START [--norm first] [--seed 1] [--updates 1000] [--data …]
    python -m benchmarks.first_weights report
"""

import argparse
import dataclasses
import json
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
from torch import nn

import pellucid
from benchmarks import equal_tokens
from benchmarks.report import RESULTS, processor, write_report
from pellucid import model
from pellucid.data.batch import Batch
from pellucid.learning.loss import loss_of
from pellucid.model import Transformer, initialise

LOG = RESULTS / "first_weights.jsonl"
PICTURE = Path(__file__).parents[1] / "docs" / "images" / "first-weights.svg"
WATCHED = RESULTS / "first_weights_watched.jsonl"
AT = (250, 500, 750, 1000, 2000, 3000)


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


STARTS = {
    "now": initialise,
    "a quarter": xavier(0.25, 0.25),
    "before": xavier(1.0, 1.0),
    "N(0, 0.02)": normal,
}
PEER = "MarianMTModel's own"


def run(start: str, norm: str, seed: int, updates: int, data: Path, watched: bool) -> None:
    torch.set_num_threads(1)
    given = equal_tokens.material(data, dropout=0.2, batch_tokens=1024, precision="bf16")
    shape = dataclasses.replace(given.config.model, norm=norm)
    given = dataclasses.replace(given, config=dataclasses.replace(given.config, model=shape))
    known = {"start": start, "norm": norm, "seed": seed}
    if start == PEER and watched:
        raise SystemExit(f"{PEER}: only our own model can be watched; measure it with run.")
    if start == PEER:
        _, learn, judge = equal_tokens.peer(given, seed, our_start=False)
    else:
        model.initialise = STARTS[start]
        learner, learn, judge = equal_tokens.ours(given, seed)
    for number, batch in zip(range(1, updates + 1), given.batches(), strict=False):
        learn(batch, number)
        if number in AT or number == updates:
            write(LOG, known | {"update": number, "loss": round(judge(), 4), "processor": processor()})
        if watched and number % 50 == 0:
            write(WATCHED, known | {"update": number} | look(learner.model, given.validation[0]))


def write(log: Path, line: dict[str, Any]) -> None:
    with log.open("a", encoding="utf-8") as file:
        file.write(json.dumps(line) + "\n")


def look(model: Transformer, batch: Batch) -> dict[str, Any]:
    """Return how much the cross-attention of each layer looks at single words, how large what each layer's
    sublayers add is compared with the sum, and the norm of each layer's gradient."""
    model.eval()
    layers = [f"{stack}.layers.{number}" for stack in ("encoder", "decoder") for number in range(4)]
    with pellucid.trace(model, only=["*cross_attention.weights", "*output", "*sum"]) as seen:
        loss = loss_of(model, batch, smoothing=0.0).smoothed / batch.tokens
    names = [name for name, _ in model.named_parameters()]
    gradients = torch.autograd.grad(loss, list(model.parameters()), allow_unused=True)
    added, gradient = {}, {}
    for layer in layers:
        sums = [name for name in seen if name.startswith(layer) and name.endswith(".sum")]
        parts = ["self_attention", "feed_forward"]
        parts[1:1] = ["cross_attention"] if len(sums) == 3 else []
        shares = [
            seen[f"{layer}.{part}.output"].tensor.norm() / seen[total].tensor.norm()
            for part, total in zip(parts, sums, strict=True)
        ]
        added[layer] = round(float(sum(shares) / len(shares)), 4)
        own = [each for name, each in zip(names, gradients, strict=True) if name.startswith(layer)]
        gradient[layer] = round(math.sqrt(sum(float(each.square().sum()) for each in own)), 4)
    words = batch.source_mask.sum(1).log()
    focus = []
    for layer in layers[4:]:
        weights = seen[f"{layer}.cross_attention.weights"].tensor
        entropy = torch.special.entr(weights).sum(-1).mean(1)  # of each target word: B L
        focus.append(float((1 - entropy / words[:, None])[batch.target_mask].mean()))
    return {"focus": [round(each, 4) for each in focus], "added": added, "gradient": gradient}


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
        "800, bf16). *now*: what model.py does. *a quarter*: from 2026-11-24 to 2026-11-28, embeddings and "
        "last matrices a quarter as large. *before*: Xavier for all matrices, N(0, 1/D) for embeddings, "
        "as until 2026-11-24. *N(0, 0.02)*: all matrices, as MarianMTModel begins.",
        f"One thread, each run on one of: {', '.join(sorted({line['processor'] for line in lines}))} "
        "(first_weights.jsonl says which).",
    )
    columns = ("norm", "start", "seed", *(f"{at:,} updates" for at in AT))
    write_report("first_weights", "First weights", about, columns, rows, "first_weights report")


def draw() -> None:
    """Draw how cross-attention begins to look, and the loss falls, over the updates of each seed."""
    from matplotlib import pyplot

    lines = [json.loads(line) for line in WATCHED.read_text(encoding="utf-8").splitlines()]
    losses = [json.loads(line) for line in LOG.read_text(encoding="utf-8").splitlines()]
    pyplot.rcParams["svg.hashsalt"] = "first weights"
    figure, axes = pyplot.subplots(2, 2, figsize=(8, 4.6), sharex=True, sharey="row", layout="constrained")
    for column, start in enumerate(("before", "now")):
        above, below = axes[:, column]
        for seed in sorted({line["seed"] for line in lines if line["start"] == start}):
            own = [line for line in lines if (line["start"], line["seed"]) == (start, seed)]
            for layer in range(4):
                label = f"layer {layer}" if seed == 1 else None
                focus = [line["focus"][layer] for line in own]
                above.plot([line["update"] for line in own], focus, f"C{layer}", lw=0.9, label=label)
            points = [
                (line["update"], line["loss"])
                for line in losses
                if (line["start"], line["norm"], line["seed"]) == (start, "last", seed)
            ]
            below.plot(*zip(*sorted(points), strict=True), "o-", color="black", lw=0.9, ms=3)
        above.set_title({"before": "Xavier", "now": "as model.py begins now"}[start], fontsize=10)
        below.set_xlabel("updates")
        below.set_xlim(0, 1000)
    axes[0, 0].set_ylabel("cross-attention\nlooks at one word")
    axes[1, 0].set_ylabel("validation loss")
    axes[0, 0].legend(fontsize=8)
    figure.savefig(PICTURE, metadata={"Date": None})


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("what", choices=("run", "watch", "report"))
    parser.add_argument("start", nargs="?", choices=(*STARTS, PEER), default="now")
    parser.add_argument("--norm", choices=("first", "last"), default="last")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--updates", type=int, default=1000)
    parser.add_argument("--data", type=Path, default=Path("data/multi30k-en-de"))
    asked = parser.parse_args()
    if asked.what == "report":
        report()
        draw()
    else:
        run(asked.start, asked.norm, asked.seed, asked.updates, asked.data, asked.what == "watch")


if __name__ == "__main__":
    main()
