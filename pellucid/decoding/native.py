"""The engine with the compiled kernels: weights are packed once, and each step is one call into C."""

import ctypes
import itertools
import math
import mmap
from collections.abc import Sequence
from contextlib import suppress
from typing import Any

import numpy as np
import torch
from torch import Tensor

from pellucid.config.schema import ModelConfig
from pellucid.decoding.library import Kernels, Layer, Linear, Memory, Model, Norm, Step, Work
from pellucid.decoding.packing import (
    ACTIVATIONS,
    BLOCK,
    KINDS,
    LANES,
    Affine,
    Gains,
    Shape,
    embedding,
    parts_of,
    up,
)
from pellucid.decoding.room import Array, Room, Rows, StepOutput
from pellucid.decoding.team import ENCODE, STEP, Team
from pellucid.errors import PellucidError
from pellucid.model import Transformer, round_up, sinusoids

CHUNK, AHEAD, ABREAST = 1024, 8, 4  # as in kernels.c
ENCODED_TOGETHER = 160  # rows that go through all of the encoder's layers while the nearest caches hold them
SIZES = (1, 4, 2)  # of a weight, in bytes, by the number in KINDS
SPARE = 256 << 20  # bytes of a session's memory that are kept for the next one; a thread has one at most


class Arena:
    """One block of memory, initially zero, in huge pages if the system has them."""

    def __init__(self, size: int) -> None:
        self.size = up(size, 2 << 20)
        # Private: a process that is forked gets a copy, where others would write into the same.
        private = {"flags": mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS} if hasattr(mmap, "MAP_PRIVATE") else {}
        try:
            block = mmap.mmap(-1, self.size + (2 << 20), **private)
        except OSError as error:
            raise PellucidError(
                f"decoding needs {self.size >> 20} MB of memory, but the system refuses them ({error}). "
                "Set a smaller max_length, beam or n_best, or free memory."
            ) from error
        if hasattr(mmap, "MADV_HUGEPAGE"):
            block.madvise(mmap.MADV_HUGEPAGE)
        self._bytes = np.frombuffer(block, np.uint8)
        self.clear()

    def clear(self) -> None:
        """Make the whole block free for `take` again, without erasing its content."""
        self._used = -self._bytes.ctypes.data % BLOCK

    def take(self, shape: int | tuple[int, ...], dtype: type) -> Array:
        """Return the next free part of the block as an array, aligned to a cache line."""
        size = bytes_in(shape, dtype)
        part = self._bytes[self._used : self._used + size]
        self._used += up(size)
        return part.view(dtype).reshape(shape)


class Weights:
    """A model's weights, packed for one kind of kernels."""

    def __init__(self, model: Transformer, precision: str, kernels: Kernels) -> None:
        self.shape, self.kernels, config = Shape.of(model.config), kernels, model.config
        self.kind, self._model = KINDS[precision], model  # whose embeddings are read where they are
        self._arena = Arena(weight_bytes(config, precision))
        self._spare: list[Arena] = []
        self.structure = Model()
        about = vars(config) | vars(self.shape) | dict(kind=self.kind, norm_first=config.norm == "first")
        about |= dict(scale=model.decoder.scale, activation=ACTIVATIONS[config.activation], positions=None)
        for name in {field[0] for field in Model._fields_} & about.keys():
            setattr(self.structure, name, about[name])
        counts = {"encoder": config.encoder_layers, "decoder": config.decoder_layers}
        self._layers = {stack: (Layer * count)() for stack, count in counts.items()}
        self._pack(model)
        self._embeddings = [embedding(model, stack) for stack in (model.encoder, model.decoder)]
        places = [each.data_ptr() for each in self._embeddings]
        self.structure.source_embedding, self.structure.target_embedding = places
        self.structure.encoder, self.structure.decoder = map(ctypes.addressof, self._layers.values())

    def lend(self, size: int) -> Arena:
        """Return a block of at least `size` bytes: one that an earlier session gave back, if it is large
        enough, or a new one. Reuse is faster, because the system must clear the pages of a new block."""
        with suppress(IndexError):  # several threads may look for the last one
            arena = self._spare.pop()
            if arena.size >= size:
                arena.clear()
                return arena
        return Arena(size)

    def take_back(self, arena: Arena) -> None:
        """Keep a session's memory for the next one, if it is not too large."""
        if arena.size <= SPARE and len(self._spare) < torch.get_num_threads():
            self._spare.append(arena)

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
        weight = self._arena.take(part.outputs * part.inputs * SIZES[self.kind], np.uint8)
        scale, shift = self._arena.take(part.outputs, np.float32), self._arena.take(part.outputs, np.int32)
        room = np.empty(2 * part.inputs, np.float32)
        places = [array.ctypes.data for array in (weight, scale, shift, room)]
        self.kernels.pack(self.kind, matrix.data_ptr(), *matrix.shape, part.inputs, *places)
        return Linear(*places[:2], self._keep(part.bias), places[2], part.outputs, part.inputs)

    def _keep(self, numbers: Tensor) -> int:
        kept = self._arena.take(len(numbers), np.float32)
        narrow = numbers.bfloat16() if self.kind == KINDS["bf16"] else numbers
        kept[:] = narrow.float().numpy()
        return kept.ctypes.data


