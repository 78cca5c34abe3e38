"""Trace one forward pass: record its tensors by name, and apply edits to them."""

import dataclasses
import fnmatch
import functools
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from typing import Any, Protocol

from torch import Tensor, nn

from pellucid.errors import UsageError
from pellucid.seeing.records import AXES, Record, Records, check_found, stack_of
from pellucid.seeing.viewed import Viewed
from pellucid.seeing.watching import watches, watching

RECORDED_AT_MOST = 4 * 2**30  # bytes, unless the caller chooses another limit
LABELS = {"encoder": "source_tokens", "decoder": "target_tokens"}  # how a vocabulary labels what each reads

Edit = Callable[[Tensor], Tensor]


class Labeller(Protocol):
    """The interface of an object that turns ids into tokens, such as a Vocabulary."""

    def source_tokens(self, ids: list[int]) -> list[str]: ...
    def target_tokens(self, ids: list[int]) -> list[str]: ...


class Trace(Records, Viewed):
    """The tensors of one forward pass: a mapping from names to records, in the order of computation."""

    def __init__(self, only: Sequence[str], gradients: bool, most_bytes: float) -> None:
        super().__init__()
        self._only, self._gradients = only, gradients
        self._bytes_left, self._most_bytes = most_bytes, most_bytes
        self._shown = set[str]()
        self._sizes: dict[tuple[str, str], int] = {}

    def see(self, record: Record) -> None:
        """Record a tensor; raise an error if its name was seen before, or its axes do not fit its shape."""
        name, tensor = record.name, record.tensor
        if name in self._shown:
            raise UsageError(
                f"{name} was shown a second time: a trace holds one forward pass. Open a new trace for each "
                "pass."
            )
        self._shown.add(name)
        self._check_axes(record)
        if any(fnmatch.fnmatchcase(name, glob) for glob in self._only):
            self._make_room(name, tensor)
            kept = tensor if self._gradients else tensor.detach().cpu().clone()
            self[name] = dataclasses.replace(record, tensor=kept)

    def _check_axes(self, record: Record) -> None:
        name, axes, tensor = record.name, record.axes, record.tensor
        if tensor.dim() != len(axes):
            raise UsageError(
                f"{name} has {tensor.dim()} axes, {tuple(tensor.shape)}, but its name has {len(axes)} "
                f"letters for them: {axes}."
            )
        part = name.rpartition(".")[0]
        for axis, size in zip(axes, tensor.shape, strict=True):
            before = self._sizes.setdefault((part, axis), size)
            if before != size:
                raise UsageError(
                    f"{name}: axis {axis} ({AXES[axis]}) has {size} entries, but {before} in earlier "
                    f"tensors of {part} in this pass. Give both the same size, or another letter."
                )

    def _make_room(self, name: str, tensor: Tensor) -> None:
        self._bytes_left -= tensor.numel() * tensor.element_size()
        if self._bytes_left < 0:
            raise UsageError(
                f"the trace would hold more than most_bytes = {self._most_bytes:,} with {name}. Record fewer "
                "tensors (only=), a shorter sentence or a smaller batch, or set most_bytes."
            )


@contextmanager
def watching_records(
    model: nn.Module, vocabulary: Labeller | None, edits: Mapping[str, Edit], see: Callable[[Record], None]
) -> Iterator[Collection[str]]:
    """Call `see` with a record of each tensor until the block ends, after applying the edits of its name.

    Yield the names of all tensors. Raise an error if no pass ran inside the block.
    """
    tokens: dict[str, list[list[str]]] = {}  # that the "encoder" and the "decoder" are reading
    names: dict[str, None] = {}  # in the order of computation

    def read(stack: str, module: nn.Module, arguments: tuple[Any, ...]) -> None:
        if not watches(watch):
            return  # another thread is running the same model
        rows = arguments[0].tolist()
        if vocabulary is None:
            tokens[stack] = [[str(token) for token in row] for row in rows]
        else:
            tokens[stack] = list(map(getattr(vocabulary, LABELS[stack]), rows))

    def watch(name: str, axes: str, tensor: Tensor) -> Tensor:
        names[name] = None
        tensor = _edit(name, tensor, edits)
        stacks = {axis: stack_of(name, axis) for axis in axes if axis in "LM"}
        own = {axis: tokens[stack] for axis, stack in stacks.items() if stack in tokens}
        see(Record(name, axes, tensor, own))
        return tensor

    with watching(watch, model), ExitStack() as hooks:
        for stack in LABELS:
            if hasattr(model, stack):
                hook = getattr(model, stack).register_forward_pre_hook(functools.partial(read, stack))
                hooks.callback(hook.remove)
        yield names
    if not names:
        raise UsageError(
            "no pass of this model ran inside the `with` block. To change what a translator translates, edit "
            "its translator.serving."
        )
    check_found("edits", edits, names)


def _edit(name: str, tensor: Tensor, edits: Mapping[str, Edit]) -> Tensor:
    """Return the tensor after all edits whose name or glob matches its name. Raise an error if an edit
    changes the shape; the data type is kept."""
    for pattern, edit in edits.items():
        if fnmatch.fnmatchcase(name, pattern):
            changed = edit(tensor.clone())  # an edit may write into it, and the original may be shared
            if not isinstance(changed, Tensor) or changed.shape != tensor.shape:
                got = tuple(changed.shape) if isinstance(changed, Tensor) else type(changed).__name__
                raise UsageError(
                    f"the edit of {name} returned {got}; it must return a tensor of shape "
                    f"{tuple(tensor.shape)}."
                )
            tensor = changed.to(tensor.dtype)
    return tensor


@contextmanager
def trace(
    model: nn.Module,
    only: str | Sequence[str] = "*",
    edits: Mapping[str, Edit] | None = None,
    gradients: bool = False,
    vocabulary: Labeller | None = None,
    most_bytes: float = RECORDED_AT_MOST,
) -> Iterator[Trace]:
    """Record the forward pass of this model that runs inside the `with` block.

    only: the tensors to record, a glob of names or several. edits: {name or glob: function from tensor to
    tensor}, applied in this pass. gradients: keep the autograd graph. vocabulary: gives the labels of the
    tokens. most_bytes: raise an error for a larger trace, before it fills the memory.
    """
    if not only:
        raise UsageError(
            f'only = {only!r} names no tensor. Give a glob such as "decoder.*.weights", or several.'
        )
    wanted = (only,) if isinstance(only, str) else only
    seen = Trace(wanted, gradients, most_bytes)
    with watching_records(model, vocabulary, edits or {}, seen.see) as shown:
        yield seen
    check_found("only", wanted, shown)


@contextmanager
def editing(model: nn.Module, edits: Mapping[str, Edit]) -> Iterator[None]:
    """Apply edits in every pass of the model inside the `with`, in this thread: translating by beam search,
    scoring, evaluating, a loss. Nothing is recorded.

    When a model decodes with a cache, a pass is one new row (L = 1; in cross-attention a row for each
    hypothesis of the beam). There, `edits.patch` of a whole recorded tensor fits only the encoder's tensors,
    and lifting the causal mask changes nothing, because there is no later word yet.
    """
    with watching_records(model, None, edits, lambda record: None):
        yield
