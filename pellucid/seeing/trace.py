"""Seeing: what a pass computes, recorded by name, with edits in effect."""

import fnmatch
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, Protocol

from torch import Tensor, nn

from pellucid.config.whole import is_whole
from pellucid.errors import UsageError
from pellucid.seeing.records import AXES, Record, Records, globs, no_such_name, stack_of
from pellucid.seeing.viewed import InNotebook
from pellucid.seeing.watching import Watcher, parts_of, watches, watching

RECORDED_AT_MOST = 4 * 2**30  # bytes, unless the caller says otherwise: looking must not take all memory

Edit = Callable[[Tensor], Tensor]


class Labeller(Protocol):
    """What turns ids into tokens: a Vocabulary."""

    def source_tokens(self, ids: list[int]) -> list[str]: ...
    def target_tokens(self, ids: list[int]) -> list[str]: ...


class Trace(Records, InNotebook):
    """What was seen in one forward pass: a mapping from names to records, in the order of computation."""

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
        self._used: set[str] = set()
        self._shown: set[str] = set()
        self._sizes: dict[tuple[str, str], int] = {}

    def __repr__(self) -> str:
        between = f", {next(iter(self))} … {next(reversed(self._records))}" if self else ""
        return f"<Trace of {len(self)} tensors{between}>"

    def watch(self, path: str, name: str, axes: str, tensor: Tensor) -> Tensor:
        """The watcher: checks the axes, applies the edits, records."""
        full = f"{path}.{name}" if path else name
        if full in self._shown:
            raise UsageError(
                f"{full} was shown a second time: a trace holds one forward pass. Open a new trace for each "
                "pass."
            )
        self._shown.add(full)
        self._check_axes(full, axes, tensor)
        for pattern, edit in self._edits.items():
            if fnmatch.fnmatchcase(full, pattern):
                self._used.add(pattern)
                tensor = edited(full, tensor, edit)
        if any(fnmatch.fnmatchcase(full, glob) for glob in self._only):
            self._make_room(full, tensor)
            kept = tensor if self._gradients else tensor.detach().cpu().clone()
            self._records[full] = Record(full, axes, kept, self._labels.of(full, axes))
        return tensor

    def close(self) -> None:
        """Complain of what was asked for and never came."""
        if not self._shown:
            raise UsageError("the trace saw nothing: no forward pass of this model ran inside the `with`.")
        for pattern in self._edits:
            if pattern not in self._used:
                raise UsageError(f"edits: {no_such_name(pattern, self._shown)}")
        for glob in self._only:
            if not fnmatch.filter(self._records, glob):
                raise UsageError(f"only: {no_such_name(glob, self._shown)}")

    def _check_axes(self, name: str, axes: str, tensor: Tensor) -> None:
        if tensor.dim() != len(axes):
            raise UsageError(
                f"{name} has {tensor.dim()} axes, {tuple(tensor.shape)}, but is named with {len(axes)}: "
                f"{axes}."
            )
        part = name.rpartition(".")[0]
        for axis, size in zip(axes, tensor.shape, strict=True):
            known = self._sizes.setdefault((part, axis), size)
            if known != size:
                raise UsageError(
                    f"{name}: axis {axis} ({AXES[axis]}) has {size} entries here and {known} in the tensors "
                    "before it."
                )

    def _make_room(self, name: str, tensor: Tensor) -> None:
        self._bytes_left -= tensor.numel() * tensor.element_size()
        if self._bytes_left < 0:
            raise UsageError(
                f"the trace would hold more than most_bytes = {self._most_bytes:,} with {name}. Record fewer "
                "tensors (only=), a shorter sentence or a smaller batch, or set most_bytes; "
                "pellucid.trace_bytes says how many are needed."
            )


class Labels:
    """The tokens that went into each stack in this pass, to label axes with."""

    def __init__(self, vocabulary: Labeller | None) -> None:
        if isinstance(vocabulary, type) or not (vocabulary is None or hasattr(vocabulary, "source_tokens")):
            raise UsageError(
                f"vocabulary is a {type(vocabulary).__name__}, which cannot label tokens. Give a Vocabulary: "
                "of a translator, its .vocabulary."
            )
        self._vocabulary = vocabulary
        self._ids: dict[str, Tensor] = {}

    def note(self, stack: str, ids: Tensor) -> None:
        """Remember what "encoder" or "decoder" is reading."""
        self._ids[stack] = ids

    def of(self, name: str, axes: str) -> dict[str, list[list[str]]]:
        """The tokens along L and M of a tensor, for each sentence."""
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
    """As `watching` of this model, and `labels` learns which tokens each of its stacks reads."""

    def note(stack: str) -> Any:
        def hook(module: nn.Module, arguments: tuple[Any, ...]) -> None:
            if watches(watcher):  # another thread may be running the same model
                labels.note(stack, arguments[0])

        return hook

    with watching(watcher, parts_of(model)):
        hooks = [
            getattr(model, stack).register_forward_pre_hook(note(stack))
            for stack in ("encoder", "decoder")
            if hasattr(model, stack)
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
    """Record every tensor of one forward pass of this model whose name matches `only` (a glob, or several),
    with `edits` ({name or glob: tensor -> tensor}) in effect; what would be more than `most_bytes` is an
    error before it fills the memory."""
    if not is_whole(most_bytes, 1) and not (isinstance(most_bytes, float) and most_bytes >= 1):
        raise UsageError(f"most_bytes = {most_bytes!r:.60} must be a number of bytes, such as 2 * 10**9.")
    labels = Labels(vocabulary)
    seen = Trace(only, {} if edits is None else checked_edits(edits), gradients, labels, most_bytes)
    with watching_tokens(model, seen.watch, labels):
        yield seen
    seen.close()


def checked_edits(edits: Any) -> Mapping[str, Edit]:
    """The edits, if they map names or globs to functions."""
    good = isinstance(edits, Mapping) and all(isinstance(name, str) for name in edits)
    if good and all(callable(edit) for edit in edits.values()):
        return edits
    raise UsageError(
        f"edits = {edits!r:.60} does not map names of tensors to functions. Give such as "
        '{"decoder.logits": lambda logits: logits * 2}; pellucid.edits.rewrite puts in numbers.'
    )


def edited(name: str, tensor: Tensor, edit: Edit) -> Tensor:
    """The tensor after an edit, which must keep its shape; in the type that it had."""
    changed = edit(tensor.clone())  # in place if it likes: what we have may be a view of something shared
    if not isinstance(changed, Tensor) or changed.shape != tensor.shape:
        shape = tuple(changed.shape) if isinstance(changed, Tensor) else type(changed).__name__
        raise UsageError(
            f"the edit of {name} returned {shape}; it must return a tensor of shape {tuple(tensor.shape)}."
        )
    if changed.is_complex():
        raise UsageError(
            f"the edit of {name} returned complex numbers, whose imaginary part would be lost; it must "
            "return real ones."
        )
    return changed.to(tensor.dtype)