class State:
    """The memory of one decoding: encoded sources, keys and values of past tokens, work space of a step."""

    def __init__(self, weights: Weights, room: Room) -> None:
        self._weights, shape = weights, weights.shape
        self._model = Model.from_buffer_copy(weights.structure)
        structures = {"work": Work(), "memory": Memory(rows=room.cells), "step": Step()}
        self._step = structures["step"]
        self._step.longest, self._step.cells = room.longest, room.cells
        arrays = arrays_of(shape, room, weights.kind)
        self._arena = weights.lend(sum(up(bytes_in(*about)) for about in arrays.values()))
        self._kept = {name: self._take(*about) for name, about in arrays.items()}
        for name, array in self._kept.items():
            structure, field = name.split(".")
            setattr(structures[structure], field, array.ctypes.data)
        kept = [self._kept[f"step.{name}"] for name in StepOutput._fields[:-1]]
        self._best, self._says = kept[:2], kept[2:]
        self.rows = Rows.of(room)
        for name, array in self.rows._asdict().items():
            setattr(self._step, name, array.ctypes.data)
        length, cpu = round_up(room.positions), torch.device("cpu")
        self._positions = sinusoids(length, shape.width, torch.float32, cpu, shape.positions).contiguous()
        self._forbidden = np.zeros(shape.vocabulary, np.uint8)
        self._forbidden[list(room.forbidden)] = 1
        self._model.positions, self._model.forbidden = self._positions.data_ptr(), self._forbidden.ctypes.data
        self._step.cache = structures["memory"].pairs  # sources and hypotheses share the cells
        self._gather(structures, room.threads)

    def _gather(self, structures: dict[str, Any], wanted: int) -> None:
        """Start a team of so many threads at most. They share the same structures, except for their work
        space for attention scores."""
        self._team = Team(self._weights.kernels)
        structures["work"].team = ctypes.addressof(self._team.structure)
        works, shared = [structures["work"]], (structures["memory"], self._step)
        for rank in range(1, wanted):
            works.append(Work.from_buffer_copy(works[0]))
            works[rank].rank = rank
            for name in ("scores", "keys"):
                setattr(works[rank], name, self._kept[f"work.{name}"][rank].ctypes.data)
        places = [[*map(ctypes.addressof, (self._model, work, *shared))] for work in works]
        self._team.gather(places, (self._model, works, shared, self._kept, self._positions, self._forbidden))

    def encode(self, places: Sequence[int], begins: Array, sources: Sequence[Sequence[int]]) -> None:
        """Encode sources, a few at a time, and store their keys and values for cross-attention at these
        places, one place for each source; `begins`: the first row of each in the memory."""
        starts = np.cumsum([0, *map(len, sources)]).astype(np.int32)
        self._kept["memory.start"][list(places)] = begins
        self._kept["memory.length"][list(places)] = np.diff(starts)
        first = 0
        while first < len(sources):
            last = first + 1
            while last < len(sources) and starts[last + 1] - starts[first] <= ENCODED_TOGETHER:
                last += 1
            ids = np.fromiter(itertools.chain.from_iterable(sources[first:last]), np.int32)
            here, there = starts[first : last + 1] - starts[first], np.array(places[first:last], np.int32)
            team = self._team.structure
            team.ids, team.starts, team.places = (each.ctypes.data for each in (ids, here, there))
            team.sentences = last - first
            self._team.do(ENCODE)
            first = last

    def step(self, count: int, candidates: int) -> StepOutput:
        """Compute one step for the first `count` rows. Return the best next tokens of each row, or all logits
        if candidates = 0."""
        step = self._step
        step.rows, step.candidates = count, candidates
        logits = None if candidates else np.empty((count, self._weights.shape.vocabulary), np.float32)
        step.logits = logits.ctypes.data if logits is not None else None
        self._team.do(STEP)
        of_rows = [each[:count] for each in self._says]
        best = [each[: count * candidates].reshape(count, candidates) for each in self._best]
        return StepOutput._make([*best, *of_rows, logits])

    def close(self) -> None:
        """Stop the helpers, and keep the memory for a later session."""
        self._team.part()
        del self._team  # its threads count for other sessions
        self._weights.take_back(self._arena)

    def _take(self, shape: int | tuple[int, ...], dtype: type) -> Array:
        return self._arena.take(shape, dtype)


