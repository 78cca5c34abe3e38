"""Choose what decodes sentences: engines for the CPU or a GPU, or the models in PyTorch."""

import copy
import threading
from collections.abc import Sequence
from typing import Any

import torch

from pellucid.decoding.captured import CapturedEngine
from pellucid.decoding.decoder import Decoder
from pellucid.decoding.engine import Engine, memory_of
from pellucid.decoding.ensemble import Ensemble
from pellucid.decoding.library import has_kernels
from pellucid.decoding.model_state import has_hooks, is_as_configured, modules_of, state_of
from pellucid.decoding.pytorch import TransformerDecoder
from pellucid.decoding.room import Room
from pellucid.errors import Setting, UsageError
from pellucid.folder.load import device_of
from pellucid.model import Transformer
from pellucid.search.request import Request
from pellucid.seeing.watching import is_watched

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
                '{} works on a GPU only. Choose device "cuda", or another precision.',
                Setting("precision", precision),
            )
        self._precision = "fp32" if precision == "auto" else precision
        self._made_of: list[object] = []  # the state that copies and engines were made of
        self._kept: list[object] = []  # the memory of those weights, so that no others come to lie there
        self._as_configured = True
        self._copies: Sequence[Transformer] = ()
        self._decoder: Decoder | None = None  # engines, of which none may be made yet
        self._lock = threading.RLock()
        if precision == "int8":
            self._forget_old_weights()
            self._ready_engines()

    def __reduce__(self) -> tuple[Any, ...]:
        """Copy and pickle only the models and the precision; a copy makes engines of its own."""
        return Serving, (self._models, self._precision)

    @property
    def models(self) -> Sequence[Transformer]:
        """Return the models; with precision bf16 or fp16, copies with the present weights in that type."""
        with self._lock:
            self._forget_old_weights()
            return self._rounded_models()

    def decoder(self, requests: Sequence[Request]) -> Decoder:
        """Return what decodes these sentences: usually engines with the present weights.

        Except with int8, the models themselves decode if a trace, an edit or a hook needs their tensors, if
        no engine can compute them, or if an engine would need too much memory.
        """
        if self._precision == "int8" and is_watched():
            raise UsageError(
                "{} decodes by an engine, in which nothing is seen or edited. Use {}.",
                Setting("precision", "int8"),
                Setting("precision", "fp32"),
            )
        with self._lock:
            self._forget_old_weights()
            if self._precision == "int8" or self._is_for_engine(requests):
                return self._ready_engines()
            return _together([TransformerDecoder(each) for each in self._rounded_models()])

    def _are_on(self, device: str) -> bool:
        return all(device_of(each).type == device for each in self._models)

    def _is_for_engine(self, requests: Sequence[Request]) -> bool:
        on_gpu = self._are_on("cuda")
        on_processor = self._are_on("cpu") and self._precision != "fp16" and has_kernels()
        if not self._as_configured or not (on_gpu or on_processor):
            return False
        if is_watched() or any(map(has_hooks, (*self._models, *self._copies))):
            return False
        room = Room.of(requests, 1)
        if on_gpu:
            needed = sum(CapturedEngine(each).room_bytes(room) for each in self._rounded_models())
        else:
            taken = [memory_of(each, self._precision, room) for each in self._models]
            needed = sum(SHARE * weights + decoding for weights, decoding in taken)
        return needed <= min(each.options.memory for each in requests) << 20

    def _ready_engines(self) -> Decoder:
        """Return engines with the present weights; make them if there are none yet. With int8, raise an error
        if the model no longer matches its configuration."""
        if self._precision == "int8" and not self._as_configured:
            raise UsageError(
                'precision = "int8" needs the Transformer that the configuration describes, but modules of '
                "this model were changed, or its weights have several data types or were made in "
                'torch.inference_mode(), or its positions are learned. Use precision = "fp32".'
            )
        if self._decoder is None:
            if self._are_on("cuda") and self._precision != "int8":
                self._decoder = _together([CapturedEngine(each) for each in self._rounded_models()])
            else:
                self._decoder = _together([Engine(each, self._precision) for each in self._models])
        return self._decoder

    def _rounded_models(self) -> Sequence[Transformer]:
        dtype = ROUNDED.get(self._precision)
        if dtype is None:
            return self._models
        self._copies = self._copies or [round_weights(each, dtype) for each in self._models]
        return self._copies

    def _forget_old_weights(self) -> None:
        """If the weights have changed, drop the copies and engines made of the old ones, so that their memory
        is free before new ones are made."""
        present = [fact for each in self._models for fact in state_of(each)]
        if present != self._made_of:
            self._made_of, self._copies, self._decoder = present, (), None
            self._kept = [each.untyped_storage() for model in self._models for each in model.parameters()]
            self._as_configured = all(map(is_as_configured, self._models))


def _together(decoders: Sequence[Decoder]) -> Decoder:
    return decoders[0] if len(decoders) == 1 else Ensemble(decoders)


def round_weights(model: Transformer, dtype: torch.dtype) -> Transformer:
    """Return a copy of the model in this data type, without hooks; the model if it has this type."""
    if next(model.parameters()).dtype == dtype:
        return model
    copied = copy.deepcopy(model).to(dtype)
    for module in modules_of(copied):
        module._forward_hooks.clear()
        module._forward_pre_hooks.clear()
    return copied
