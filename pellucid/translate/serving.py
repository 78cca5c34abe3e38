"""What decodes a translator's sentences: engines, made of the models' weights, or the models in PyTorch."""

import copy
import threading
from collections.abc import Iterator, Sequence
from functools import cached_property

import numpy as np
import torch
from torch import nn

from pellucid.config.device import device_of
from pellucid.engine.decoding import Engine
from pellucid.engine.library import has_kernels
from pellucid.engine.room import Room
from pellucid.errors import Setting, UsageError
from pellucid.model import Transformer
from pellucid.seeing.watching import watched
from pellucid.translate.request import Call

PRECISIONS = ("auto", "fp32", "bf16", "int8")
SHARE = 2  # an engine's weights, a second copy, may take one part in so many of the memory of a call


class Serving:
    """Models that translate together, in one precision."""

    def __init__(self, models: Sequence[Transformer], precision: str) -> None:
        if precision not in PRECISIONS:
            raise UsageError(
                f"{{}} is not one of {', '.join(PRECISIONS)}. Choose one of these.",
                Setting("precision", precision),
            )
        self._models = models
        self._precision = "fp32" if precision == "auto" else precision
        self._engines: tuple[Engine, ...] = ()
        self._state: list[object] = []
        self._lock = threading.Lock()
        if precision == "int8":
            self._made()

    @cached_property
    def models(self) -> Sequence[Transformer]:
        """The models that decode in PyTorch: in bf16 they are copies."""
        return [in_bfloat16(each) for each in self._models] if self._precision == "bf16" else self._models

    def decoders(self, call: Call) -> Sequence[Transformer | Engine]:
        """Return what decodes in a call: engines with the present weights, or the models where a trace, an
        edit or a hook is to see their tensors, or where the engine cannot decode or takes too much memory."""
        if self._precision != "int8" and not self._is_for_engine(call):
            return self.models
        return self._made()

    def _is_for_engine(self, call: Call) -> bool:
        if watched() or any(device_of(each).type != "cpu" for each in self._models) or not has_kernels():
            return False
        longest = max(map(len, call.sources), default=1)
        limit = max((each.max_length for each in call.requests), default=1)
        room = Room(np.array([longest]), np.array([limit]), call.options.width)
        needed = sum(
            Engine.weight_bytes(each, self._precision) * SHARE
            + Engine.room_bytes(each.config, self._precision, room)
            for each in self._models
        )
        return needed <= call.options.memory << 20 and not any(map(has_hooks, self._models))

    def _made(self) -> Sequence[Engine]:
        """Return the engines; make them anew if weights have changed."""
        state = [about for each in self._models for about in state_of(each)]
        with self._lock:
            if state != self._state:
                self._engines = ()  # their memory is free before the new ones take theirs
                self._engines = tuple(Engine(each, self._precision) for each in self._models)
                self._state = state
            return self._engines


def state_of(model: Transformer) -> Iterator[object]:
    """Where each parameter lies, and how often it was changed in place (changes by `.data` do not count)."""
    for module in walk(model):
        for each in module._parameters.values():
            if each is not None:
                yield each.data_ptr(), 0 if each.is_inference() else each._version


def has_hooks(model: Transformer) -> bool:
    """Tell whether anybody asked PyTorch to be called when a part of the model computes."""
    return any(module._forward_hooks or module._forward_pre_hooks for module in walk(model))


def walk(model: nn.Module) -> Iterator[nn.Module]:
    """Yield the model and all modules in it; `modules()` does it in three times the time."""
    modules = [model]
    while modules:
        module = modules.pop()
        yield module
        modules += [each for each in module._modules.values() if each is not None]


def in_bfloat16(model: Transformer) -> Transformer:
    """Return the model, or a copy of it in bf16."""
    same = next(model.parameters()).dtype == torch.bfloat16
    return model if same else copy.deepcopy(model).bfloat16()