def weight_bytes(config: ModelConfig, precision: str) -> int:
    """Return how many bytes to reserve for a model's packed weights, without its embeddings."""
    shape = Shape.of(config)
    attention = 4 * shape.across * shape.padded
    feed_forward = 2 * shape.hidden * shape.padded
    layers = config.encoder_layers + config.decoder_layers
    numbers = (layers + config.decoder_layers) * attention + layers * feed_forward
    numbers += shape.vocabulary * shape.padded
    besides = 12 * (8 * shape.across + 2 * shape.hidden + 9 * shape.padded + 20 * BLOCK)
    return numbers * SIZES[KINDS[precision]] + (layers + 1) * besides + 12 * shape.vocabulary


def arrays_of(shape: Shape, room: Room, kind: int) -> dict[str, tuple[Any, type]]:
    """Return the shape and data type of each array that a session needs, by structure and field."""
    both, pair = 2 * shape.across, np.float16 if kind == KINDS["int8"] else np.float32
    rows = max(room.rows, min(room.places * room.longest_source, max(ENCODED_TOGETHER, room.longest_source)))
    keys, number, whole = up(room.positions), np.float32, np.int32
    return {
        "work.x": (rows * shape.padded, number),
        "work.normed": (rows * shape.padded, number),
        "work.wide": (rows * max(3 * shape.across, shape.hidden, 2 * CHUNK), number),
        "work.context": (rows * shape.across, number),
        "work.row_scale": (rows, number),
        "work.scores": ((room.threads, ABREAST * shape.heads * (keys + LANES)), number),
        "work.quantised": (rows * max(shape.padded, shape.across, shape.hidden), np.int8),
        "work.pairs": (rows * both, pair),
        "work.keys": ((room.threads, keys + AHEAD), np.uintp),
        "memory.pairs": ((shape.layers, room.cells, both), pair),
        "memory.start": (room.places, whole),
        "memory.length": (room.places, whole),
        "step.greatest": (room.rows, number),
        "step.total": (room.rows, number),
        "step.asked": (room.rows, number),
        "step.value": (room.rows * room.candidates, number),
        "step.id": (room.rows * room.candidates, whole),
    }


def bytes_of(config: ModelConfig, precision: str, room: Room) -> int:
    """Return how many bytes a session with this room needs, including the logits of a step, which the search
    may ask for."""
    shape = Shape.of(config)
    arrays = arrays_of(shape, room, KINDS[precision]).values()
    numbers = 4 * shape.vocabulary + room.longest + len(Rows._fields) - 1  # of each row
    rows = room.rows * numbers * np.dtype(np.float32).itemsize
    return rows + sum(bytes_in(*about) for about in arrays)


def bytes_in(shape: int | tuple[int, ...], dtype: type) -> int:
    """Return the size of an array in bytes."""
    return math.prod(shape if isinstance(shape, tuple) else (shape,)) * np.dtype(dtype).itemsize
