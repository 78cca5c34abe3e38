"""The fast engine, as the search uses it: it returns the likeliest next tokens of each hypothesis, and
reorders beams without copying keys and values."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch

from pellucid.config.schema import ModelConfig
from pellucid.engine import native
from pellucid.engine.library import kernels
from pellucid.engine.next_tokens import NextTokens
from pellucid.engine.room import Array, Places, Room, StepOutput
from pellucid.engine.team import Team
from pellucid.errors import UsageError
from pellucid.model import Transformer

SHARED_FROM = 8 << 20  # bytes of weights


class Engine:
    """A model prepared for fast decoding on a CPU. If its weights change later, make a new engine."""

    together = 128  # hypotheses that a thread decodes: each step does all products before it begins the next
    apart = 32  # hypotheses of its own that are enough for a thread; of fewer, threads share each step

    def __init__(self, model: Transformer, precision: str = "int8") -> None:
        if next(model.parameters()).device.type != "cpu":
            raise UsageError(
                f'precision = "{precision}" needs a CPU. Set device = "cpu" or another precision.'
            )
        self.config: ModelConfig = model.config
        self.precision = precision
        self._weights = native.Weights(model, precision, kernels())

    def __repr__(self) -> str:
        return f"<Engine {self.precision}, by {self._weights.kernels.kind}>"

    def can_share_steps(self) -> bool:
        """Return whether several threads may share each step now. For a small model they may not: its steps
        are too short to share."""
        return native.weight_bytes(self.config, self.precision) > SHARED_FROM and Team.is_possible()

    def room_bytes(self, room: Room) -> int:
        """Return the most memory that decoding in this room takes, without the weights."""
        return native.bytes_of(self.config, self.precision, room)

    def read(self, sources: Sequence[Sequence[int]], room: Room) -> "EngineDecoding":
        """Prepare to decode these sources. The search then begins them with `join`, some at a time."""
        return EngineDecoding(native.Session(self._weights, room), room, sources, self.config.target_size)


def memory_of(model: Transformer, precision: str, room: Room) -> tuple[int, int]:
    """Return how many bytes the engine's weights take, and how many bytes decoding in this room takes at
    most."""
    both = {model.embedding or stack.embedding for stack in (model.encoder, model.decoder)}
    others = [each.weight.numel() for each in both if each and each.weight.dtype != torch.float32]
    weights = native.weight_bytes(model.config, precision) + 4 * sum(others)  # of embeddings, in float32
    return weights, native.bytes_of(model.config, precision, room)


class EngineDecoding:
    """The decoding of several sources at once. The keys and values of each token are written once, to a cell;
    a hypothesis lists the cells of its earlier tokens, so reordering copies no keys and values."""

    def __init__(
        self,
        session: native.Session,
        room: Room,
        sources: Sequence[Sequence[int]],
        size: int,
    ) -> None:
        self._session, self._room, self._sources, self._size = session, room, sources, size
        self._first_cells = room.cells
        self._places = Places(room)
        self._width = 0  # of the rows as they lie in the session; 0: they are others now

    def join(self, places: Sequence[int]) -> None:
        """Encode the sources with these indices, and decode them together with those that are not
        finished."""
        joined = self._places.join(len(places))
        self._session.read(joined, [self._sources[place] for place in places])
        self._width = 0

    def step(self, tokens: Array, required: Array | None) -> NextTokens:
        """Compute a step from the last token of each row (hypothesis). Return its likeliest next tokens, or
        all tokens if the room has candidates = 0."""
        count, rows, width = len(tokens), self._session.rows, len(tokens) // len(self._places.taken)
        rows.token[:count], rows.required[:count] = tokens, -1 if required is None else required
        if width == self._width:
            rows.position[:count] += 1
            rows.cell[:count] += self._room.width
        else:
            self._lay_out(width)
        some: Array | None = None
        again: Any = slice(None)
        if width > 1 and not self._places.lengths.all():  # at a sentence's start its first row stands for all
            _, some, again = np.unique(rows.cell[:count], return_index=True, return_inverse=True)
        found = self._next(count, some, again, whole=not self._room.candidates)
        rows.ancestor[np.arange(count), rows.position[:count]] = rows.cell[:count]
        self._places.lengths += 1
        return found

    def _lay_out(self, width: int) -> None:
        """Write the position, the place and the cell of each row; each sentence has `width` rows."""
        rows, count = self._session.rows, len(self._places.taken) * width
        position, place = np.repeat(self._places.lengths, width), np.repeat(self._places.taken, width)
        column = np.tile(np.arange(width), len(self._places.taken)) * (position > 0)
        rows.position[:count], rows.place[:count] = position, place
        rows.cell[:count] = self._first_cells[place] + position * self._room.width + column
        self._width = width if self._places.lengths.all() else 0

    def select(self, rows: Array, sentences: Array | None) -> None:
        """Continue with these rows and these sentences (None: all of them). The places of the other sentences
        become free."""
        if sentences is not None:
            self._places.keep(sentences)
            self._width = 0
        longest, ancestor = self._places.lengths.max(initial=0), self._session.rows.ancestor
        ancestor[: len(rows), :longest] = ancestor[rows, :longest]

    def _next(self, count: int, some: Any, again: Any, whole: bool) -> NextTokens:
        """Compute a step for the rows `some` (None: the first `count` rows), and copy the results to all rows
        by the indices `again`."""
        said = self._of(count, some, whole)
        normaliser = (said.greatest + np.log(said.total, dtype=np.float64)).astype(np.float32)
        if said.logits is not None:
            logits = said.logits[:, : self._size]
            every = torch.from_numpy((logits - normaliser[:, None])[again])
            return NextTokens(every, logits=lambda: torch.from_numpy(logits[again]))
        log_p, ids, asked = said.value - normaliser[:, None], said.id, said.asked - normaliser
        if some is not None:
            log_p, ids, asked = log_p[again], ids[again], asked[again]
        return NextTokens(log_p, ids, asked, lambda: self._next(count, some, again, whole=True))

    def _of(self, count: int, some: Array | None, whole: bool) -> StepOutput:
        if some is None:
            return self._session.step(count, whole)
        every = [(each, each[:count].copy()) for each in self._session.rows]
        for rows, before in every:
            rows[: len(some)] = before[some]
        said = self._session.step(len(some), whole)
        for rows, before in every:
            rows[:count] = before
        return said
