"""Parallel against step by step: teacher forcing computed all at once, and a word after the other.

Both are given the right words, so both compute the same: position i depends on the words before it, and these
are known from the start. Step by step, each position's keys and values go into a cache, and gradients flow
back through it. What differs is the time: one pass of matrices, or as many passes as the target has words.
"""

import copy
import statistics
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import torch
import torch.nn.functional as F
from torch import Tensor

from pellucid.cache import GrowingPast
from pellucid.config.whole import seed_setting, whole_list, whole_setting
from pellucid.data.batch import Batch, make_batch
from pellucid.data.corpus import Pair
from pellucid.data.examples import Example
from pellucid.model import Transformer
from pellucid.show.columns import columns, stacked
from pellucid.show.drawing import ORANGE, PURPLE, drawing
from pellucid.translator import Translator

ABOUT = "training on all positions at once gives the loss and the gradients of step by step, in less time"
NEEDS = "model"
LENGTHS = (2, 4, 8, 16, 32, 64)
MOST = 1000  # words of a target, sentences, repeats

Loss = Callable[[Transformer, Batch], Tensor]


@dataclass(frozen=True)
class Equality:
    """The loss per word both ways, and how far the gradients of all parameters are apart."""

    precision: str
    parallel: float
    stepwise: float
    gradient: float  # the largest absolute entry
    gradient_difference: float  # the largest absolute difference
    furthest: str  # the parameter that has it

    @property
    def loss_difference(self) -> float:
        """How far the losses are apart."""
        return abs(self.parallel - self.stepwise)


@dataclass(frozen=True)
class Timing:
    """Seconds of forward and backward for targets of this length, the medians of some repeats."""

    length: int
    parallel: float
    stepwise: float

    @property
    def ratio(self) -> float:
        """How many times as long step by step takes."""
        return self.stepwise / self.parallel


@dataclass(frozen=True)
class Parallel:
    """Equal losses and gradients, and the time against the length of the sentences."""

    equalities: list[Equality]  # in float64 and in float32
    timings: list[Timing]
    sentences: int
    words: int  # of the targets that were compared, padding not counted
    repeats: int
    threads: int

    @property
    def conclusion(self) -> str:
        """How much longer step by step takes, and that it computes the same."""
        exact, longest = self.equalities[0], self.timings[-1]
        return (
            f"With {longest.length} words step by step takes {longest.ratio:.1f} times as long as all at "
            f"once; the loss is the same ({_apart(exact.loss_difference)}), and so are the gradients "
            f"({_apart(exact.gradient_difference)}, in {exact.precision})."
        )

    def lines(self, width: int) -> list[str]:
        """The conclusion, the losses and gradients, and the times."""
        equal = [
            [
                each.precision,
                f"{each.parallel:.9f}",
                f"{each.stepwise:.9f}",
                f"{each.loss_difference:.1e}",
                f"{each.gradient_difference:.1e}",
            ]
            for each in self.equalities
        ]
        times = [
            [
                str(each.length),
                f"{1000 * each.parallel:.1f}",
                f"{1000 * each.stepwise:.1f}",
                f"{each.ratio:.1f}",
            ]
            for each in self.timings
        ]
        single = self.equalities[-1]
        compared = (
            f"Loss per word of {self.words} words in {self.sentences} sentences of unequal length; "
            f"gradients of all parameters, of which the largest entry is {single.gradient:.2g}; the "
            f"largest difference in {single.precision} is in {single.furthest}."
        )
        timed = (
            f"Forward and backward of {self.sentences} sentences, the median of {self.repeats}, "
            f"{self.threads} thread{'s' * (self.threads != 1)}."
        )
        return stacked(
            width,
            self.conclusion,
            columns(["", "loss at once", "step by step", "difference", "of gradients"], equal, width),
            compared,
            columns(["words", "at once, ms", "step by step, ms", "times as long"], times, width),
            timed,
        )

    def plot(self, path: str | Path) -> None:
        """Time against length, both ways, and how many times as long step by step takes."""
        with drawing(path, "parallel") as figure:
            figure.set_size_inches(6, 3.8)
            axes = figure.subplots()
            lengths = [each.length for each in self.timings]
            stepwise = [1000 * each.stepwise for each in self.timings]
            axes.plot(lengths, stepwise, "^--", color=ORANGE, label="step by step")
            parallel = [1000 * each.parallel for each in self.timings]
            axes.plot(lengths, parallel, "o-", color=PURPLE, label="all positions at once")
            for each, height in zip(self.timings, stepwise, strict=True):
                place = (each.length, height)
                axes.annotate(
                    f"{each.ratio:.1f}×", place, (0, 6), textcoords="offset points", fontsize=8, ha="center"
                )
            axes.set(xscale="log", yscale="log", xlabel="words of the target")
            axes.set_ylabel("milliseconds, forward and backward")
            axes.set_xticks(lengths, [str(length) for length in lengths])
            axes.minorticks_off()
            axes.margins(y=0.15)
            axes.legend(fontsize=8)


