"""The probes for leaks: other tokens, a shorter target, every label in turn."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

import torch
from torch import Tensor, nn

from pellucid.errors import UsageError
from pellucid.model import Transformer
from pellucid.probes.leak.report import Leak
from pellucid.probes.leak.steady import repeatable

Predict = Callable[[Tensor, Tensor, Tensor], Tensor]

# What is taken for rounding, relative to the largest number that comes out. Of targets of one length a row is
# computed in the same way whatever stands in the others; of another length sums may run in another order.
SAME_LENGTH = 1e-6
OTHER_LENGTH = {torch.float64: 1e-10, torch.float32: 1e-5, torch.float16: 1e-2, torch.bfloat16: 5e-2}
LABELS_TRIED = 50_000  # in all positions together, where each label is tried as the expected one
NUMBERS_AT_ONCE = 8_000_000  # logits that such a pass holds, about


@dataclass(frozen=True)
class Rows:
    """What one pass says: B R N, where row r is the prediction at position first + r."""

    numbers: Tensor
    first: int
    hidden: int  # a row must not depend on tokens from its position + hidden on
    drew: bool  # whether random numbers were drawn

    @property
    def largest(self) -> float:
        """The largest absolute number, those that are not finite left out."""
        finite = self.numbers[self.numbers.isfinite()]
        return float(finite.abs().max()) if len(finite) else 0.0

    def change(self, other: "Rows") -> Tensor:
        """The largest absolute change of each row that both have, R."""
        count = min(self.numbers.shape[1], other.numbers.shape[1])
        ours, theirs = self.numbers[:, :count].double(), other.numbers[:, :count].double()
        # Equal infinities have not changed, though their difference is NaN.
        return torch.where(ours == theirs, 0.0, (ours - theirs).abs()).amax(dim=(0, 2))


@dataclass(frozen=True)
class Probe:
    """What is examined, and with which sentences."""

    call: Predict
    module: nn.Module | None
    source: Tensor
    source_mask: Tensor
    target: Tensor
    vocabulary: int
    unshifted: bool  # whether the target is labels that `call` shifts itself
    label_smoothing: float
    replacements: int
    seed: int

    def rows(self, target: Tensor, seed: int = 0) -> Rows:
        """One pass with this target."""
        return self.rows_of(self.source, self.source_mask, target, seed)

    def rows_of(self, source: Tensor, source_mask: Tensor, target: Tensor, seed: int = 0) -> Rows:
        """One pass over other sentences."""
        numbers, drew = repeatable(
            lambda: self.call(source, source_mask, target), self.module, self.seed + seed
        )
        return _as_rows(numbers, target, self.unshifted, drew)

    @property
    def others(self) -> str:
        """What `replaced` puts in, in words."""
        count = min(self.replacements, self.vocabulary - 1)
        random = f"{count} random id{'s' if count > 1 else ''}"
        return f"{random}, padding and the end" if isinstance(self.module, Transformer) else random

    def replaced(self, place: int) -> Iterator[Tensor]:
        """The target with other tokens at `place`, in all sentences at once: random ids, padding, the end."""
        random = torch.Generator().manual_seed(self.seed + place)
        steps = torch.randperm(self.vocabulary - 1, generator=random)[: self.replacements] + 1
        token = self.target[:, place]
        others = [(token + step) % self.vocabulary for step in steps.tolist()]
        if isinstance(self.module, Transformer):
            config = self.module.config
            others += [torch.full_like(token, special) for special in (config.pad_id, config.end_id)]
        for other in others:
            if not torch.equal(other, token):
                changed = self.target.clone()
                changed[:, place] = other
                yield changed


@dataclass
class Trial:
    """What the probes find in one mode, and what they did, in words."""

    mode: str
    leaks: list[Leak] = field(default_factory=list)
    did: list[str] = field(default_factory=list)
    rounding: float = 0.0

    @property
    def words(self) -> str:
        """One line."""
        return f"{self.mode} mode: {'; '.join(self.did)}"

    def judge(self, position: int, token: int, change: float, limit: float, seen_by: str) -> None:
        """A change beyond rounding is a leak."""
        if change > limit:
            self.leaks.append(Leak(position, token, change, (self.mode,), seen_by))
        else:
            self.rounding = max(self.rounding, change)


def replace_tokens(probe: Probe, trial: Trial) -> None:
    """Other tokens, at one place at a time: the rows that must not know them must not change."""
    plain = probe.rows(probe.target)
    limit = SAME_LENGTH * plain.largest
    chance = float(plain.change(probe.rows(probe.target)).max())
    if chance > limit:
        raise UsageError(
            f"two passes over the same sentences differ by {chance:.2g} ({trial.mode} mode) though "
            "torch's random numbers are the same in both, so a leak cannot be told from chance. "
            "Let all random numbers be torch's."
        )
    length = probe.target.shape[1]
    places = range(plain.first + plain.hidden, length)
    for place in places:
        # Other random numbers at each place: a leak may come and go by chance.
        seed = place if plain.drew else 0
        known = probe.rows(probe.target, seed) if plain.drew else plain
        changes = [known.change(probe.rows(target, seed)) for target in probe.replaced(place)]
        most = torch.stack(changes).amax(0).tolist()
        for position in range(plain.first, place - plain.hidden + 1):
            trial.judge(position, place, most[position - plain.first], limit, "replaced")
    dropped = ", under the same dropout" if plain.drew else ""
    trial.did.append(f"{len(places)} of {length} tokens replaced, one at a time, by {probe.others}{dropped}")


def cut(probe: Probe, trial: Trial) -> None:
    """Shorter targets: the rows that are left must not change. It finds what depends on the length alone."""
    whole = probe.rows(probe.target)
    if whole.drew:
        trial.did.append("no shorter target: random numbers are drawn that no dropout module draws")
        return
    limit = _other_length(whole) * whole.largest
    found = Trial(trial.mode)
    for end in range(whole.first + 1, probe.target.shape[1]):
        changes = whole.change(probe.rows(probe.target[:, :end])).tolist()
        for position, change in enumerate(changes, whole.first):
            found.judge(position, end, change, limit, "cut")
    trial.rounding = max(trial.rounding, found.rounding)
    # Of each row the latest cut that changes it, unless a token that it takes away is known to do so; of
    # labels, the decoder reads one less than there are.
    latest = {leak.position: leak for leak in found.leaks}.values()
    furthest = {leak.position: leak.depends_on + probe.unshifted for leak in sorted(trial.leaks, key=tuple)}
    trial.leaks += [leak for leak in latest if furthest.get(leak.position, -1) < leak.depends_on]
    trial.did.append("the target ended before each")


def own_labels(probe: Probe, trial: Trial) -> None:
    """Each label in turn as the expected one: together they have the probability 1, unless the prediction
    knew which it would be."""
    whole = probe.rows(probe.target)
    if not probe.unshifted or not whole.hidden:
        return  # logits: a row that knows its own label has been seen to change
    if whole.drew:
        trial.did.append("own labels not tried: random numbers are drawn that no dropout module draws")
        return
    limit = 3 * _other_length(whole)
    length = probe.target.shape[1]
    count = max(1, min(length - whole.first, LABELS_TRIED // probe.vocabulary))
    places = sorted({round(place) for place in torch.linspace(whole.first, length - 1, count).tolist()})
    for place in places:
        missing = _missing(_loss_of_each_label(probe, place), probe.label_smoothing, limit)
        trial.judge(place, place, missing, limit, "own label")
    trial.did.append(f"each of {probe.vocabulary} labels expected at {len(places)} positions")


def _loss_of_each_label(probe: Probe, place: int) -> Tensor:
    """The losses at `place` with each label there in turn, V; the first sentence is otherwise as it is."""
    together = max(1, NUMBERS_AT_ONCE // (probe.vocabulary * probe.target.shape[1]))
    losses = []
    for labels in torch.arange(probe.vocabulary, device=probe.target.device).split(together):
        rows = (len(labels), 1)
        target = probe.target[:1].repeat(rows)
        target[:, place] = labels
        said = probe.rows_of(probe.source[:1].repeat(rows), probe.source_mask[:1].repeat(rows), target)
        losses.append(said.numbers[:, place - said.first, 0].double())
    return torch.cat(losses)


def _missing(losses_V: Tensor, smoothing: float, limit: float) -> float:
    """How far the probabilities of all labels together are from 1."""
    # A smoothed loss is (1 - s) times the label's own and s times the mean, and its mean is the same mean.
    probabilities = (-(losses_V - smoothing * losses_V.mean()) / (1 - smoothing)).exp()
    missing = abs(float(probabilities.sum()) - 1)
    left_out = losses_V == 0
    if missing > limit and int(left_out.sum()) == 1 and float(probabilities[~left_out].sum()) <= 1 + limit:
        raise UsageError(
            f"the loss of label {int(left_out.nonzero())} is exactly 0, as if it were left out "
            "(ignore_index), so the probabilities need not sum to 1. Leave out none, or return logits."
        )
    return missing


def _other_length(rows: Rows) -> float:
    return OTHER_LENGTH.get(rows.numbers.dtype, OTHER_LENGTH[torch.float32])


def _as_rows(numbers: Tensor, target: Tensor, unshifted: bool, drew: bool) -> Rows:
    """What came out, checked."""
    shape = tuple(numbers.shape) if isinstance(numbers, Tensor) else type(numbers).__name__
    sentences, length = target.shape
    wanted = "B L V or, position by position, B L" if unshifted else "B L V"
    logits = isinstance(shape, tuple) and len(shape) == 3
    if not isinstance(shape, tuple) or not (logits or (unshifted and len(shape) == 2)):
        raise UsageError(f"{shape} came out; find_leak needs {wanted} here, with B L = {sentences} {length}.")
    if not numbers.is_floating_point() or 0 in shape:
        raise UsageError(
            f"{shape} of {numbers.dtype} came out; find_leak needs floating-point numbers {wanted}."
        )
    first = length - shape[1]
    if shape[0] != sentences or not 0 <= first < length or (first and not unshifted):
        raise UsageError(
            f"{shape} came out of a target of {sentences} {length}; find_leak needs {wanted}, "
            "a row for each token."
        )
    numbers = numbers.detach() if logits else numbers.detach()[:, :, None]
    if numbers.isnan().any():
        raise UsageError("NaN came out, which nothing can be compared with. Look for where it first arises.")
    return Rows(numbers, first, hidden=0 if unshifted and logits else 1, drew=drew)
