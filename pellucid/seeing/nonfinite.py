"""Find the first tensor with NaN or infinity in any pass."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

import torch
from torch import Tensor, nn

from pellucid.errors import UsageError
from pellucid.seeing.records import Record
from pellucid.seeing.trace import Labeller, watching_records

MASKED = ("mask", "masked_scores")  # here -inf is meant: a key that may not be looked at


@dataclass(frozen=True)
class NonFinite:
    """The first tensor that holds NaN or infinity, and the first place in it."""

    name: str
    place: dict[str, int]  # along each axis
    tokens: dict[str, str]  # at this place, along L and M
    value: float
    count: int  # of the values in this tensor that are not finite
    size: int  # all its values

    def __str__(self) -> str:
        words = {axis: f" ({token})" for axis, token in self.tokens.items()}
        place = ", ".join(f"{axis} {index}{words.get(axis, '')}" for axis, index in self.place.items())
        many = f"{self.count:,} of its {self.size:,} values are not finite"
        return f"{self.name} is {self.value} at {place}; {many}"


@dataclass
class Finding:
    """The result of `find_nonfinite` so far."""

    first: NonFinite | None = None
    parameters: list[str] = field(default_factory=list)  # of the model, that hold NaN or infinity
    last: str = ""  # the tensor that was shown last, or before the first wrong one

    def __str__(self) -> str:
        if self.first is None:
            return "every tensor was finite" if self.last else "no pass of this model has run"
        before = f" The tensor before it, {self.last}, was finite." if self.last else ""
        wrong = f" Parameters that are not finite: {', '.join(self.parameters)}." if self.parameters else ""
        return f"{self.first}.{before}{wrong}"


@contextmanager
def find_nonfinite(model: nn.Module, vocabulary: Labeller | None = None) -> Iterator[Finding]:
    """Watch every pass of the model inside the `with`, in this thread, for the first tensor with NaN or
    infinity, except -inf in a mask: `with find_nonfinite(model) as found: …`, then print(found)."""
    finding = Finding()

    def see(record: Record) -> Tensor:
        if finding.first is None:
            wrong = ~record.tensor.isfinite()
            if record.name.rpartition(".")[2] in MASKED:
                wrong &= record.tensor != -torch.inf
            if bool(wrong.any()):
                finding.first = _first(record, wrong)
            else:
                finding.last = record.name
        return record.tensor

    with watching_records(model, vocabulary, see):
        yield finding
    if not finding.last and finding.first is None:
        raise UsageError("find_nonfinite saw nothing: no forward pass of this model ran inside the `with`.")
    if finding.first is not None:
        finding.parameters = [
            name for name, parameter in model.named_parameters() if not bool(parameter.isfinite().all())
        ]


def _first(record: Record, wrong: Tensor) -> NonFinite:
    place = dict(zip(record.axes, wrong.nonzero()[0].tolist(), strict=True))
    tokens = {
        axis: record.labels(axis, place.get("B", 0))[index] for axis, index in place.items() if axis in "LM"
    }
    value = float(record.tensor[tuple(place.values())].detach())
    return NonFinite(record.name, place, tokens, value, int(wrong.sum()), wrong.numel())
