"""Find leaks: predictions that depend on target tokens that come after them.

Training computes all positions in one pass. If its mask is missing, off by one, or right only in evaluation
mode, nothing shows it but results that are too good. `find_leak` changes the tokens that a prediction must
not depend on, and checks whether the prediction changes. It compares outputs and never looks inside a model.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from pellucid.errors import UsageError
from pellucid.model import Transformer
from pellucid.probes.steady import repeatable, steady
from pellucid.seeing.viewed import Viewed

Predict = Callable[[Tensor, Tensor, Tensor], Tensor]
Ids = Tensor | np.ndarray[Any, Any] | list[list[int]]

SENTENCES, SOURCE, TARGET, PADDED = 2, 6, 8, 2  # the shape of random ids; padding ends the last source
REPLACEMENTS = 3  # random ids that replace each token, one after the other
# Differences that count as rounding, relative to the largest logit. Targets of one length are computed in the
# same way for all tokens; with another length, sums may run in another order.
SAME_LENGTH = 1e-6
OTHER_LENGTH = {torch.float64: 1e-10, torch.float32: 1e-5, torch.float16: 1e-2, torch.bfloat16: 5e-2}
HOW = {"replaced": "when token {} is another", "cut": "when the target ends before token {}"}


@dataclass(frozen=True)
class Leak:
    """A prediction that depends on a token after it."""

    position: int  # of the prediction, counted from 0
    depends_on: int  # the position of the token
    amount: float  # the largest change of a logit
    modes: tuple[str, ...] = ()  # the modes that show it: "evaluation", "training"
    seen_by: str = "replaced"  # or "cut"

    def __str__(self) -> str:
        change = f"position {self.position} changes by up to {self.amount:.2g}"
        return f"{change} {HOW[self.seen_by].format(self.depends_on)} ({' and '.join(self.modes)} mode)"


@dataclass(frozen=True)
class LeakReport(Viewed):
    """The leaks, by position; none when every prediction depends only on the tokens before it."""

    leaks: list[Leak]
    tried: list[str]  # what was tried, a line for each mode
    rounding: float  # the largest difference that counted as rounding

    def __str__(self) -> str:
        return "\n".join(self.lines(110))


def find_leak(
    model: nn.Module | Predict, *, source: Ids | None = None, target: Ids | None = None
) -> LeakReport:
    """Report which predictions depend on later tokens, in evaluation mode and in training mode.

    model: (source B M, source_mask B M, target B L) -> logits B L V, ours or any other. The target is what
        the decoder reads: row i may depend on target[:, : i + 1] only. A function that is no module is tried
        once, as it is.
    source, target: ids B M and ids B L, without padding. Default: random ids.
    """
    if not callable(model):
        raise UsageError(
            f"model = {model!r:.60} cannot be called. Give a model (of a translator, translator.model), or a "
            "function (source, source_mask, target) -> logits B L V."
        )
    probe, search = Probe(model, source, target), Search()
    for mode in ("evaluation", "training") if isinstance(model, nn.Module) else ("its own",):
        with steady(probe.module, torch.is_grad_enabled() if mode == "its own" else mode == "training"):
            search.run(probe, mode)
    leaks = [search.leaks[pair] for pair in sorted(search.leaks)]
    return LeakReport(leaks, search.tried, search.rounding)


class Probe:
    """The model, and the sentences to examine it with: the caller's ids, and random ids for what is None."""

    def __init__(self, call: nn.Module | Predict, source: Ids | None, target: Ids | None) -> None:
        self.call = call
        self.module = call if isinstance(call, nn.Module) else nn.Module()
        self.ours = call.config if isinstance(call, Transformer) else None
        self.device = next((each.device for each in self.module.parameters()), None)
        given = [
            torch.as_tensor(ids, device=self.device).long() for ids in (source, target) if ids is not None
        ]
        rows, random = len(given[0]) if given else SENTENCES, torch.Generator().manual_seed(0)
        # Every vocabulary has id 1. What the source says hardly matters here.
        low, high = (0, self.ours.vocabulary) if self.ours else (1, 2)
        self.source = self._random(low, high, rows, SOURCE, random) if source is None else given[0].long()
        self.mask = torch.ones_like(self.source, dtype=torch.bool)
        if source is None and rows > 1:
            self.mask[-1, -PADDED:] = False
        with steady(self.module, training=False):
            example = self.source.new_ones(rows, TARGET) if target is None else given[-1].long()
            self.vocabulary = self.logits(example).shape[-1]
        self.target = (
            example if target is not None else self._random(0, self.vocabulary, rows, TARGET, random)
        )
        if self.target.shape[1] < 2:
            raise UsageError("target: 1 token has none after it that could leak. Give at least 2 tokens.")

    def _random(self, low: int, high: int, rows: int, length: int, random: torch.Generator) -> Tensor:
        return torch.randint(low, high, (rows, length), generator=random).to(self.device)

    def logits(self, target: Tensor, seed: int = 0) -> Tensor:
        """Run one pass with these random numbers: B L -> logits B L V."""
        logits = repeatable(lambda: self.call(self.source, self.mask, target), self.module, seed)
        shape = tuple(logits.shape) if isinstance(logits, Tensor) else type(logits).__name__
        if not isinstance(shape, tuple) or len(shape) != 3 or shape[:2] != tuple(target.shape):
            raise UsageError(
                f"the model returns {shape} for a target of {tuple(target.shape)}. Return logits B L V, with "
                "a row for each token of the target."
            )
        if logits.isnan().any():
            raise UsageError(
                "the logits hold NaN, and nothing can be compared with NaN. Correct the model first."
            )
        return logits.detach()

    def replace(self, place: int) -> Iterator[Tensor]:
        """Yield the target with other tokens at `place`, in all sentences: random ids, padding, the end."""
        random = torch.Generator().manual_seed(place)
        steps = torch.randperm(self.vocabulary - 1, generator=random)[:REPLACEMENTS] + 1
        token = self.target[:, place]
        others = [(token + step) % self.vocabulary for step in steps.tolist()]
        if self.ours:
            others += [torch.full_like(token, special) for special in (self.ours.pad_id, self.ours.end_id)]
        for other in others:
            if not torch.equal(other, token):
                yield torch.cat((self.target[:, :place], other[:, None], self.target[:, place + 1 :]), dim=1)


