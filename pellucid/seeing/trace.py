"""A trace: the tensors of one forward pass, recorded by name, with edits in effect."""

import fnmatch
import functools
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, Protocol

from torch import Tensor, nn

from pellucid.errors import UsageError
from pellucid.seeing.records import AXES, Record, Records, check_found, globs, is_wanted, stack_of
from pellucid.seeing.viewed import InNotebook
from pellucid.seeing.watching import Watcher, full_name, parts_of, watches, watching

RECORDED_AT_MOST = 4 * 2**30  # bytes, unless the caller chooses another limit

Edit = Callable[[Tensor], Tensor]


class Labeller(Protocol):
    """Anything that turns ids into tokens: a Vocabulary."""

    def source_tokens(self, ids: list[int]) -> list[str]: ...
    def target_tokens(self, ids: list[int]) -> list[str]: ...


def apply_edits(edits: Mapping[str, Edit], name: str, tensor: Tensor) -> Tensor:
    """Return the tensor after all edits of its name. Each must keep the shape; the type is kept."""
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


class Trace(Records, InNotebook):
    """The tensors of one forward pass: a mapping from names to records, in the order of computation."""

    def __init__(
        self,
        only: str | Sequence[str],
        edits: Mapping[str, Edit],
        gradients: bool,
        labels: "Labels",
        most_bytes: float,
    ) -> None:
        super().__init__()
        self._only, self._edits, self._gradients = globs(only), edits, gradients
        self._labels, self._bytes_left, self._most_bytes = labels, most_bytes, most_bytes
        self._shown: dict[str, None] = {}  # in the order of computation
        self._sizes: dict[tuple[str, str], int] = {}

    def watch(self, path: str, name: str, axes: str, tensor: Tensor) -> Tensor:
        """Check the axes of a tensor, edit it and record it."""
        full = full_name(path, name)
        if full in self._shown:
            raise UsageError(
                f"{full} was shown a second time: a trace holds one forward pass. Open a new trace for each "
                "pass."
            )
        self._shown[full] = None
        self._check_axes(full, axes, tensor)
        tensor = apply_edits(self._edits, full, tensor)
        if is_wanted(full, self._only):
            self._make_room(full, tensor)
            kept = tensor if self._gradients else tensor.detach().cpu().clone()
            self[full] = Record(full, axes, kept, self._labels.of(full, axes))
        return tensor

    def close(self) -> None:
        """Raise for names that the caller asked for and the pass did not show."""
        if not self._shown:
            raise UsageError("the trace saw nothing: no forward pass of this model ran inside the `with`.")
        check_found("edits", self._edits, self._shown)
        check_found("only", self._only, self._shown)

    def _check_axes(self, name: str, axes: str, tensor: Tensor) -> None:
        if tensor.dim() != len(axes):
            raise UsageError(
                f"{name} has {tensor.dim()} axes, {tuple(tensor.shape)}, but is named with {len(axes)}: "
                f"{axes}."
            )
        part = name.rpartition(".")[0]
        for axis, size in zip(axes, tensor.shape, strict=True):
            before = self._sizes.setdefault((part, axis), size)
            if before != size:
                raise UsageError(
                    f"{name}: axis {axis} ({AXES[axis]}) has {size} entries here and {before} in the tensors "
                    "before it."
                )

    def _make_room(self, name: str, tensor: Tensor) -> None:
        self._bytes_left -= tensor.numel() * tensor.element_size()
        if self._bytes_left < 0:
            raise UsageError(
                f"the trace would hold more than most_bytes = {self._most_bytes:,} with {name}. Record fewer "
                "tensors (only=), a shorter sentence or a smaller batch, or set most_bytes."
            )


class Labels:
    """The tokens that each stack reads in this pass, to label axes with."""

    def __init__(self, vocabulary: Labeller | None) -> None:
        self._vocabulary = vocabulary
        self._ids: dict[str, Tensor] = {}

    def note(self, stack: str, ids: Tensor) -> None:
        """Remember the ids that the "encoder" or the "decoder" is reading."""
        self._ids[stack] = ids

    def of(self, name: str, axes: str) -> dict[str, list[list[str]]]:
        """Return the tokens along L and M of a tensor, for each sentence."""
        stacks = {axis: stack_of(name, axis) for axis in axes if axis in "LM"}
        return {axis: self._words(stack) for axis, stack in stacks.items() if stack in self._ids}

    def _words(self, stack: str) -> list[list[str]]:
        rows = self._ids[stack].tolist()
        if self._vocabulary is None:
            return [[str(token) for token in row] for row in rows]
        words = self._vocabulary.source_tokens if stack == "encoder" else self._vocabulary.target_tokens
        return [words(row) for row in rows]


@contextmanager
def watching_tokens(model: nn.Module, watcher: Watcher, labels: Labels) -> Iterator[None]:
    """Watch this model, and tell `labels` which tokens each of its stacks reads."""

    def note(stack: str, module: nn.Module, arguments: tuple[Any, ...]) -> None:
        if watches(watcher):  # another thread may be running the same model
            labels.note(stack, arguments[0])

    stacks = [stack for stack in ("encoder", "decoder") if hasattr(model, stack)]
    with watching(watcher, parts_of(model)):
        hooks = [
            getattr(model, stack).register_forward_pre_hook(functools.partial(note, stack))
            for stack in stacks
        ]
        try:
            yield
        finally:
            for hook in hooks:
                hook.remove()


@contextmanager
def trace(
    model: nn.Module,
    only: str | Sequence[str] = "*",
    edits: Mapping[str, Edit] | None = None,
    gradients: bool = False,
    vocabulary: Labeller | None = None,
    most_bytes: float = RECORDED_AT_MOST,
) -> Iterator[Trace]:
    """Record one forward pass of this model inside the `with`.

    only: a glob of names, or several. edits: {name or glob: tensor -> tensor}, in effect in this pass.
    gradients: keep the graph. vocabulary: labels for the tokens. most_bytes: a larger trace is an error,
    before it fills the memory.
    """
    labels = Labels(vocabulary)
    seen = Trace(only, edits or {}, gradients, labels, most_bytes)
    with watching_tokens(model, seen.watch, labels):
        yield seen
    seen.close()


@contextmanager
def editing(model: nn.Module, edits: Mapping[str, Edit]) -> Iterator[None]:
    """Put edits into every pass of the model inside the `with`, in this thread: translating by beam search,
    scoring, evaluating, a loss. Nothing is recorded.

    In decoding with a cache a pass is one new row (L = 1; in cross-attention a row for each hypothesis of the
    beam). There `edits.patch` of a whole recorded tensor fits only the encoder's tensors, and lifting the
    causal mask changes nothing, because there is no later word yet.
    """
    shown = dict[str, None]()

    def watch(path: str, name: str, axes: str, tensor: Tensor) -> Tensor:
        full = full_name(path, name)
        shown[full] = None
        return apply_edits(edits, full, tensor)

    with watching(watch, parts_of(model)):
        yield
    if not shown:
        raise UsageError(
            "no pass of this model ran inside the `with`. A translator translates with translator.serving: "
            "to change translations, edit that model."
        )
    check_found("edits", edits, shown)
