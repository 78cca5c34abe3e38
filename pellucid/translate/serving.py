"""What decodes a translator's sentences: engines for a processor or a GPU, or the models as they are."""

import copy
import threading
from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import Any

import numpy as np
import torch
from torch import nn

from pellucid.config.device import device_of
from pellucid.engine.decoding import Engine, memory_of
from pellucid.engine.library import has_kernels
from pellucid.engine.room import Room
from pellucid.errors import Setting, UsageError
from pellucid.model import Transformer
from pellucid.seeing.watching import watched
from pellucid.translate.captured import CapturedEngine
from pellucid.translate.decoding import Decoder
from pellucid.translate.request import Call

PRECISIONS = ("auto", "fp32", "bf16", "fp16", "int8")
ROUNDED = {"bf16": torch.bfloat16, "fp16": torch.float16}
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
        if precision == "fp16" and not self._are_on("cuda"):
            raise UsageError(
                'precision = "fp16" computes on a GPU. Set device = "cuda" or another precision.'
            )
        self._precision = "fp32" if precision == "auto" else precision
        self._engines: tuple[Engine | CapturedEngine, ...] = ()
        self._state: list[object] = []
        self._lock = threading.Lock()
        if precision == "int8":
            self._made()

    def __reduce__(self) -> tuple[Any, ...]:
        """Copy and pickle the models; engines are made anew."""
        return Serving, (self._models, self._precision)

    @cached_property
    def models(self) -> Sequence[Transformer]:
        """The models themselves, in the precision: in bf16 and fp16 they are copies."""
        dtype = ROUNDED.get(self._precision)
        return [rounded(each, dtype) for each in self._models] if dtype else self._models

    def decoders(self, call: Call) -> Sequence[Decoder]:
        """Return what decodes in a call: engines with the present weights, or the models where a trace, an
        edit or a hook is to see their tensors, or where the engine cannot decode or takes too much memory."""
        if self._precision != "int8" and not self._is_for_engine(call):
            return self.models
        return self._made()

    def _are_on(self, device: str) -> bool:
        return all(device_of(each).type == device for each in self._models)

    def _is_for_engine(self, call: Call) -> bool:
        on_gpu = self._are_on("cuda")
        if not (on_gpu or (self._are_on("cpu") and has_kernels())):
            return False
        if watched() or any(map(has_hooks, self._models)):
            return False
        longest = max(map(len, call.sources), default=1)
        limit = max((each.max_length for each in call.requests), default=1)
        room, needed = Room(np.array([longest]), np.array([limit]), call.options.width), 0
        for model in self._models:
            if on_gpu:
                needed += CapturedEngine(model).room_bytes(room)
            else:
                weights, decoding = memory_of(model, self._precision, room)
                needed += SHARE * weights + decoding
        return needed <= call.options.memory << 20

    def _made(self) -> Sequence[Decoder]:
        """Return the engines; make them anew if weights have changed."""
        state = [about for each in self._models for about in state_of(each)]
        with self._lock:
            if state != self._state:
                self._engines = ()  # their memory is free before the new ones take theirs
                self.__dict__.pop("models", None)
                if self._are_on("cuda") and self._precision != "int8":
                    self._engines = tuple(map(CapturedEngine, self.models))
                else:
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


def rounded(model: Transformer, dtype: torch.dtype) -> Transformer:
    """Return the model, or a copy of it in a shorter type."""
    return model if next(model.parameters()).dtype == dtype else copy.deepcopy(model).to(dtype)
