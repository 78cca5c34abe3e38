"""Find leaks: predictions that depend on target tokens that come after them.

Training computes all positions in one pass. If its mask is missing, off by one, or right only in evaluation
mode, nothing shows it but results that are too good. `find_leak` changes the tokens that a prediction must
not depend on, and checks whether the prediction changes. It compares outputs and never looks inside a model.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from pellucid.config.whole import whole_setting
from pellucid.errors import UsageError
from pellucid.model import Transformer
from pellucid.probes.steady import repeatable, steady
from pellucid.seeing.viewed import Viewed

Predict = Callable[[Tensor, Tensor, Tensor], Tensor]
Ids = Tensor | np.ndarray[Any, Any] | list[list[int]]

SENTENCES, SOURCE, TARGET, PADDED = 2, 6, 8, 2  # the shape of random ids; padding ends the last source
# Differences that count as rounding, relative to the largest logit. Targets of one length are computed in the
# same way for all tokens; with another length, sums may run in another order.
SAME_LENGTH = 1e-6
OTHER_LENGTH = {torch.float64: 1e-10, torch.float32: 1e-5, torch.float16: 1e-2, torch.bfloat16: 5e-2}
HOW = {"replaced": "when token {} is another", "cut": "when the target ends before token {}"}


@dataclass(frozen=True)
class Leak:
    """A prediction that depends on a token after it: `position, depends_on, amount = leak`."""

    position: int  # of the prediction, counted from 0
    depends_on: int  # the position of the token
    amount: float  # the largest change of a logit
    modes: tuple[str, ...] = ()  # the modes that show it: "evaluation", "training"
    seen_by: str = "replaced"  # or "cut"

    def __iter__(self) -> Iterator[Any]:
        yield from (self.position, self.depends_on, self.amount)

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
    model: nn.Module | Predict,
    *,
    module: nn.Module | None = None,
    source: Ids | None = None,
    source_mask: Ids | None = None,
    target: Ids | None = None,
    replacements: int = 3,
    seed: int = 0,
) -> LeakReport:
    """Report which predictions depend on later tokens, in evaluation mode and in training mode.

    model: (source B M, source_mask B M, target B L) -> logits B L V, ours or any other. The target is what
        the decoder reads: row i may depend on target[:, : i + 1] only.
    module: the module to switch between the modes, where `model` is a function that calls it. Without a
        module, a function is tried once, as it is.
    source, source_mask, target: ids B M, bools B M, ids B L, no padding in the target. Default: random ids.
    replacements: the number of random ids that replace each token, one after the other.
    """
    if not callable(model):
        raise UsageError(
            f"model = {model!r:.60} cannot be called. Give a model (of a translator, translator.model), or a "
            "function (source, source_mask, target) -> logits B L V."
        )
    owner = getattr(model, "__self__", None)  # of a method, as in model.forward
    found = next((each for each in (module, model, owner) if isinstance(each, nn.Module)), None)
    replacements = whole_setting("replacements", replacements, 1, 1000)
    switched = nn.Module() if found is None else found
    seed = whole_setting("seed", seed, 0, 2**32 - 1)
    probe = Probe(model, switched, replacements, seed, (source, source_mask, target))
    trials = [_try(probe, mode) for mode in (("its own",) if found is None else ("evaluation", "training"))]
    tried = [f"{trial.mode} mode: {'; '.join(trial.actions)}" for trial in trials]
    return LeakReport(_merge(trials), tried, max(trial.rounding for trial in trials))


class Probe:
    """The model, and the sentences to examine it with: the caller's ids, and random ids for what is None."""

    def __init__(
        self,
        call: Predict,
        module: nn.Module,
        replacements: int,
        seed: int,
        sentences: Sequence[Ids | None],
    ) -> None:
        self.call, self.module, self.replacements, self.seed = call, module, replacements, seed
        self.ours = module.config if isinstance(module, Transformer) else None
        self.device = next((each.device for each in module.parameters()), None)
        source, mask, target = (None if each is None else self._tensor(each) for each in sentences)
        rows = next((len(each) for each in (source, target) if each is not None), SENTENCES)
        random = torch.Generator().manual_seed(seed)
        # Every vocabulary has id 1. What the source says hardly matters here.
        ids = (0, self.ours.vocabulary) if self.ours else (1, 2)
        self.source = self._random(ids, rows, SOURCE, random) if source is None else source
        self.mask = torch.ones_like(self.source, dtype=torch.bool) if mask is None else mask
        if source is None and mask is None and rows > 1:
            self.mask[-1, -PADDED:] = False
        with steady(module, training=False):
            example = self.source.new_ones(rows, TARGET) if target is None else target
            self.vocabulary = self.logits(example).shape[-1]
        self.target = self._random((0, self.vocabulary), rows, TARGET, random) if target is None else target
        if self.target.shape[1] < 2:
            raise UsageError("target: 1 token has none after it that could leak. Give at least 2 tokens.")

    def _tensor(self, ids: Ids) -> Tensor:
        tensor = ids if isinstance(ids, Tensor) else torch.as_tensor(ids, device=self.device)
        return tensor if tensor.dtype == torch.bool else tensor.long()

    def _random(self, ids: tuple[int, int], rows: int, length: int, random: torch.Generator) -> Tensor:
        return torch.randint(*ids, (rows, length), generator=random).to(self.device)

    def logits(self, target: Tensor, seed: int = 0) -> Tensor:
        """Run one pass with these random numbers: B L -> logits B L V."""
        logits = repeatable(lambda: self.call(self.source, self.mask, target), self.module, self.seed + seed)
        shape = tuple(logits.shape) if isinstance(logits, Tensor) else type(logits).__name__
        if not isinstance(shape, tuple) or len(shape) != 3 or shape[:2] != tuple(target.shape):
            raise UsageError(
                f"the model returns {shape} for a target of {tuple(target.shape)}. Return logits B L V, with "
                "a row for each token of the target."
            )
        if logits.isnan().any():
            raise UsageError("the logits hold NaN, which nothing can be compared with. Mend the model first.")
        return logits.detach()

    @property
    def others(self) -> str:
        """What `replace` puts in, as words."""
        count = min(self.replacements, self.vocabulary - 1)
        random = f"{count} random id{'s' if count > 1 else ''}"
        return f"{random}, padding and the end" if self.ours else random

    def replace(self, place: int) -> Iterator[Tensor]:
        """Yield the target with other tokens at `place`, in all sentences: random ids, padding, the end."""
        random = torch.Generator().manual_seed(self.seed + place)
        steps = torch.randperm(self.vocabulary - 1, generator=random)[: self.replacements] + 1
        token = self.target[:, place]
        others = [(token + step) % self.vocabulary for step in steps.tolist()]
        if self.ours:
            others += [torch.full_like(token, special) for special in (self.ours.pad_id, self.ours.end_id)]
        for other in others:
            if not torch.equal(other, token):
                changed = self.target.clone()
                changed[:, place] = other
                yield changed


