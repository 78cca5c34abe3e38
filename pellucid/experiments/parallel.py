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
from pellucid.config.device import device_of
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
        batches = [random_batch(model, [each] * SENTENCES, seed) for each in lengths]
        at_once, stepwise = zip(*(_milliseconds(model, each, repeats) for each in batches), strict=True)
    finally:
        torch.set_num_threads(threads)
    ratios = [slow / fast for fast, slow in zip(at_once, stepwise, strict=True)]
    loss, gradients = (f"to {each:.0e}" if each else "to the last bit" for each in equal[0][3:])
    forms, header = (
        ["", ".9f", ".9f", ".1e", ".1e"],
        ["words", "at once, ms", "step by step, ms", "times as long"],
    )
    rows = list(zip(map(str, lengths), at_once, stepwise, ratios, strict=True))
    lines = {"at once": (lengths, at_once, "o-"), "step by step": (lengths, stepwise, "^--")}
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
    """Return the loss per word from one pass over all positions, as training takes it."""
    logits = model(batch.source, batch.source_mask, batch.target_in)
    return F.cross_entropy(logits[batch.target_mask], batch.target_out[batch.target_mask])


def step_by_step(model: Transformer, batch: Batch) -> Tensor:
    """Return the loss per word from a pass for each position, which reads one right word more."""
    memory = model.remember(model.encode(batch.source, batch.source_mask), batch.source_mask)
    past = GrowingPast()
    logits = [model.decode(ids, memory, past) for ids in batch.target_in.split(1, dim=1)]
    return F.cross_entropy(torch.cat(logits, 1)[batch.target_mask], batch.target_out[batch.target_mask])


def compare(model: Transformer, batch: Batch) -> list[str | float]:
    """Return the precision, both losses, and by how much the losses and any gradient differ."""
    losses = [way(model, batch) for way in (all_at_once, step_by_step)]
    of_one, of_other = (
        torch.autograd.grad(loss, list(model.parameters()), allow_unused=True) for loss in losses
    )
    pairs = [pair for pair in zip(of_one, of_other, strict=True) if pair[0] is not None]
    apart = max(float((one - other).abs().max()) for one, other in pairs)
    one, other = (float(loss.detach()) for loss in losses)
    return [str(losses[0].dtype).removeprefix("torch."), one, other, abs(one - other), apart]


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
    return make_batch(rows, config.start_id, config.pad_id).to(device_of(model))


def _milliseconds(model: Transformer, batch: Batch, repeats: int) -> list[float]:
    """Return the time all at once and the time step by step. They take turns, so that other work of the
    computer falls on both; the first turn warms up."""
    seconds: list[list[float]] = [[], []]
    for _ in range(repeats + 1):
        for way, measured in zip((all_at_once, step_by_step), seconds, strict=True):
            started = time.perf_counter()
            way(model, batch).backward()
            measured.append(time.perf_counter() - started)
            model.zero_grad(set_to_none=True)
    return [1000 * statistics.median(measured[1:]) for measured in seconds]
