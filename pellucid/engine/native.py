"""The engine by the compiled kernels: weights packed once, memory for each batch, one call for each step."""

import ctypes
import mmap
from collections.abc import Sequence
from contextlib import suppress
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from pellucid.engine.library import Kernels, Layer, Linear, Memory, Model, Norm, Step, Work
from pellucid.engine.packing import ACTIVATIONS, BLOCK, KINDS, LANES, Affine, Gains, Shape, parts_of, up
from pellucid.model import Decoder, Encoder, Transformer, round_up, sinusoids

CHUNK = 1024  # as in kernels.c
ENCODED_TOGETHER = 160  # rows that go through all of the encoder's layers while the nearest caches hold them
SPARE = 256 << 20  # bytes of a cache that are kept for the next session; a thread has one at most
Array = NDArray[Any]


class Arena:
    """One block of memory for all weights, in huge pages where the system has them."""

    def __init__(self, size: int) -> None:
        self._block = mmap.mmap(-1, up(size, 2 << 20) + (2 << 20))
        if hasattr(mmap, "MADV_HUGEPAGE"):
            self._block.madvise(mmap.MADV_HUGEPAGE)
        self._bytes = np.frombuffer(self._block, np.uint8)
        self._used = -self._bytes.ctypes.data % BLOCK

    def take(self, count: int, dtype: type) -> Array:
        """So many zeros."""
        size = count * np.dtype(dtype).itemsize
        part = self._bytes[self._used : self._used + size]
        self._used += up(size)
        return part.view(dtype)


class Weights:
    """A model, packed for one kind of kernels."""

    def __init__(self, model: Transformer, precision: str, kernels: Kernels) -> None:
        self.shape, self.kernels, config = Shape.of(model.config), kernels, model.config
        self._kind, self._model = KINDS[precision], model  # its embeddings are read where they are
        self._arena = Arena(self._room(model))
        self.spare: list[Array] = []
        self.structure, shape = Model(), self.shape
        about = dict(kind=self._kind, norm_first=config.norm == "first", scale=model.decoder.scale)
        about |= {name: getattr(shape, name) for name in ("width", "padded", "heads", "head", "across")}
        about |= dict(hidden=shape.hidden, vocabulary=shape.vocabulary)
        about |= dict(activation=ACTIVATIONS[config.activation])
        about |= dict(encoder_layers=config.encoder_layers, decoder_layers=config.decoder_layers)
        for name, value in about.items():
            setattr(self.structure, name, value)
        self._layers = {
            "encoder": (Layer * config.encoder_layers)(),
            "decoder": (Layer * config.decoder_layers)(),
        }
        self._pack(model)
        self._embeddings = [embedding(model, stack) for stack in (model.encoder, model.decoder)]
        self.structure.source_embedding, self.structure.target_embedding = map(address, self._embeddings)
        self.structure.encoder, self.structure.decoder = map(ctypes.addressof, self._layers.values())

    @property
    def pair_type(self) -> type:
        """The type of remembered keys and values."""
        return np.float32 if self._kind == KINDS["fp32"] else np.float16

    def _room(self, model: Transformer) -> int:
        """The bytes that all parts take."""
        size, shape, config = (1, 4, 2)[self._kind], self.shape, model.config
        attention = 4 * shape.across * shape.padded
        feed_forward = 2 * shape.hidden * shape.padded
        layers = config.encoder_layers + config.decoder_layers
        numbers = (layers + config.decoder_layers) * attention + layers * feed_forward
        numbers += shape.vocabulary * shape.padded
        besides = 12 * (8 * shape.across + 2 * shape.hidden + 9 * shape.padded + 20 * BLOCK)
        return numbers * size + (layers + 1) * besides + 12 * shape.vocabulary

    def _pack(self, model: Transformer) -> None:
        for stack, number, parts in parts_of(model, self.shape):
            for name, part in parts.items():
                packed = self._affine(part) if isinstance(part, Affine) else self._norm(part)
                if number >= 0:
                    setattr(self._layers[stack][number], name, packed)
                else:
                    setattr(self.structure, "logits" if name == "logits" else f"{stack}_norm", packed)

    def _norm(self, part: Gains) -> Any:
        return Norm(*(self._keep(numbers) for numbers in part))

    def _affine(self, part: Affine) -> Any:
        matrix = part.weight.float().contiguous()
        weight = self._arena.take(part.outputs * part.inputs * (1, 4, 2)[self._kind], np.uint8)
        scale, shift = self._arena.take(part.outputs, np.float32), self._arena.take(part.outputs, np.int32)
        room = np.empty(2 * part.inputs, np.float32)
        places = [array.ctypes.data for array in (weight, scale, shift, room)]
        self.kernels.pack(self._kind, address(matrix), *matrix.shape, part.inputs, *places)
        return Linear(*places[:2], self._keep(part.bias), places[2], part.outputs, part.inputs)

    def _keep(self, numbers: Tensor) -> int:
        kept = self._arena.take(len(numbers), np.float32)
        kept[:] = numbers.numpy()
        return kept.ctypes.data


