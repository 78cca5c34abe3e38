"""training on all positions at once gives the same loss and gradients as step by step, in less time.

Step by step, each pass computes one position, and gradients flow back through the cache of keys and values.
"""

import copy
import statistics
import time
from collections.abc import Sequence

import torch
from torch import Tensor

from pellucid.cache import GrowingPast
from pellucid.errors import UsageError
from pellucid.experiments.result import Result, Row, Table, lines
from pellucid.folder.load import device_of
from pellucid.model import Transformer
from pellucid.translator import Translator

SENTENCES, REPEATS = 8, 5
Trained = tuple[float, float, Sequence[Tensor]]  # milliseconds, loss, gradients


def experiment(translator: Translator, *, lengths: tuple[int, ...] = (2, 4, 8, 16, 32, 64)) -> Result:
    """Compare training on all positions at once with training step by step: loss, gradients and time, on
    random sentences, in float32, without dropout."""
    if not lengths:
        raise UsageError("lengths is empty: give numbers of words, such as 2,4,8.")
    model, random = copy.deepcopy(translator.model).float().eval(), torch.Generator().manual_seed(0)
    words, rows = min(model.config.vocabulary, model.config.target_size), list[Row]()
    for length in lengths:
        both = torch.randint(4, words, (2, SENTENCES, length + 1), generator=random)
        source, target = both.to(device_of(model))
        target[:, 0] = model.config.start_id
        # Both ways take turns, so that other work of the computer falls on both; the first turn warms up.
        turns = [[train(model, source, target, way) for way in (False, True)] for _ in range(1 + REPEATS)]
        fast, slow = (statistics.median(turn[way][0] for turn in turns[1:]) for way in (0, 1))
        (_, loss, gradients), (_, other, others) = turns[-1]
        apart = max(float((a - b).abs().max()) for a, b in zip(gradients, others, strict=True))
        rows.append([str(length), fast, slow, slow / fast, abs(loss - other), apart])
    header = ["words", "at once, ms", "step by step, ms", "times as long", "loss off by", "gradients"]
    table = Table(header, rows, form=["", ".1f", ".1f", ".1f", ".1e", ".1e"])
    return Result(
        conclusion=f"With {lengths[-1]} words step by step takes {rows[-1][3]:.1f} times as long as all at "
        f"once; the loss is the same (to {max(table.column('loss off by')):.0e}), and so are the gradients "
        f"(to {max(table.column('gradients')):.0e}).",
        tables=[table],
        picture=[lines(table, "milliseconds, forward and backward", *header[1:3], log="xy")],
        note=f"{SENTENCES} sentences; times: the median of {REPEATS}; gradients: of all parameters.",
    )


def train(model: Transformer, source: Tensor, target: Tensor, by_steps: bool) -> Trained:
    """Compute the loss and its gradients, at once or step by step. Return the time in milliseconds, the loss,
    and the gradients."""
    started, read = time.perf_counter(), target[:, :-1]
    if by_steps:  # a pass for each position, which reads one right word more
        memory, past = model.remember(model.encode(source, None), None), GrowingPast()
        logits = torch.cat([model.decode(ids, memory, past) for ids in read.split(1, dim=1)], dim=1)
    else:
        logits = model(source, None, read)
    loss = torch.nn.functional.cross_entropy(logits.flatten(0, 1), target[:, 1:].flatten())
    gradients = torch.autograd.grad(loss, list(model.parameters()))
    return 1000 * (time.perf_counter() - started), float(loss.detach()), gradients
