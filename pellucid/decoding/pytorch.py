"""Decode with the model itself, in PyTorch: where a trace, an edit or a hook needs its tensors, and where no
engine can compute it."""

import itertools
import math
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import numpy as np
import torch
from torch import Tensor

from pellucid.cache import GrowingPast, Memory
from pellucid.data.batch import pad
from pellucid.decoding.model_state import is_hidden, modules_of
from pellucid.decoding.room import Array, Room
from pellucid.folder.load import device_of
from pellucid.model import Transformer
from pellucid.search.next_tokens import AllTokens
from pellucid.search.request import Request
from pellucid.search.session import Decoding

TOGETHER = {"cpu": 256, "cuda": 2048}  # hypotheses that are decoded at once: more is not faster


class TransformerDecoder:
    """A Transformer that decodes as it is."""

    apart = sys.maxsize  # PyTorch has threads of its own

    def __init__(self, model: Transformer) -> None:
        self.model, self.config = model, model.config
        self.together = TOGETHER.get(device_of(model).type, TOGETHER["cpu"])

    def room_bytes(self, room: Room) -> int:
        """Return an upper bound of the bytes that decoding in this room takes, without the weights: keys and
        values twice, because a selection copies them, and the logits a few times."""
        config, length, width = self.config, room.longest_source, room.width
        remembered = 2 * 2 * config.width * config.decoder_layers * (length + width * room.longest)
        encoder = length * (8 * config.width + 2 * config.hidden + 3 * config.heads * length)
        each_row = 6 * config.target_size + 8 * config.width + 2 * config.hidden + 4 * config.width * length
        return torch.float32.itemsize * room.places * (remembered + max(encoder, width * each_row))

    def open(self, room: Room) -> "TransformerDecoding":
        """Return a decoding with this room, and no sentence yet."""
        return TransformerDecoding(self.model, room)


class TransformerDecoding(Decoding):
    """The keys and values of the open sentences, and of their hypotheses, which grow with each step. In the
    model each sentence has as many rows as the widest: spare ones repeat its first."""

    def __init__(self, model: Transformer, room: Room) -> None:
        self.rows, self._room, self._model, self._device = room.rows, room, model, device_of(model)
        self.close()

    def close(self) -> None:
        self._widths, self._past = np.zeros(0, int), GrowingPast()
        self._memory: Memory | None = None
        self._wrong_B = torch.zeros(0, dtype=torch.bool, device=self._device)

    @torch.no_grad()
    def join(self, requests: Sequence[Request]) -> int:
        free = self._room.places - len(self._widths)
        joining = [*itertools.takewhile(self._room.may_hold, requests[:free])]
        if joining:
            ids, mask = pad([one.source for one in joining], self._model.config.pad_id, self._device)
            with evaluating(self._model):
                memory = self._model.remember(self._model.encode(ids, mask), mask)
            self._wrong_B = torch.cat((self._wrong_B, is_hidden(self._model, memory)))
            self._memory = self._memory.joined_by(memory) if self._memory else memory
            self._past.join(len(joining) * self._room.width)
            self._widths = np.append(self._widths, [one.options.width for one in joining])
        return len(joining)

    @torch.no_grad()
    def step(self, tokens: Array, required: Array | None, candidates: int) -> AllTokens:
        assert self._memory is not None
        ids = self._to_device(tokens[self._spread()])
        with evaluating(self._model):
            logits_RV = self._model.decode(ids[:, None], self._memory, self._past)[:, 0]
        if self._wrong_B.any():
            logits_RV.unflatten(0, (len(self._wrong_B), -1))[self._wrong_B] = math.nan
        if (self._widths < self._room.width).any():
            logits_RV = logits_RV[self._to_device(self._gather())]
        return AllTokens.of_logits(logits_RV)

    def select(self, rows: Array, sentences: Array | None) -> None:
        before = self._gather()[rows]
        if sentences is not None:
            if not len(sentences):
                return self.close()
            left, self._widths = self._to_device(sentences), self._widths[sentences]
            assert self._memory is not None
            self._memory, self._wrong_B = self._memory.select(left), self._wrong_B[left]
        self._past.select(self._to_device(before[self._spread()]))

    def _gather(self) -> Array:
        """Return the model's row of each hypothesis."""
        columns = np.arange(self._room.width)
        return (columns < self._widths[:, None]).ravel().nonzero()[0]

    def _spread(self) -> Array:
        """Return the hypothesis of each of the model's rows."""
        first, columns = np.cumsum(self._widths) - self._widths, np.arange(self._room.width)
        return (first[:, None] + np.where(columns < self._widths[:, None], columns, 0)).ravel()

    def _to_device(self, numbers: Array) -> Tensor:
        return torch.from_numpy(numbers).to(self._device)


@contextmanager
def evaluating(*models: Transformer) -> Iterator[None]:
    """Keep the models in evaluation mode (no dropout) until the block ends; then restore the mode of each
    module, for some may have been in evaluation mode before."""
    in_training = [module for model in models for module in modules_of(model) if module.training]
    for module in in_training:
        module.training = False
    try:
        yield
    finally:
        for module in in_training:
            module.training = True