class Session:
    """Sources that were read, and room for the steps of decoding them."""

    def __init__(
        self,
        weights: Weights,
        sources: Sequence[Sequence[int]],
        slots: int,
        capacity: int,
        candidates: int,
        forbidden: Sequence[int],
    ) -> None:
        self._weights, shape = weights, weights.shape
        self._kept: dict[str, Array] = {}  # all memory that the structures point into
        lengths = [len(ids) for ids in sources]
        self._slots, self._capacity = slots, capacity
        self._model = Model.from_buffer_copy(weights.structure)
        length, cpu = round_up(max(capacity, *lengths)), torch.device("cpu")
        table = sinusoids(length, shape.width, torch.float32, cpu, shape.positions)
        self._positions = table.contiguous()
        self._model.positions = address(self._positions)
        never = self._take("forbidden", shape.vocabulary, np.uint8)
        never[:] = 0
        never[list(forbidden)] = 1
        self._model.forbidden = never.ctypes.data
        rows = max(slots, min(sum(lengths), max(ENCODED_TOGETHER, max(lengths))))
        self._work = self._working_room(rows, max(capacity, *lengths))
        self._memory = self._read(sources, lengths)
        self._step = self._room_for_steps(candidates)
        self._structures = tuple(map(ctypes.addressof, (self._model, self._work, self._memory, self._step)))

    def step(
        self, tokens: Array, positions: Array, sentences: Array, ancestors: Array, whole: bool
    ) -> tuple[Array, Array, Array, Array, Array | None]:
        """Rows' last tokens -> their candidates' logits and ids, highest logit, sum of exponentials, and if
        `whole` the logits. ancestors: for each row and position of its past, the row that wrote it."""
        rows, step, kept = len(tokens), self._step, self._kept
        kept["token"][:rows], kept["position"][:rows] = tokens, positions
        kept["sentence"][:rows] = sentences
        step.ancestor, step.rows = ancestors.ctypes.data, rows
        logits = np.empty((rows, self._weights.shape.vocabulary), np.float32) if whole else None
        step.logits = None if logits is None else logits.ctypes.data
        self._weights.kernels.step(*self._structures)
        value, ids = kept["value"][:rows], kept["id"][:rows]
        return value, ids, kept["greatest"][:rows], kept["total"][:rows], logits

    def _take(self, name: str, shape: int | tuple[int, ...], dtype: type) -> Array:
        """Memory that begins at a line of the cache; the system gives its pages when they are written."""
        size = int(np.prod(shape)) * np.dtype(dtype).itemsize
        block = np.empty(size + BLOCK, np.uint8)
        start = -block.ctypes.data % BLOCK
        self._kept[name] = block[start : start + size].view(dtype).reshape(shape)
        return self._kept[name]

    def _working_room(self, rows: int, keys: int) -> Any:
        shape, floats = self._weights.shape, np.float32
        sizes: dict[str, tuple[int, type]] = {
            "x": (rows * shape.padded, floats),
            "normed": (rows * shape.padded, floats),
            "wide": (rows * max(3 * shape.across, shape.hidden, CHUNK), floats),
            "context": (rows * shape.across, floats),
            "row_scale": (rows, floats),
            "scores": (shape.heads * (up(keys) + LANES), floats),
            "quantised": (rows * max(shape.padded, shape.across, shape.hidden), np.int8),
            "pairs": (rows * 2 * shape.across, self._weights.pair_type),
            "keys": (up(keys), np.uintp),
        }
        return Work(*(self._take(name, *size).ctypes.data for name, size in sizes.items()))

    def _read(self, sources: Sequence[Sequence[int]], lengths: Sequence[int]) -> Any:
        """Encode the sources, some at a time, and remember what the decoder's layers attend to."""
        rows, layers = sum(lengths), self._model.decoder_layers
        pairs = self._take("memory", (layers, rows, 2 * self._weights.shape.across), self._weights.pair_type)
        starts = np.cumsum([0, *lengths]).astype(np.int32)
        self._kept["start"], self._kept["length"] = starts, np.array(lengths, np.int32)
        memory = Memory(pairs.ctypes.data, starts.ctypes.data, self._kept["length"].ctypes.data, rows)
        first = 0
        while first < len(sources):
            last = first + 1
            while last < len(sources) and starts[last + 1] - starts[first] <= ENCODED_TOGETHER:
                last += 1
            ids = np.concatenate([np.asarray(each, np.int32) for each in sources[first:last]])
            here = starts[first : last + 1] - starts[first]
            model, work, there = map(ctypes.addressof, (self._model, self._work, memory))
            where = ids.ctypes.data, here.ctypes.data
            self._weights.kernels.encode(model, work, *where, last - first, there, int(starts[first]))
            first = last
        return memory

    def _room_for_steps(self, candidates: int) -> Any:
        slots, step = self._slots, Step()
        step.candidates, step.capacity, step.slots = candidates, self._capacity, slots
        arrays = {name: self._take(name, slots, np.int32) for name in ("token", "position", "sentence")}
        arrays["slot"] = self._take("slot", slots, np.int32)
        arrays["slot"][:] = np.arange(slots)
        arrays |= {name: self._take(name, slots, np.float32) for name in ("greatest", "total")}
        arrays["value"] = self._take("value", (slots, candidates), np.float32)
        arrays["id"] = self._take("id", (slots, candidates), np.int32)
        arrays["cache"] = self._cache()
        for name, array in arrays.items():
            setattr(step, name, array.ctypes.data)
        return step

    def _cache(self) -> Array:
        """Room for what the rows remember: that of an earlier session if it is large enough, because pages
        that the system gives anew are cleared first."""
        numbers = self._model.decoder_layers * self._slots * self._capacity * 2 * self._weights.shape.across
        with suppress(IndexError):  # pop, because several threads may look for one
            spare = self._weights.spare.pop()
            if spare.size >= numbers:
                self._kept["cache"] = spare
                return spare
        return self._take("cache", numbers, self._weights.pair_type)

    def __del__(self) -> None:
        if "cache" in self._kept and self._kept["cache"].nbytes <= SPARE:
            self._weights.spare.append(self._kept["cache"])


def embedding(model: Transformer, stack: Encoder | Decoder) -> Tensor:
    """The vectors of a stack's tokens, where the model has them."""
    part = model.embedding or stack.embedding
    assert part is not None
    return part.weight.detach().float().contiguous()


def address(tensor: Tensor) -> int:
    """Where a tensor's numbers begin."""
    return tensor.data_ptr()