@dataclass
class Search:
    """What was tried and found so far: one leak for each pair of positions, with all modes that show it."""

    leaks: dict[tuple[int, int], Leak] = field(default_factory=dict)
    tried: list[str] = field(default_factory=list)
    rounding: float = 0.0

    def run(self, probe: Probe, mode: str) -> None:
        """Replace tokens one at a time, then let the target end earlier: no logit before them may change."""
        plain, length = probe.logits(probe.target), probe.target.shape[1]
        limit = SAME_LENGTH * _largest(plain)
        if (chance := max(_changes(plain, probe.logits(probe.target)))) > limit:
            raise UsageError(
                f"two equal passes differ by {chance:.2g} ({mode} mode), so a leak cannot be told from "
                "chance. Draw all random numbers with torch."
            )
        for place in range(1, length):
            # Other random numbers at each place: a leak may come and go by chance.
            before = probe.logits(probe.target, seed=place)
            changes = [_changes(before, probe.logits(target, seed=place)) for target in probe.replace(place)]
            self._judge(place, [max(each) for each in zip(*changes, strict=True)], limit, mode, "replaced")
        tried = f"{mode} mode: {length - 1} of {length} tokens replaced, one at a time"
        if max(_changes(plain, probe.logits(probe.target, seed=1))) > limit:
            self.tried.append(f"{tried}, under the same dropout; no shorter target: dropout would differ")
            return
        self.tried.append(f"{tried}; the target ended before each")
        limit = OTHER_LENGTH.get(plain.dtype, OTHER_LENGTH[torch.float32]) * _largest(plain)
        known = {leak.position for leak in self.leaks.values() if mode in leak.modes}
        for end in reversed(range(1, length)):  # of each position the latest end that it shows
            cut = _changes(plain[:, :end], probe.logits(probe.target[:, :end]))
            new = [0.0 if position in known else change for position, change in enumerate(cut)]
            known |= {position for position, change in enumerate(new) if change > limit}
            self._judge(end, new, limit, mode, "cut")

    def _judge(self, place: int, changes: list[float], limit: float, mode: str, seen_by: str) -> None:
        """Record how the predictions before `place` changed: beyond `limit` is a leak, else rounding."""
        for position, change in enumerate(changes[:place]):
            if change <= limit:
                self.rounding = max(self.rounding, change)
                continue
            before = self.leaks.get((position, place), Leak(position, place, 0.0, (), seen_by))
            modes = tuple(dict.fromkeys((*before.modes, mode)))
            self.leaks[position, place] = replace(before, amount=max(before.amount, change), modes=modes)


def _largest(logits: Tensor) -> float:
    finite = logits[logits.isfinite()]
    return float(finite.abs().max()) if len(finite) else 0.0


def _changes(before: Tensor, after: Tensor) -> list[float]:
    """Return the largest absolute change at each position, L; equal infinities have not changed."""
    before, after = before.double(), after.double()
    return torch.where(before == after, 0.0, (before - after).abs()).amax(dim=(0, 2)).tolist()
