"""Find the first tensor with NaN or infinity in any pass."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

import torch
from torch import Tensor, nn

from pellucid.errors import UsageError
from pellucid.seeing.records import Record
from pellucid.seeing.trace import Labeller, Labels, watching_tokens
from pellucid.seeing.watching import full_name

MASKED = ("mask", "masked_scores")  # here -inf is meant: a key that may not be looked at


@dataclass(frozen=True)
class NonFinite:
    """The first tensor that holds NaN or infinity, and the first place in it."""

    name: str
    axes: str
    shape: tuple[int, ...]
    index: tuple[int, ...]  # along the axes
    tokens: dict[str, str]  # at this place, along L and M
    value: float
    count: int  # of the values in this tensor that are not finite

    def __str__(self) -> str:
        place = ", ".join(
            f"{axis} {index} ({self.tokens[axis]})" if axis in self.tokens else f"{axis} {index}"
            for axis, index in zip(self.axes, self.index, strict=True)
        )
        many = f"{self.count:,} of its {torch.Size(self.shape).numel():,} values are not finite"
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
    finding, labels = Finding(), Labels(vocabulary)

    def watch(path: str, name: str, axes: str, tensor: Tensor) -> Tensor:
        full = full_name(path, name)
        if finding.first is None:
            wrong = ~tensor.isfinite()
            if name in MASKED:
                wrong &= tensor != -torch.inf
            if bool(wrong.any()):
                finding.first = _first(Record(full, axes, tensor, labels.of(full, axes)), wrong)
            else:
                finding.last = full
        return tensor

    with watching_tokens(model, watch, labels):
        yield finding
    if not finding.last and finding.first is None:
        raise UsageError("find_nonfinite saw nothing: no forward pass of this model ran inside the `with`.")
    if finding.first is not None:
        finding.parameters = [
            name for name, parameter in model.named_parameters() if not bool(parameter.isfinite().all())
        ]


def _first(record: Record, wrong: Tensor) -> NonFinite:
    index = tuple(int(place) for place in wrong.nonzero()[0])
    at = dict(zip(record.axes, index, strict=True))
    tokens = {axis: record.labels(axis, at.get("B", 0))[at[axis]] for axis in at if axis in "LM"}
    value, shape = float(record.tensor[index].detach()), tuple(record.tensor.shape)
    return NonFinite(record.name, record.axes, shape, index, tokens, value, int(wrong.sum()))
