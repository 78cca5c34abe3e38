"""Training on a GPU beside a loop around transformers' MarianMTModel, turn by turn, from the same weights.

Transformer-base and -big with a vocabulary of 32,000, in bf16: random pairs of 10 to 50 tokens a side, sorted
by length into batches. Counted: real target tokens a second, padding, and the operations that the real tokens
need as a share of the matrix products that the GPU does. Needs `pip install "pellucid[interop]"` and a GPU;
`--device cpu --sizes tiny` tries the script without one. It has not been measured yet.

    python -m benchmarks.train_gpu [--sizes base,big] [--tokens 8192,32768] [--rounds 5] [--compile]
"""

import argparse
import itertools
import random
import statistics
import time
from collections.abc import Callable

import numpy as np
import torch
import torch.nn.functional as F

from benchmarks import decode_engines as engines
from benchmarks.report import machine, write_report
from pellucid.config.schema import TrainingConfig
from pellucid.data.batch import Batch, Order, make_batch, plan_batches
from pellucid.data.examples import pack
from pellucid.learning.cost import cost_of
from pellucid.learning.learner import Learner
from pellucid.learning.ranks import Ranks
from pellucid.model import Transformer

PAIRS, LENGTHS, WARM = 20_000, (10, 50), 3


def batches_of(tokens: int, vocabulary: int) -> list[Batch]:
    """Return batches of random pairs, as a training makes them."""
    chance = random.Random(1)

    def side() -> list[int]:
        return [*chance.choices(range(4, vocabulary), k=chance.randint(*LENGTHS)), 3]

    examples = pack(((side(), side(), line, 0) for line in range(PAIRS)), [("random", 0)])
    plan = itertools.islice(plan_batches(examples, Order(tokens, 1), 0), 20)
    return [make_batch(some, np.asarray(rows), 2, 0) for _, some, rows in plan]


def ours(
    model: Transformer, training: TrainingConfig, compiled: bool
) -> tuple[Learner, Callable[[Batch], object]]:
    """Return what learns a batch as `pellucid train` does."""
    learner = Learner(model, training)
    for layer in (*learner.working.encoder.layers, *learner.working.decoder.layers) if compiled else ():
        layer.compile(dynamic=True)
    steps = itertools.count(1)
    return learner, lambda batch: learner.learn([batch], next(steps))


def theirs(model: Transformer, device: torch.device, precision: str) -> Callable[[Batch], object]:
    """Return what learns a batch in a loop: autocast, fused AdamW, smoothing, clipping."""
    marian = engines.marian(model).to(device).train()
    optimizer = torch.optim.AdamW(marian.parameters(), lr=1e-4, fused=True)

    def learn(batch: Batch) -> float:
        batch = batch.to(device)
        with torch.autocast(device.type, dtype=torch.bfloat16, enabled=precision == "bf16"):
            said = marian(
                input_ids=batch.source,
                attention_mask=batch.source_mask.long(),
                decoder_input_ids=batch.target_in,
            ).logits
        expected = batch.target_out.masked_fill(~batch.target_mask, -100).flatten()
        loss = F.cross_entropy(said.float().flatten(0, 1), expected, label_smoothing=0.1)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(marian.parameters(), 1.0)
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)
        return float(loss.detach())

    return learn


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--sizes", default="base,big")
    parser.add_argument("--tokens", default="8192,32768")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--precision", default="bf16", choices=("bf16", "fp32"))
    parser.add_argument("--compile", action="store_true", help="measure our layers compiled, too")
    arguments = parser.parse_args()
    device, rows = torch.device(arguments.device), []
    training = TrainingConfig(precision=arguments.precision, peak_rate=1e-4, warmup_steps=1)
    for size, tokens in itertools.product(arguments.sizes.split(","), map(int, arguments.tokens.split(","))):
        batches = batches_of(tokens, engines.VOCABULARY)
        learner, learn = ours(engines.our_model(size).to(device), training, compiled=False)
        contestants = {"Pellucid": learn}
        if arguments.compile:
            contestants["Pellucid, compiled"] = ours(engines.our_model(size).to(device), training, True)[1]
        contestants["MarianMTModel"] = theirs(engines.our_model(size), device, arguments.precision)
        seconds: dict[str, list[float]] = {name: [] for name in contestants}
        for number in range(WARM + arguments.rounds):
            for name, learn in contestants.items():
                batch, began = batches[number % len(batches)], time.perf_counter()
                learn(batch)  # ends with the loss as a number, which waits for the device
                seconds[name].append(time.perf_counter() - began)
        for name, times in seconds.items():
            taken = [batches[number % len(batches)] for number in range(WARM, WARM + arguments.rounds)]
            cost = cost_of(taken, sum(times[WARM:]), learner, Ranks())
            ratio = statistics.median(seconds["MarianMTModel"][WARM:]) / statistics.median(times[WARM:])
            numbers = (
                f"{cost.tokens_a_second:,.0f}",
                f"{ratio:.2f}",
                f"{cost.padding:.1%}",
                f"{cost.used:.1%}",
            )
            rows.append((size, f"{tokens:,}", name, *numbers, f"{cost.memory:,}"))
    device_name = torch.cuda.get_device_name(device) if device.type == "cuda" else "no GPU"
    about = (
        f"{device_name}; {arguments.precision}, {arguments.rounds} steps each, in turn, after {WARM}; "
        f"{machine()}.",
    )
    columns = (
        "size",
        "tokens a batch",
        "loop",
        "target tokens a second",
        "ratio to MarianMTModel",
        "padding",
    )
    columns += ("share of the products' peak", "MB, the most of all")
    write_report("train_gpu", "Training on a GPU", about, columns, rows)


if __name__ == "__main__":
    main()
