"""Seeing: a part of the model names a tensor as it computes it, and who watches may record or replace it."""

import difflib
import fnmatch
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, Protocol

from torch import Tensor, nn

from pellucid.errors import UsageError

AXES = {
    "B": "sentence",
    "L": "position that asks (query)",
    "M": "position that is attended to (key)",
    "H": "head",
    "D": "model width",
    "K": "dimension of a head's queries and keys",
    "U": "dimension of a head's values",
    "F": "feed-forward",
    "V": "vocabulary",
}

RECORDED_AT_MOST = 4 * 2**30  # bytes, unless the caller says otherwise: looking must not take all memory

# path, name, axes, tensor -> the tensor that is used from here on
Watcher = Callable[[str, str, str, Tensor], Tensor]
Edit = Callable[[Tensor], Tensor]


class _Watching(threading.local):
    def __init__(self) -> None:
        # An instance attribute: torch.compile guards it, a class attribute it would miss.
        self.watcher: Watcher | None = None


_watching = _Watching()


def watched() -> bool:
    """Whether somebody watches this thread: then `attend` and the norm compute their equations openly."""
    return _watching.watcher is not None


@contextmanager
def watching(watcher: Watcher) -> Iterator[None]:
    """Let `watcher` see, and possibly replace, every tensor that a Part shows in this thread."""
    if watched():
        raise UsageError(
            "somebody is watching already: one trace at a time in a thread. Leave the first `with` before "
            "the second."
        )
    _watching.watcher = watcher
    try:
        yield
    finally:
        _watching.watcher = None


class Part(nn.Module):
    """A module that knows its path in the model and can show a tensor."""

    path = ""

    def see(self, name_axes: str, tensor: Tensor) -> Tensor:
        """Show `tensor` under a name that ends in its axes ("scores_BHLM"); returns what is to be used from
        here on."""
        watcher = _watching.watcher
        if watcher is None:
            return tensor
        name, _, axes = name_axes.rpartition("_")
        return watcher(self.path, name, axes, tensor)


def name_parts(model: nn.Module) -> None:
    """Tell every Part of a model where it is: `decoder.layers.0.cross_attention`."""
    for path, module in model.named_modules():
        if isinstance(module, Part):
            module.path = path


class Labeller(Protocol):
    """What turns ids into tokens: a Vocabulary."""

    def source_tokens(self, ids: list[int]) -> list[str]: ...
    def target_tokens(self, ids: list[int]) -> list[str]: ...


@dataclass(frozen=True)
class Record:
    """One tensor of the pass: its name, its axes ("BHLM"), its values and the tokens along L and M."""

    name: str
    axes: str
    tensor: Tensor
    tokens: Mapping[str, list[list[str]]] = field(default_factory=dict, repr=False)

    def labels(self, axis: str, sentence: int = 0) -> list[str]:
        """The words along an axis: tokens for L and M, numbers for the others."""
        if axis not in self.axes:
            raise UsageError(f'{self.name} has no axis "{axis}". Its axes are {self.axes}: {self.legend()}.')
        size = self.tensor.shape[self.axes.index(axis)]
        rows = self.tokens.get(axis, [])
        if sentence < len(rows) and len(rows[sentence]) == size:
            return rows[sentence]
        return [str(index) for index in range(size)]

    def _repr_html_(self) -> str:
        from pellucid.explain.notebook import record_html  # here, because explaining stands above seeing

        return record_html(self)

    def legend(self) -> str:
        """The meaning of each axis letter."""
        return ", ".join(f"{axis} {AXES[axis]}" for axis in self.axes)


class UnknownTensor(UsageError, KeyError):
    """A trace was asked for a tensor that is not in it."""

    # KeyError's own would put the message in quotation marks.
    __str__ = Exception.__str__


