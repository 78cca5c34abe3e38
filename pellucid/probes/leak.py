"""Find leaks: predictions that depend on target tokens after them.

Training computes all positions in one pass. If its mask is missing, off by one, or right only in evaluation
mode, the only sign is results that are too good. `find_leak` changes the tokens that a prediction must not
depend on, and checks whether the prediction changes. It compares outputs and never looks inside a model.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from pellucid.errors import UsageError
from pellucid.model import Transformer
from pellucid.seeing.viewed import Viewed

Predict = Callable[[Tensor, Tensor, Tensor], Tensor]
Ids = Tensor | np.ndarray[Any, Any] | list[list[int]]

SENTENCES, SOURCE, TARGET, PADDED = 2, 6, 8, 2  # the shape of random ids; padding ends the last source
REPLACEMENTS = 3  # random ids that replace each token, one after the other
ROUNDING = 1e-6  # of the largest logit: smaller changes are no leak


@dataclass(frozen=True)
class Leak:
    """A prediction that depends on a later target token."""

    position: int  # of the prediction, counted from 0
    depends_on: int  # the position of the token
    amount: float  # the largest change of a logit
    modes: tuple[str, ...]  # the modes that show it: "evaluation", "training"

    def __str__(self) -> str:
        change = f"position {self.position} changes by up to {self.amount:.2g}"
        return f"{change} when token {self.depends_on} is another ({' and '.join(self.modes)} mode)"


@dataclass(frozen=True)
class LeakReport(Viewed):
    """All leaks that were found, by position; none if every prediction depends only on earlier tokens."""

    leaks: list[Leak]
    tried: list[str]  # what was tried, a line for each mode
    rounding: float  # the largest difference that counted as rounding

    def __str__(self) -> str:
        return "\n".join(self.lines(110))


def find_leak(
    model: nn.Module | Predict, *, source: Ids | None = None, target: Ids | None = None
) -> LeakReport:
    """Return a report of all predictions that depend on later target tokens, in evaluation mode and in
    training mode.

    model: a function (source B M, source_mask B M, target B L) -> logits B L V, such as a Transformer of
    Pellucid. The target is what the decoder reads, so row i may depend on target[:, : i + 1] only. A function
    that is not a torch module is tested once, because it has no modes.
    source, target: ids B M and ids B L, without padding; by default random ids.
    """
    probe = Probe(model, source, target)
    leaks: dict[tuple[int, int], Leak] = {}
    tried, rounding = [], 0.0
    for mode in ("evaluation", "training") if isinstance(model, nn.Module) else ("its own",):
        with steady(probe.module, torch.is_grad_enabled() if mode == "its own" else mode == "training"):
            limit, changes = probe.limit(mode), list(probe.changes())
        length = probe.target.shape[1]
        tried.append(f"{mode} mode: {length - 1} of {length} tokens replaced, one at a time")
        for position, place, change in changes:
            if change <= limit:
                rounding = max(rounding, change)
                continue
            known = leaks.get((position, place), Leak(position, place, 0.0, ()))
            leaks[position, place] = Leak(position, place, max(known.amount, change), (*known.modes, mode))
    return LeakReport([leaks[pair] for pair in sorted(leaks)], tried, rounding)


class Probe:
    """A model and the sentences to test it with: the caller's ids, or random ones."""

    def __init__(self, call: nn.Module | Predict, source: Ids | None, target: Ids | None) -> None:
        self.call, self.module = call, call if isinstance(call, nn.Module) else nn.Module()
        self.ours = call.config if isinstance(call, Transformer) else None
        device = next((each.device for each in self.module.parameters()), None)
        given = [torch.as_tensor(ids, device=device).long() for ids in (source, target) if ids is not None]
        rows, chance = len(given[0]) if given else SENTENCES, torch.Generator().manual_seed(0)

        def draw(low: int, high: int, length: int) -> Tensor:
            return torch.randint(low, high, (rows, length), generator=chance).to(device)

        # Every vocabulary has id 1. What the source says hardly matters here.
        low, high = (0, self.ours.vocabulary) if self.ours else (1, 2)
        self.source = draw(low, high, SOURCE) if source is None else given[0]
        self.mask = torch.ones_like(self.source, dtype=torch.bool)
        if source is None and rows > 1:
            self.mask[-1, -PADDED:] = False
        with steady(self.module, training=False):
            example = self.source.new_ones(rows, TARGET) if target is None else given[-1]
            self.vocabulary = self.logits(example).shape[-1]
        self.target = draw(0, self.vocabulary, TARGET) if target is None else example
        if self.target.shape[1] < 2:
            raise UsageError("target has 1 token, so no later token can leak. Give at least 2 tokens.")

    def logits(self, target: Tensor, seed: int = 0) -> Tensor:
        """Run one pass with random numbers of this seed: target B L -> logits B L V. Afterwards, the random
        generators and the module's buffers (such as running means) are as before."""
        buffers = [(buffer, buffer.clone()) for buffer in self.module.buffers()]
        cuda = range(torch.cuda.device_count()) if torch.cuda.is_initialized() else ()
        with torch.random.fork_rng(cuda):
            torch.manual_seed(seed)
            logits = self.call(self.source, self.mask, target)
        with torch.no_grad():
            for buffer, value in buffers:
                buffer.copy_(value)
        shape = tuple(logits.shape) if isinstance(logits, Tensor) else type(logits).__name__
        if not isinstance(shape, tuple) or len(shape) != 3 or shape[:2] != tuple(target.shape):
            raise UsageError(
                f"the model returns {shape} for a target of {tuple(target.shape)}. Return logits B L V, with "
                "a row for each token of the target."
            )
        if logits.isnan().any():
            raise UsageError(
                "the logits contain NaN, and nothing can be compared with NaN. Correct the model first."
            )
        return logits.detach()

    def limit(self, mode: str) -> float:
        """Return the largest change of a logit that counts as rounding; raise an error if two equal passes
        differ by more."""
        plain = self.logits(self.target)
        limit = ROUNDING * float(plain[plain.isfinite()].abs().max())
        if (chance := max(_differences(plain, self.logits(self.target)))) > limit:
            raise UsageError(
                f"two equal passes differ by {chance:.2g} ({mode} mode), so a leak cannot be told from "
                "chance. Draw all random numbers with torch."
            )
        return limit

    def changes(self) -> Iterator[tuple[int, int, float]]:
        """Replace the tokens at each position in turn. For each earlier position, yield it, the replaced
        position, and the largest change of a logit at the earlier one."""
        for place in range(1, self.target.shape[1]):
            # Other random numbers at each place: a leak may come and go by chance.
            before = self.logits(self.target, seed=place)
            found = [_differences(before, self.logits(other, seed=place)) for other in self.replace(place)]
            largest = [max(each) for each in zip(*found, strict=True)]
            yield from ((position, place, largest[position]) for position in range(place))

    def replace(self, place: int) -> Iterator[Tensor]:
        """Yield copies of the target that have other tokens at position `place` in all sentences: random ids,
        padding, the end token."""
        random = torch.Generator().manual_seed(place)
        steps = torch.randperm(self.vocabulary - 1, generator=random)[:REPLACEMENTS] + 1
        token = self.target[:, place]
        others = [(token + step) % self.vocabulary for step in steps.tolist()]
        if self.ours:
            others += [torch.full_like(token, special) for special in (self.ours.pad_id, self.ours.end_id)]
        for other in others:
            if not torch.equal(other, token):
                yield torch.cat((self.target[:, :place], other[:, None], self.target[:, place + 1 :]), dim=1)


@contextmanager
def steady(module: nn.Module, training: bool) -> Iterator[None]:
    """Keep a module in training mode (with gradients) or in evaluation mode until the block ends; then
    restore the mode of each submodule."""
    modes = [(part, part.training) for part in module.modules()]
    try:
        module.train(training)
        with torch.set_grad_enabled(training):
            yield
    finally:
        for part, mode in modes:
            part.training = mode


def _differences(before: Tensor, after: Tensor) -> list[float]:
    """Return the largest absolute change of a logit at each position, L. Equal infinities are no change."""
    before, after = before.double(), after.double()
    return torch.where(before == after, 0.0, (before - after).abs()).amax(dim=(0, 2)).tolist()
