"""Watching: a part of the model names a tensor as it computes it, and who watches may look or replace it."""

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from torch import Tensor, nn

from pellucid.errors import UsageError

# path, name, axes, tensor -> the tensor that is used from here on
Watcher = Callable[[str, str, str, Tensor], Tensor]


class _Watching(threading.local):
    def __init__(self) -> None:
        # Instance attributes: torch.compile guards them, a class attribute it would miss.
        self.watcher: Watcher | None = None
        self.parts: frozenset[int] | None = None  # the id of each whose tensors it sees; None: everybody's


_watching = _Watching()


def watched() -> bool:
    """Whether somebody watches this thread: then `attend` and the norm compute their equations openly."""
    return _watching.watcher is not None


def watches(watcher: Watcher) -> bool:
    """Whether it is this one who watches this thread."""
    return _watching.watcher == watcher


@contextmanager
def watching(watcher: Watcher, parts: frozenset[nn.Module] | None = None) -> Iterator[None]:
    """Let `watcher` see, and possibly replace, every tensor that a Part shows in this thread, or that one of
    these `parts` shows."""
    if watched():
        raise UsageError(
            "somebody is watching already: one trace at a time in a thread. Leave the first `with` before "
            "the second."
        )
    _watching.watcher, _watching.parts = watcher, None if parts is None else frozenset(map(id, parts))
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
        if watcher is None or not (_watching.parts is None or id(self) in _watching.parts):
            return tensor
        name, _, axes = name_axes.rpartition("_")
        return watcher(self.path, name, axes, tensor)


def name_parts(model: nn.Module) -> None:
    """Tell every Part of a model where it is: `decoder.layers.0.cross_attention`."""
    for path, module in model.named_modules():
        if isinstance(module, Part):
            module.path = path


def parts_of(model: nn.Module) -> frozenset[nn.Module]:
    """The parts of a model, of which there must be some: it is they who show tensors."""
    modules = model.modules() if isinstance(model, nn.Module) else ()
    parts = frozenset(module for module in modules if isinstance(module, Part))
    if not parts:
        raise UsageError(
            f"model is a {type(model).__name__}, which has no part that shows a tensor. Give a Transformer: "
            "of a translator, its .model."
        )
    return parts