class Trace(Mapping[str, Record]):
    """What was seen in one forward pass: a mapping from names to records, in the order of computation."""

    def __init__(
        self, only: str, edits: Mapping[str, Edit], gradients: bool, labels: "Labels", most_bytes: int
    ) -> None:
        self._records: dict[str, Record] = {}
        self._only, self._edits, self._gradients = only, edits, gradients
        self._labels, self._bytes_left, self._most_bytes = labels, most_bytes, most_bytes
        self._used: set[str] = set()
        self._shown: set[str] = set()
        self._sizes: dict[tuple[str, str], int] = {}

    def __getitem__(self, name: str) -> Record:
        if name not in self._records:
            raise UnknownTensor(no_such_name(name, self._records))
        return self._records[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._records)

    def __len__(self) -> int:
        return len(self._records)

    def _repr_html_(self) -> str:
        from pellucid.explain.notebook import trace_html  # here, because explaining stands above seeing

        return trace_html(self)

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
                tensor = _edited(full, tensor, edit)
        if fnmatch.fnmatchcase(full, self._only):
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
        if not self._records:
            raise UsageError(f"only: {no_such_name(self._only, self._shown)}")

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


def stack_of(name: str, axis: str) -> str:
    """Whose tokens a tensor has along L or M: those of the "encoder", the source, or of the "decoder"."""
    reads_source = name.startswith("encoder.") or (axis == "M" and ".cross_attention." in name)
    return "encoder" if reads_source else "decoder"


class Labels:
    """The tokens that went into each stack in this pass, to label axes with."""

    def __init__(self, vocabulary: Labeller | None) -> None:
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
    """As `watching`, and `labels` learns which tokens each stack of the model reads."""

    def note(stack: str) -> Any:
        def hook(module: nn.Module, arguments: tuple[Any, ...]) -> None:
            if _watching.watcher == watcher:  # another thread may be running the same model
                labels.note(stack, arguments[0])

        return hook

    hooks = [
        getattr(model, stack).register_forward_pre_hook(note(stack))
        for stack in ("encoder", "decoder")
        if hasattr(model, stack)
    ]
    try:
        with watching(watcher):
            yield
    finally:
        for hook in hooks:
            hook.remove()


@contextmanager
def trace(
    model: nn.Module,
    only: str = "*",
    edits: Mapping[str, Edit] | None = None,
    gradients: bool = False,
    vocabulary: Labeller | None = None,
    most_bytes: int = RECORDED_AT_MOST,
) -> Iterator[Trace]:
    """Record every tensor of one forward pass whose name matches `only`, with `edits` ({name or glob: tensor
    -> tensor}) in effect; what would be more than `most_bytes` is an error before it fills the memory."""
    labels = Labels(vocabulary)
    seen = Trace(only, {} if edits is None else _checked(edits), gradients, labels, most_bytes)
    with watching_tokens(model, seen.watch, labels):
        yield seen
    seen.close()


def _checked(edits: Any) -> Mapping[str, Edit]:
    good = isinstance(edits, Mapping) and all(isinstance(name, str) for name in edits)
    if good and all(callable(edit) for edit in edits.values()):
        return edits
    raise UsageError(
        f"edits = {edits!r:.60} does not map names of tensors to functions. Give such as "
        '{"decoder.logits": lambda logits: logits * 2}; pellucid.edits.rewrite puts in numbers.'
    )


def _edited(name: str, tensor: Tensor, edit: Edit) -> Tensor:
    changed = edit(tensor.clone())  # in place if it likes: what we have may be a view of something shared
    if not isinstance(changed, Tensor) or changed.shape != tensor.shape:
        shape = tuple(changed.shape) if isinstance(changed, Tensor) else type(changed).__name__
        raise UsageError(
            f"the edit of {name} returned {shape}; it must return a tensor of shape {tuple(tensor.shape)}."
        )
    return changed.to(tensor.dtype)


def no_such_name(name: str, known: Any) -> str:
    """No tensor "x". Nearest: a, b, c."""
    last = str(name).rpartition(".")[2]
    near = difflib.get_close_matches(str(name), list(known), n=3, cutoff=0.5)
    near += [full for full in known if full.rpartition(".")[2] == last][: 3 - len(near)]
    hint = f" Nearest: {', '.join(dict.fromkeys(near))}." if near else ""
    return f'no tensor is called "{name}".{hint}'
