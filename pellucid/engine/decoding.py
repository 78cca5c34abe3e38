"""The engine as search wants it: the likeliest next tokens of each hypothesis, and beams without copies."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from pellucid.config.schema import ModelConfig
from pellucid.engine import native, plain
from pellucid.engine.library import kernels
from pellucid.engine.next_tokens import NextTokens
from pellucid.errors import UsageError
from pellucid.model import Transformer

Array = NDArray[Any]
MORE = 2  # candidates beyond those that search keeps: one if the end may not come yet, one to see ties by


class Engine:
    """A model made ready for fast decoding on a processor; it keeps the weights that the model has now."""

    def __init__(self, model: Transformer, precision: str = "int8") -> None:
        if next(model.parameters()).device.type != "cpu":
            raise UsageError(
                f'precision = "{precision}" computes on a processor. Set device = "cpu" or another precision.'
            )
        self.config: ModelConfig = model.config
        self.precision = precision
        found = kernels()
        self.kind = found.kind if found else "torch"
        self._weights: Any = plain.Weights(model) if found is None else None
        if found is not None:
            self._weights = native.Weights(model, precision, found)

    def __repr__(self) -> str:
        return f"<Engine {self.precision}, by {self.kind}>"

    def read(
        self,
        sources: Sequence[Sequence[int]],
        width: int,
        longest: int,
        kept: int = 0,
        forbidden: Sequence[int] = (),
        whole_until: int = 0,
    ) -> "EngineDecoding":
        """Read sources, to be decoded with `width` hypotheses each of at most `longest` tokens.

        kept: the best continuations of a sentence that search keeps at a step; 0: it wants all of them.
        whole_until: the step from which on so many are enough.
        """
        session = native.Session if isinstance(self._weights, native.Weights) else plain.Session
        size = self.config.target_size
        candidates = kept + MORE if kept and kept + MORE < size else 0
        slots = len(sources) * width
        reading = session(self._weights, sources, slots, longest, candidates, forbidden)
        return EngineDecoding(
            reading, len(sources), slots, longest, size, whole_until if candidates else longest
        )


class EngineDecoding:
    """A batch of sources that the engine has read. What a row remembers of a step is written once, and a
    hypothesis finds its past by its ancestors."""

    def __init__(
        self, session: Any, sentences: int, slots: int, longest: int, size: int, whole_until: int
    ) -> None:
        self._session, self._size, self._whole_until = session, size, whole_until
        self._sentence = np.arange(sentences, dtype=np.int32)  # of each row
        self._ancestors = np.zeros((slots, longest), np.int32)
        self._slots = np.arange(slots, dtype=np.int32)
        self._length = 0
        self._last: tuple[Any, ...] = ()

    def step(self, tokens: Array) -> NextTokens:
        """The last token of each row -> the likeliest next tokens, or all of them."""
        rows = len(tokens)
        positions = np.full(rows, self._length, np.int32)
        self._last = (tokens, positions, self._sentence, self._ancestors)
        found = self._next(self._length < self._whole_until)
        self._ancestors[:rows, self._length] = self._slots[:rows]
        self._length += 1
        return found

    def select(self, rows: Array, sentences: Array | None) -> None:
        """Continue with these rows; the sentence of each follows from the row that it continues."""
        self._ancestors[: len(rows), : self._length] = self._ancestors[rows, : self._length]
        self._sentence = self._sentence[rows]

    def _next(self, whole: bool) -> NextTokens:
        value, ids, greatest, total, logits = self._session.step(*self._last, whole)
        normaliser = (greatest + np.log(total, dtype=np.float64)).astype(np.float32)[:, None]
        if logits is not None:
            return NextTokens(torch.from_numpy(logits[:, : self._size] - normaliser))
        return NextTokens(value - normaliser, ids, lambda: self._next(True))