def experiment(
    translator: Translator,
    *,
    lengths: Sequence[int] = LENGTHS,
    sentences: int = 8,
    repeats: int = 5,
    threads: int = 1,
    seed: int = 0,
) -> Parallel:
    """Compares losses, gradients and times on sentences of random words, as many as `sentences`, without
    dropout; the model stays as it is."""
    seed, lengths = seed_setting(seed), whole_list("lengths", lengths, 1, MOST)
    sentences = whole_setting("sentences", sentences, 1, MOST)
    repeats = whole_setting("repeats", repeats, 1, MOST)
    threads = whole_setting("threads", threads, 1, MOST)
    model = copy.deepcopy(translator.model).float().eval()
    batch = random_batch(model, range(1, sentences + 1), seed)
    equalities = [compare(copy.deepcopy(model).double(), batch), compare(model, batch)]
    before = torch.get_num_threads()
    torch.set_num_threads(threads)  # where another process is at work, threads wait for each other
    try:
        batches = [random_batch(model, [length] * sentences, seed) for length in sorted(lengths)]
        timings = [_timed(model, each, repeats) for each in batches]
    finally:
        torch.set_num_threads(before)
    return Parallel(equalities, timings, sentences, batch.tokens, repeats, threads)


def _apart(difference: float) -> str:
    return f"to {difference:.0e}" if difference else "to the last bit"


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


def compare(model: Transformer, batch: Batch) -> Equality:
    """Both ways on the same batch."""
    losses, gradients = [], []
    for loss_of in (all_at_once, step_by_step):
        losses.append(_learn(model, batch, loss_of))
        gradients.append(
            {name: each.grad for name, each in model.named_parameters() if each.grad is not None}
        )
        model.zero_grad(set_to_none=True)
    apart = {name: float((each - gradients[1][name]).abs().max()) for name, each in gradients[0].items()}
    furthest = max(apart, key=apart.__getitem__)
    largest = max(float(each.abs().max()) for each in gradients[0].values())
    precision = str(next(model.parameters()).dtype).removeprefix("torch.")
    return Equality(precision, losses[0], losses[1], largest, apart[furthest], furthest)


def random_batch(model: Transformer, lengths: Sequence[int], seed: int) -> Batch:
    """Sentences of random words, sources and targets of these lengths."""
    config, random = model.config, torch.Generator().manual_seed(seed)
    special = max(config.pad_id, config.unknown_id, config.start_id, config.end_id) + 1

    def words(length: int, vocabulary: int) -> list[int]:
        return torch.randint(min(special, vocabulary - 1), vocabulary, (length,), generator=random).tolist()

    pair = Pair("", "", 0, 1, "random words")
    rows = [
        Example(words(each, config.vocabulary), words(each, config.target_size), pair) for each in lengths
    ]
    return make_batch(rows, config.start_id, config.pad_id).to(model.projection_weight.device)


def _learn(model: Transformer, batch: Batch, loss_of: Loss) -> float:
    loss = loss_of(model, batch)
    loss.backward()
    return float(loss.detach())


def _timed(model: Transformer, batch: Batch, repeats: int) -> Timing:
    """Both ways in turn, so that whatever else the computer does falls on both; the first turn warms up."""
    seconds: dict[Loss, list[float]] = {all_at_once: [], step_by_step: []}
    for _ in range(repeats + 1):
        for loss_of, measured in seconds.items():
            started = time.perf_counter()
            _learn(model, batch, loss_of)
            measured.append(time.perf_counter() - started)
            model.zero_grad(set_to_none=True)
    medians = [statistics.median(measured[1:]) for measured in seconds.values()]
    return Timing(batch.target_in.shape[1], *medians)
