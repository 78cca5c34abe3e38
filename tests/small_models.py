"""A small model with a batch for it, and traces of it."""

import threading
from collections.abc import Callable
from typing import Any

import torch
from enlarged import enlarged
from torch import Tensor

from pellucid.config.schema import ModelConfig
from pellucid.model import Transformer
from pellucid.seeing.trace import Edit, Trace, trace

SOURCE = torch.tensor([[5, 7, 4, 3], [9, 3, 0, 0]])
TARGET = torch.tensor([[2, 5, 8], [2, 6, 0]])


def small_model(**settings: Any) -> Transformer:
    """Return a model with random weights, the same every time."""
    torch.manual_seed(0)
    config = dict(vocabulary=11, width=8, heads=2, hidden=12, encoder_layers=1, decoder_layers=2, dropout=0.0)
    model = enlarged(Transformer(ModelConfig(**{**config, **settings})))
    for parameter in model.parameters():  # no bias of zero, no norm that does nothing
        parameter.data += 0.1 * torch.randn(parameter.shape)
    return model


def run(model: Transformer) -> Tensor:
    """Run a pass over the batch."""
    return model(SOURCE, SOURCE != 0, TARGET)


def traced(model: Transformer, **how: Any) -> Trace:
    """Watch a pass over the batch, as `trace` is told to."""
    with trace(model, **how) as seen:
        run(model)
    return seen


def interrupt(work: Callable[[], None]) -> Edit:
    """Return an edit that changes nothing, and lets another thread do this work in the middle of the pass."""

    def edit(tensor: Tensor) -> Tensor:
        thread = threading.Thread(target=work)
        thread.start()
        thread.join()
        return tensor

    return edit


class Words:
    """A vocabulary that writes source tokens as s5 and target tokens as t5."""

    def source_tokens(self, ids: list[int]) -> list[str]:
        return [f"s{token}" for token in ids]

    def target_tokens(self, ids: list[int]) -> list[str]:
        return [f"t{token}" for token in ids]
