"""The fast engine, as the search uses it."""

from collections.abc import Sequence

import numpy as np
import torch

from pellucid.config.schema import ModelConfig
from pellucid.decoding import native
from pellucid.decoding.library import kernels
from pellucid.decoding.room import Array, Places, Room
from pellucid.decoding.team import Team
from pellucid.errors import UsageError
from pellucid.model import Transformer
from pellucid.search.next_tokens import AllTokens, LikeliestTokens, NextTokens
from pellucid.search.request import Request
from pellucid.search.session import Decoding

SHARED_FROM = 8 << 20  # bytes of weights
TOGETHER, MANY = 128, 512  # hypotheses: each step does all products before it begins the next
APART = 16  # hypotheses of its own that are enough for a thread; of fewer, threads share each step


class Engine:
    """A model prepared for fast decoding on a CPU. If its weights change later, make a new engine."""

    def __init__(self, model: Transformer, precision: str = "int8") -> None:
        if next(model.parameters()).device.type != "cpu":
            raise UsageError(
                f'precision = "{precision}" needs a CPU. Set device = "cpu" or another precision.'
            )
        self.config: ModelConfig = model.config
        self.precision = precision
        self._weights = native.Weights(model, precision, kernels())
        self._is_large = native.weight_bytes(model.config, precision) > SHARED_FROM
        # Of a small model many: what the search takes for a step costs more than what the model takes.
        self.together = TOGETHER if self._is_large else MANY

    def __repr__(self) -> str:
        return f"<Engine {self.precision}, by {self._weights.kernels.kind}>"

    @property
    def apart(self) -> int:
        """Return how many hypotheses of its own are enough for a thread. For a small model one is: its steps
        are too short to share. So is one while other processes use the CPU."""
        return APART if self._is_large and Team.is_possible() else 1

    def room_bytes(self, room: Room) -> int:
        """Return the most memory that decoding in this room takes, without the weights."""
        return native.bytes_of(self.config, self.precision, room)

    def open(self, room: Room) -> "EngineDecoding":
        """Return a decoding with this room, and no sentence yet."""
        return EngineDecoding(native.State(self._weights, room), room, self.config.target_size)


def memory_of(model: Transformer, precision: str, room: Room) -> tuple[int, int]:
    """Return how many bytes the engine's weights take, and decoding in this room at most."""
    both = {model.embedding or stack.embedding for stack in (model.encoder, model.decoder)}
    others = [each.weight.numel() for each in both if each and each.weight.dtype != torch.float32]
    weights = native.weight_bytes(model.config, precision) + 4 * sum(others)  # of embeddings, in float32
    return weights, native.bytes_of(model.config, precision, room)


class EngineDecoding(Decoding):
    """The decoding of several sentences at once. The keys and values of each token are written once, to a
    cell; a hypothesis lists the cells of its earlier tokens, so reordering copies no keys and values."""

    def __init__(self, state: native.State, room: Room, size: int) -> None:
        self._state, self._size = state, size
        self.rows, self._most, self._places = room.rows, room.candidates, Places(room)
        self._is_laid_out = False  # whether the state's rows are those of the places, at their lengths
        self._stride = np.zeros(0, np.int32)  # of each row: cells between its neighbouring positions

    def join(self, requests: Sequence[Request]) -> int:
        joined = self._places.join(requests)
        if joined:
            starts = self._places.starts[joined, 0]
            self._state.encode(joined, starts, [each.source for each in requests[: len(joined)]])
            self._is_laid_out = False
        return len(joined)

    def step(self, tokens: Array, required: Array | None, candidates: int) -> NextTokens:
        count, rows = len(tokens), self._state.rows
        rows.token[:count], rows.required[:count] = tokens, -1 if required is None else required
        if self._is_laid_out:
            rows.position[:count] += 1
            rows.cell[:count] += self._stride
        else:
            self._lay_out()
        few = 0 < candidates <= self._most
        found = self._next(count, candidates if few else 0)
        rows.ancestor[np.arange(count), rows.position[:count]] = rows.cell[:count]
        self._places.lengths += 1
        return found

    def _lay_out(self) -> None:
        """Write the position, the place and the cell of each row."""
        rows, places = self._state.rows, self._places
        firsts = np.cumsum(places.widths) - places.widths
        position, place, width, first = (
            np.repeat(each, places.widths) for each in (places.lengths, places.taken, places.widths, firsts)
        )
        count, column = len(place), np.arange(len(place)) - first
        rows.position[:count], rows.place[:count] = position, place
        rows.cell[:count] = places.starts[place, 1] + position * width + column
        self._stride, self._is_laid_out = width, True

    def select(self, rows: Array, sentences: Array | None) -> None:
        if sentences is not None:
            self._places.keep(sentences)
            self._is_laid_out = False
        longest, ancestor = self._places.lengths.max(initial=0), self._state.rows.ancestor
        ancestor[: len(rows), :longest] = ancestor[rows, :longest]

    def close(self) -> None:
        self._state.close()

    def _next(self, count: int, candidates: int) -> NextTokens:
        said = self._state.step(count, candidates)
        normaliser = (said.greatest + np.log(said.total, dtype=np.float64)).astype(np.float32)
        if said.logits is not None:
            logits = said.logits[:, : self._size]
            every = torch.from_numpy(logits - normaliser[:, None])
            return AllTokens(every, lambda: torch.from_numpy(logits))
        log_p, asked = said.value - normaliser[:, None], said.asked - normaliser
        return LikeliestTokens(log_p, said.id, asked, lambda: self._next(count, 0).all)
