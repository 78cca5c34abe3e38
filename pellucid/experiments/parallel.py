"""training on all positions at once gives the loss and the gradients of step by step, in less time.

Both read the right words, so both compute the same: position i depends on the words before it, and these
are known from the start. Step by step, each position's keys and values go into a cache, and gradients flow
back through it. What differs is the time: one pass of matrices, or as many passes as the target has words.
"""

import copy
import statistics
import time
from collections.abc import Callable, Sequence

import torch
from torch import Tensor

from pellucid.cache import GrowingPast
from pellucid.experiments.result import Result, Row, Table
from pellucid.model import Transformer
from pellucid.show.panels import Lines
from pellucid.translator import Translator

SENTENCES = 8
HEADER = ["words", "at once, ms", "step by step, ms", "times as long", "loss off by", "gradients"]


def experiment(
    translator: Translator, *, lengths: Sequence[int] = (2, 4, 8, 16, 32, 64), repeats: int = 5, seed: int = 0
) -> Result:
    """Compare losses, gradients and times on sentences of random words, in float32, without dropout."""
    model, ways = copy.deepcopy(translator.model).float().eval(), (all_at_once, step_by_step)
    random, config = torch.Generator().manual_seed(seed), model.config
    rows: list[Row] = []
    for length in lengths:
        shape = SENTENCES, length + 1
        source = torch.randint(4, config.vocabulary, shape, generator=random).to(
            model.projection_weight.device
        )
        target = torch.randint(4, config.target_size, shape, generator=random).to(source)
        target[:, 0] = config.start_id
        # The ways take turns, so that other work of the computer falls on both; the first turn warms up.
        turns = [[run(way, model, source, target) for way in ways] for _ in range(repeats + 1)]
        fast, slow = (statistics.median(turn[place][0] for turn in turns[1:]) for place in (0, 1))
        (_, loss, gradients), (_, other, others) = turns[-1]
        apart = max(float((a - b).abs().max()) for a, b in zip(gradients, others, strict=True))
        rows.append([str(length), fast, slow, slow / fast, abs(loss - other), apart])
    of_loss, of_gradients = (max(row[place] for row in rows) for place in (4, 5))
    lines = {name: (lengths, [row[place] for row in rows], "o-") for place, name in enumerate(HEADER[1:3], 1)}
    return Result(
        conclusion=f"With {lengths[-1]} words step by step takes {rows[-1][3]:.1f} times as long as all at "
        f"once; the loss is the same (to {of_loss:.0e}), and so are the gradients (to {of_gradients:.0e}).",
        tables=[Table("", HEADER, rows, form=["", ".1f", ".1f", ".1f", ".1e", ".1e"])],
        picture=[Lines("milliseconds, forward and backward", "words of the target", lines, "xy")],
        note=f"{SENTENCES} sentences; times: the median of {repeats}; gradients: of all parameters.",
    )


def all_at_once(model: Transformer, source: Tensor, target: Tensor) -> Tensor:
    """Return the logits of one pass over all positions, as in training."""
    return model(source, None, target)


def step_by_step(model: Transformer, source: Tensor, target: Tensor) -> Tensor:
    """Return the logits of a pass for each position, which reads one right word more."""
    memory, past = model.remember(model.encode(source, None), None), GrowingPast()
    return torch.cat([model.decode(ids, memory, past) for ids in target.split(1, dim=1)], dim=1)


def run(
    way: Callable[[Transformer, Tensor, Tensor], Tensor], model: Transformer, source: Tensor, target: Tensor
) -> tuple[float, float, list[Tensor]]:
    """Return the milliseconds that the loss and its gradients take, the loss, and the gradients."""
    model.zero_grad(set_to_none=True)
    started = time.perf_counter()
    logits = way(model, source, target[:, :-1])
    loss = torch.nn.functional.cross_entropy(logits.flatten(0, 1), target[:, 1:].flatten())
    loss.backward()
    taken = 1000 * (time.perf_counter() - started)
    return taken, float(loss.detach()), [each.grad for each in model.parameters() if each.grad is not None]
