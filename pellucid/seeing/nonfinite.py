"""Find the first tensor with NaN or infinity in any pass."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

import torch
from torch import Tensor, nn

from pellucid.seeing.records import Record
from pellucid.seeing.trace import Labeller, watching_records

MASKED = ("mask", "masked_scores")  # here -inf is meant: a key that may not be looked at


@dataclass
class Finding:
    """What `find_nonfinite` has found so far; empty until a tensor has NaN or infinity."""

    first: str = ""  # the name of the first tensor that holds NaN or infinity
    what: str = ""  # the first such number, its place, and how many there are
    parameters: list[str] = field(default_factory=list)  # of the model, that hold NaN or infinity
    last: str = ""  # the tensor that was shown last, or before the first wrong one

    def __str__(self) -> str:
        if not self.first:
            return "every tensor was finite" if self.last else "no pass of this model has run"
        before = f" The tensor before it, {self.last}, was finite." if self.last else ""
        wrong = f" Parameters that are not finite: {', '.join(self.parameters)}." if self.parameters else ""
        return f"{self.first} is {self.what}.{before}{wrong}"


@contextmanager
def find_nonfinite(model: nn.Module, vocabulary: Labeller | None = None) -> Iterator[Finding]:
    """Watch every pass of the model in this thread until the block ends, and find the first tensor with NaN
    or infinity (-inf in a mask is allowed): `with find_nonfinite(model) as found: …`, then print(found)."""
    finding = Finding()

    def see(record: Record) -> None:
        if not finding.first:
            wrong = ~record.tensor.isfinite()
            if record.name.rpartition(".")[2] in MASKED:
                wrong &= record.tensor != -torch.inf
            if bool(wrong.any()):
                finding.first, finding.what = record.name, _describe(record, wrong)
            else:
                finding.last = record.name

    with watching_records(model, vocabulary, {}, see):
        yield finding
    if finding.first:
        finding.parameters = [
            name for name, parameter in model.named_parameters() if not bool(parameter.isfinite().all())
        ]


def _describe(record: Record, wrong: Tensor) -> str:
    """Return text with the first wrong number, where it is, and how many there are."""
    index = tuple(wrong.nonzero()[0].tolist())
    at = dict(zip(record.axes, index, strict=True))
    words = {axis: f" ({record.labels(axis, at.get('B', 0))[at[axis]]})" for axis in at if axis in "LM"}
    place = ", ".join(f"{axis} {number}{words.get(axis, '')}" for axis, number in at.items())
    many = f"{int(wrong.sum()):,} of its {wrong.numel():,} values are not finite"
    return f"{float(record.tensor[index].detach())} at {place}; {many}"