@dataclass
class Trial:
    """What the probe finds in one mode, and what it does."""

    mode: str
    leaks: list[Leak] = field(default_factory=list)
    actions: list[str] = field(default_factory=list)
    rounding: float = 0.0

    def judge(self, place: int, changes: list[float], limit: float, seen_by: str) -> None:
        """Record how the predictions before `place` changed: beyond `limit` is a leak, else rounding."""
        for position, change in enumerate(changes[:place]):
            if change > limit:
                self.leaks.append(Leak(position, place, change, (self.mode,), seen_by))
            else:
                self.rounding = max(self.rounding, change)


def _try(probe: Probe, mode: str) -> Trial:
    """Replace tokens and cut targets in one mode."""
    trial = Trial(mode)
    with steady(probe.module, torch.is_grad_enabled() if mode == "its own" else mode == "training"):
        plain = probe.logits(probe.target)
        limit = SAME_LENGTH * _largest(plain)
        if (chance := max(_changes(plain, probe.logits(probe.target)))) > limit:
            raise UsageError(
                f"two equal passes differ by {chance:.2g} ({mode} mode), so a leak cannot be told from "
                "chance. Draw all random numbers with torch."
            )
        random = max(_changes(plain, probe.logits(probe.target, seed=1))) > limit
        _replace_tokens(probe, trial, limit, random)
        if random:
            trial.actions.append("no shorter target, because dropout would differ")
        else:
            _cut_targets(probe, trial)
    return trial


def _replace_tokens(probe: Probe, trial: Trial, limit: float, random: bool) -> None:
    """Replace one token at a time: the logits at the positions before it must not change."""
    length = probe.target.shape[1]
    for place in range(1, length):
        # Other random numbers at each place: a leak may come and go by chance.
        before = probe.logits(probe.target, seed=place)
        changes = [_changes(before, probe.logits(target, seed=place)) for target in probe.replace(place)]
        trial.judge(place, [max(each) for each in zip(*changes, strict=True)], limit, "replaced")
    same = ", under the same dropout" if random else ""
    trial.actions.append(f"{length - 1} of {length} tokens replaced, one at a time, by {probe.others}{same}")


def _cut_targets(probe: Probe, trial: Trial) -> None:
    """Shorten the target: the logits that are left must not change, as they do if the length leaks."""
    whole, cuts = probe.logits(probe.target), Trial(trial.mode)
    limit = OTHER_LENGTH.get(whole.dtype, OTHER_LENGTH[torch.float32]) * _largest(whole)
    for end in range(1, probe.target.shape[1]):
        cuts.judge(end, _changes(whole[:, :end], probe.logits(probe.target[:, :end])), limit, "cut")
    trial.rounding = max(trial.rounding, cuts.rounding)
    # For each position keep the latest cut, unless the replacement of a token that it removes shows the same.
    latest = {leak.position: leak for leak in cuts.leaks}.values()
    furthest = {leak.position: leak.depends_on for leak in sorted(trial.leaks, key=tuple)}
    trial.leaks += [leak for leak in latest if furthest.get(leak.position, -1) < leak.depends_on]
    trial.actions.append("the target ended before each")


def _largest(logits: Tensor) -> float:
    finite = logits[logits.isfinite()]
    return float(finite.abs().max()) if len(finite) else 0.0


def _changes(before: Tensor, after: Tensor) -> list[float]:
    """The largest absolute change at each position, L; equal infinities have not changed."""
    before, after = before.double(), after.double()
    return torch.where(before == after, 0.0, (before - after).abs()).amax(dim=(0, 2)).tolist()


def _merge(trials: list[Trial]) -> list[Leak]:
    """One leak for each pair of positions: the largest amount, and all the modes."""
    merged: dict[tuple[int, int], Leak] = {}
    for leak in (leak for trial in trials for leak in trial.leaks):
        other = merged.setdefault((leak.position, leak.depends_on), leak)
        larger = max(other, leak, key=lambda each: each.amount)
        modes = tuple(dict.fromkeys((*other.modes, *leak.modes)))
        merged[leak.position, leak.depends_on] = replace(larger, modes=modes)
    return [merged[pair] for pair in sorted(merged)]
