"""Editing without recording: every pass of a model, a whole translation, with edits in effect."""

import fnmatch
from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from torch import Tensor, nn

from pellucid.errors import UsageError
from pellucid.seeing.records import no_such_name
from pellucid.seeing.trace import Edit, checked_edits, edited
from pellucid.seeing.watching import parts_of, watching


@contextmanager
def editing(model: nn.Module, edits: Mapping[str, Edit]) -> Iterator[None]:
    """Inside the `with`, in this thread, all that the model does happens with these edits, whatever calls it:
    translating by beam search, scoring, evaluating, a loss. Nothing is recorded.

    In decoding with a cache a pass is one new row (L = 1; in cross-attention a row for each hypothesis of the
    beam): `edits.patch` of a whole recorded tensor fits the encoder's tensors there and not the decoder's,
    and to lift the causal mask changes nothing, for no later word is there yet.
    """
    wanted, shown, used = checked_edits(edits), dict[str, None](), set[str]()

    def watch(path: str, name: str, axes: str, tensor: Tensor) -> Tensor:
        full = f"{path}.{name}" if path else name
        shown[full] = None
        for pattern, edit in wanted.items():
            if fnmatch.fnmatchcase(full, pattern):
                used.add(pattern)
                tensor = edited(full, tensor, edit)
        return tensor

    with watching(watch, parts_of(model)):
        yield
    if not shown:
        raise UsageError("no pass of this model ran inside the `with`. Of a translator, edit its .serving.")
    for pattern in wanted:
        if pattern not in used:
            raise UsageError(f"edits: {no_such_name(pattern, list(shown))}")
