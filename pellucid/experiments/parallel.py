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
from torch import Tensor

from pellucid.cache import GrowingPast
from pellucid.config.device import device_of
from pellucid.experiments.result import Result, Table
from pellucid.model import Transformer
from pellucid.show.panels import Lines
from pellucid.translator import Translator

SENTENCES = 8


def experiment(
    translator: Translator, *, lengths: Sequence[int] = (2, 4, 8, 16, 32, 64), repeats: int = 5, seed: int = 0
) -> Result:
    """Compare losses, gradients and times on sentences of random words, without dropout."""
    model, lengths = copy.deepcopy(translator.model).float().eval(), sorted(lengths)
    words = random_words(model, 8, seed)
    equal = [compare(copy.deepcopy(model).double(), words), compare(model, words)]
    timed = [milliseconds(model, random_words(model, each, seed), repeats) for each in lengths]
    at_once, stepwise = zip(*timed, strict=True)
    rows = [[str(each), fast, slow, slow / fast] for each, (fast, slow) in zip(lengths, timed, strict=True)]
    loss, gradients = (f"to {each:.0e}" if each else "to the last bit" for each in equal[0][3:])
    lines = {"at once": (lengths, at_once, "o-"), "step by step": (lengths, stepwise, "^--")}
    losses = ["", "loss at once", "step by step", "difference", "of gradients"]
    header = ["words", "at once, ms", "step by step, ms", "times as long"]
    return Result(
        conclusion=f"With {lengths[-1]} words step by step takes {rows[-1][3]:.1f} times as long as all at "
        f"once; the loss is the same ({loss}), and so are the gradients ({gradients}, in float64).",
        tables=[
            Table("", losses, equal, form=["", ".9f", ".9f", ".1e", ".1e"]),
            Table("", header, rows, form=".1f"),
        ],
        picture=[Lines("milliseconds, forward and backward", "words of the target", lines, "xy")],
        note=f"Loss per word of {SENTENCES} sentences of 8 words; gradients of all parameters. Times: the "
        f"median of {repeats}.",
    )


def random_words(model: Transformer, length: int, seed: int) -> tuple[Tensor, Tensor]:
    """Return the ids of sources and of targets of random words, start token first."""
    random = torch.Generator().manual_seed(seed)
    sizes = model.config.vocabulary, model.config.target_size
    source, target = (torch.randint(4, size, (SENTENCES, length + 1), generator=random) for size in sizes)
    target[:, 0] = model.config.start_id
    return source.to(device_of(model)), target.to(device_of(model))


def all_at_once(model: Transformer, source: Tensor, target: Tensor) -> Tensor:
    """Return the loss per word from one pass over all positions, as training takes it."""
    return _loss(model(source, None, target[:, :-1]), target)


def step_by_step(model: Transformer, source: Tensor, target: Tensor) -> Tensor:
    """Return the loss per word from a pass for each position, which reads one right word more."""
    memory, past = model.remember(model.encode(source, None), None), GrowingPast()
    rows = [model.decode(ids, memory, past) for ids in target[:, :-1].split(1, dim=1)]
    return _loss(torch.cat(rows, dim=1), target)


def _loss(logits: Tensor, target: Tensor) -> Tensor:
    return torch.nn.functional.cross_entropy(logits.flatten(0, 1), target[:, 1:].flatten())


def compare(model: Transformer, words: tuple[Tensor, Tensor]) -> list[str | float]:
    """Return the precision, both losses, and by how much the losses and any gradient differ."""
    losses, gradients = [], []
    for way in (all_at_once, step_by_step):
        losses.append(way(model, *words))
        gradients.append(torch.autograd.grad(losses[-1], list(model.parameters()), allow_unused=True))
    apart = max(float((a - b).abs().max()) for a, b in zip(*gradients, strict=True) if a is not None)
    one, other = (float(loss.detach()) for loss in losses)
    return [str(losses[0].dtype).removeprefix("torch."), one, other, abs(one - other), apart]


def milliseconds(model: Transformer, words: tuple[Tensor, Tensor], repeats: int) -> list[float]:
    """Return the time all at once and the time step by step. They take turns, so that other work of the
    computer falls on both; the first turn warms up."""
    seconds: list[list[float]] = [[], []]
    for _ in range(repeats + 1):
        for way, measured in zip((all_at_once, step_by_step), seconds, strict=True):
            started = time.perf_counter()
            way(model, *words).backward()
            measured.append(time.perf_counter() - started)
            model.zero_grad(set_to_none=True)
    return [1000 * statistics.median(measured[1:]) for measured in seconds]
