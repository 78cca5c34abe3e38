"""Watching: each module of the model shows the tensors that it computes by name, and a watcher may read or
replace them."""

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from torch import Tensor, nn

from pellucid.errors import UsageError

# full name, axes, tensor -> the tensor that the model goes on with
Watcher = Callable[[str, str, Tensor], Tensor]


class _Watching(threading.local):
    def __init__(self) -> None:
        # Instance attributes: torch.compile guards them, and would miss a class attribute.
        self.watcher: Watcher | None = None
        self.parts: frozenset[int] | None = None  # the ids of the parts that it watches; None: all


_watching = _Watching()


def is_watched() -> bool:
    """Tell whether a watcher is active in this thread. If so, `attend` and the norm compute their equations
    step by step, without fused kernels."""
    return _watching.watcher is not None


def watches(watcher: Watcher) -> bool:
    """Tell whether this watcher is the one that is active in the current thread."""
    return _watching.watcher == watcher


def carried(work: Callable[[], None]) -> Callable[[], None]:
    """Return a function that does this work in another thread, watched as the current thread is now."""
    watcher, parts = _watching.watcher, _watching.parts

    def do() -> None:
        _watching.watcher, _watching.parts = watcher, parts
        work()

    return do


@contextmanager
def watching(watcher: Watcher, model: nn.Module | None = None) -> Iterator[None]:
    """Until the block ends, pass every tensor that the modules of this model compute in this thread to
    `watcher`, which may read or replace it. model = None means any model."""
    parts = None if model is None else _parts_of(model)
    if is_watched():
        raise UsageError(
            "a trace (or another watch) is already open, and a thread can have only one at a time. End the "
            "first `with` block before the second begins."
        )
    _watching.watcher, _watching.parts = watcher, parts
    try:
        yield
    finally:
        _watching.watcher = None


class Part(nn.Module):
    """A module that knows its path in the model and can show its tensors."""

    path = ""

    def see(self, name_axes: str, tensor: Tensor) -> Tensor:
        """Show a tensor to the watcher, with its name and axes ("scores_BHLM"). Return the tensor to go on
        with, which the watcher may have replaced."""
        watcher = _watching.watcher
        if watcher is None or not (_watching.parts is None or id(self) in _watching.parts):
            return tensor
        name, _, axes = name_axes.rpartition("_")
        return watcher(f"{self.path}.{name}" if self.path else name, axes, tensor)


def name_parts(model: nn.Module) -> None:
    """Tell every Part of a model its path, such as decoder.layers.0.cross_attention."""
    for path, module in model.named_modules():
        if isinstance(module, Part):
            module.path = path


def _parts_of(model: nn.Module) -> frozenset[int]:
    """Return the ids of all Parts in a model; raise an error if there are none."""
    modules = model.modules() if isinstance(model, nn.Module) else ()
    parts = frozenset(id(module) for module in modules if isinstance(module, Part))
    if not parts:
        raise UsageError(
            f"model is a {type(model).__name__}, which has no module that shows tensors. Give a Transformer, "
            "such as translator.model."
        )
    return parts
