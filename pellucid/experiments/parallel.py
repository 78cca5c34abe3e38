"""training on all positions at once gives the loss and the gradients of step by step, in less time.

Both read the right words, so both compute the same: position i depends on the words before it, and these
are known from the start. Step by step, each position's keys and values go into a cache, and gradients flow
back through it. What differs is the time: one pass of matrices, or as many passes as the target has words.
"""

import copy
import statistics
import time
from collections.abc import Sequence

import torch
import torch.nn.functional as F
from torch import Tensor

from pellucid.cache import GrowingPast
from pellucid.data.batch import Batch, make_batch
from pellucid.data.corpus import Pair
from pellucid.data.examples import Example
from pellucid.experiments.result import Result, Table
from pellucid.model import Transformer
from pellucid.show.panels import Lines
from pellucid.translator import Translator

SENTENCES = 8


def experiment(
    translator: Translator, *, lengths: Sequence[int] = (2, 4, 8, 16, 32, 64), repeats: int = 5, seed: int = 0
) -> Result:
    """Compare losses, gradients and times on sentences of random words, without dropout, on one thread."""
    model, threads = copy.deepcopy(translator.model).float().eval(), torch.get_num_threads()
    batch, lengths = random_batch(model, range(1, SENTENCES + 1), seed), sorted(lengths)
    equal = [compare(copy.deepcopy(model).double(), batch), compare(model, batch)]
    torch.set_num_threads(1)  # where another process is at work, threads wait for each other
    try:
        times = [_times(model, random_batch(model, [each] * SENTENCES, seed), repeats) for each in lengths]
    finally:
        torch.set_num_threads(threads)
    at_once, stepwise, ratios = zip(*times, strict=True)
    loss, gradients = (f"to {each:.0e}" if each else "to the last bit" for each in equal[0][3:])
    header = ["words", "at once, ms", "step by step, ms", "times as long"]
    rows = [[str(length), *each] for length, each in zip(lengths, times, strict=True)]
    lines = {"at once": (lengths, at_once, "o-"), "step by step": (lengths, stepwise, "^--")}
    forms = ["", ".9f", ".9f", ".1e", ".1e"]
    return Result(
        conclusion=f"With {lengths[-1]} words step by step takes {ratios[-1]:.1f} times as long as all at "
        f"once; the loss is the same ({loss}), and so are the gradients ({gradients}, in float64).",
        tables=[
            Table("", ["", "loss at once", "step by step", "difference", "of gradients"], equal, form=forms),
            Table("", header, rows, form=".1f"),
        ],
        picture=[Lines("milliseconds, forward and backward", "words of the target", lines, "xy")],
        note=f"Loss per word of {batch.tokens} words in {SENTENCES} sentences of unequal length; gradients "
        f"of all parameters. Times: forward and backward, 1 thread, the median of {repeats}.",
    )


def all_at_once(model: Transformer, batch: Batch) -> Tensor:
    """The loss per word from one pass over all positions, as training takes it."""
    logits = model(batch.source, batch.source_mask, batch.target_in)
    return F.cross_entropy(logits[batch.target_mask], batch.target_out[batch.target_mask])


def step_by_step(model: Transformer, batch: Batch) -> Tensor:
    """The loss per word from a pass for each position, which reads one right word more."""
    memory = model.remember(model.encode(batch.source, batch.source_mask), batch.source_mask)
    past, losses = GrowingPast(), []
    for place in range(batch.target_in.shape[1]):
        logits = model.decode(batch.target_in[:, place : place + 1], memory, past)[:, 0]
        real = batch.target_mask[:, place]
        losses.append(F.cross_entropy(logits[real], batch.target_out[real, place], reduction="sum"))
    return torch.stack(losses).sum() / batch.tokens


def compare(model: Transformer, batch: Batch) -> list[str | float]:
    """The precision, the loss both ways, their difference and the largest difference of a gradient."""
    losses, gradients = [], []
    for way in (all_at_once, step_by_step):
        loss = way(model, batch)
        gradients.append(torch.autograd.grad(loss, list(model.parameters()), allow_unused=True))
        losses.append(float(loss.detach()))
    pairs = [(one, other) for one, other in zip(*gradients, strict=True) if one is not None]
    apart = max(float((one - other).abs().max()) for one, other in pairs)
    precision = str(next(model.parameters()).dtype).removeprefix("torch.")
    return [precision, *losses, abs(losses[0] - losses[1]), apart]


def random_batch(model: Transformer, lengths: Sequence[int], seed: int) -> Batch:
    """Return sentences of random words, sources and targets of these lengths."""
    config, random = model.config, torch.Generator().manual_seed(seed)
    special = max(config.pad_id, config.unknown_id, config.start_id, config.end_id) + 1
    rows = []
    for length in lengths:
        source, target = (
            torch.randint(min(special, size - 1), size, (length,), generator=random).tolist()
            for size in (config.vocabulary, config.target_size)
        )
        rows.append(Example(source, target, Pair("", "", 0, 1, "random words")))
    return make_batch(rows, config.start_id, config.pad_id).to(model.projection_weight.device)


def _times(model: Transformer, batch: Batch, repeats: int) -> list[float]:
    """Return milliseconds at once and step by step, and their ratio. Both take turns, so that other work of
    the computer falls on both; the first turn warms up."""
    seconds: list[list[float]] = [[], []]
    for _ in range(repeats + 1):
        for way, measured in zip((all_at_once, step_by_step), seconds, strict=True):
            started = time.perf_counter()
            way(model, batch).backward()
            measured.append(time.perf_counter() - started)
            model.zero_grad(set_to_none=True)
    at_once, stepwise = (1000 * statistics.median(measured[1:]) for measured in seconds)
    return [at_once, stepwise, stepwise / at_once]
