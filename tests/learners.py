"""A tiny model, what learns it, and batches for it."""

from typing import Any

import numpy as np
import torch

from pellucid.config.schema import ModelConfig, TrainingConfig
from pellucid.data.batch import Batch, make_batch
from pellucid.data.examples import pack
from pellucid.learning.learner import Learner
from pellucid.model import Transformer

SHAPE: dict[str, Any] = dict(
    vocabulary=12, width=16, heads=2, hidden=32, encoder_layers=1, decoder_layers=1, dropout=0.0
)


def model(**settings: Any) -> Transformer:
    """A tiny model, the same each time."""
    torch.manual_seed(5)
    return Transformer(ModelConfig(**SHAPE | settings))


def learnt(taught: Transformer) -> dict[str, torch.nn.Parameter]:
    """The parameters that a step changes: all but the keys' biases."""
    return {
        name: parameter for name, parameter in taught.named_parameters() if not name.endswith(".key.bias")
    }


def batch(*lengths: int) -> Batch:
    """Pairs of these lengths, without padding if they are equal."""
    ids = [[4 + (row + place) % 8 for place in range(length)] + [3] for row, length in enumerate(lengths)]
    examples = pack(((row, [*row[-2::-1], 3], 1, 0) for row in ids), [("some.in", 0)])
    return make_batch(examples, np.arange(len(ids)), 2, 0)


class Line:
    """Stands for the connection to a worker: it remembers what it is sent, and answers with no loss."""

    def __init__(self) -> None:
        self.sent = list[tuple[Any, ...]]()

    def send(self, message: tuple[Any, ...]) -> None:
        self.sent.append(message)

    def recv(self) -> tuple[float, float]:
        return 0.0, 0.0

    def close(self) -> None:
        pass


def learner(**settings: Any) -> Learner:
    """A learner in float32 whose rate is 0.01 from the first step on."""
    defaults = dict(precision="fp32", peak_rate=0.01, warmup_steps=1)
    return Learner(model(), TrainingConfig(**defaults | settings))  # type: ignore[arg-type]
