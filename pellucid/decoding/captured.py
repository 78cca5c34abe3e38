"""Decode on a GPU: each step has a fixed shape and is captured as a CUDA graph, which the GPU repeats without
the CPU.

The model computes as usual, but in memory that is allocated once, with a place for each sentence and a row
for each of its hypotheses. After a step, the search gets the likeliest tokens of each row, and chooses the
rows that continue. Within a step nothing waits for the CPU. In tests the same steps run on a CPU.
"""

import functools
import math
import sys
import threading
import warnings
from collections.abc import Callable, Sequence

import numpy as np
import torch
from torch import Tensor

from pellucid.cache import FixedPast, Memory
from pellucid.data.batch import pad
from pellucid.decoding.pytorch import evaluating
from pellucid.decoding.room import Array, Places, Room
from pellucid.mask import Mask
from pellucid.model import Transformer, round_up, sinusoids
from pellucid.search.next_tokens import AllTokens, LikeliestTokens, NextTokens
from pellucid.search.request import Request
from pellucid.search.session import Decoding
from pellucid.seeing.watching import is_watched

TOKEN, SOURCE, POSITION, REQUIRED = range(4)  # what a step is told of each row; SOURCE: the row it continues
KEPT = 2  # sessions that are kept for a later call of the same shape: making one takes longer than many steps
SHORTEST = 16  # positions that a step looks at, at least; then twice as many, and so on
CLOSE = 1e-2  # how far log-probabilities of a captured step may be from those of the same step uncaptured
# Log-probabilities R V; logits R V; then, if there are candidates, the log-probabilities of the likeliest
# tokens and of the required one R C+1, and the likeliest's ids R C.
Results = tuple[Tensor, ...]
ONE_AT_A_TIME = threading.Lock()  # CUDA captures one graph at a time in a process


class NotCapturedWarning(UserWarning):
    """Decoding on this GPU works without CUDA graphs, and is slower."""


def rounded(room: Room) -> Room:
    """Return the room with its sizes rounded up, so that calls of similar sizes share one state, and with
    `width` rows at each place."""
    places = round_up(room.places) if room.places <= 32 else -(-room.places // 32) * 32
    source, longest, forbidden = positions(room.longest_source), positions(room.longest), (*room.forbidden,)
    return Room(places, places * room.width, room.width, 0, source, longest, room.candidates, forbidden)


def positions(count: int) -> int:
    """Round a number of positions up to a power of two, at least SHORTEST."""
    return max(SHORTEST, round_up(count))


class CapturedEngine:
    """A model that decodes by captured steps. A step uses the weights that the model has at that moment."""

    together = 1024  # hypotheses
    apart = sys.maxsize  # one thread: the GPU does the work

    def __init__(self, model: Transformer) -> None:
        self.model, self.config = model, model.config
        self._kept: dict[Room, State] = {}

    def room_bytes(self, room: Room) -> int:
        """Return an upper bound of the bytes that decoding in this room takes, without the weights."""
        shape, config = rounded(room), self.config
        size = next(self.model.parameters()).dtype.itemsize
        pairs = 2 * config.width * config.decoder_layers
        remembered = pairs * (shape.places * shape.longest_source + 2 * shape.rows * shape.longest)
        step = shape.rows * (8 * config.width + 2 * config.hidden + 2 * config.width * shape.longest)
        source = shape.longest_source
        encoder = source * (8 * config.width + 2 * config.hidden + 3 * config.heads * source)
        return size * (remembered + step + shape.places * encoder) + 20 * shape.rows * config.target_size

    def open(self, room: Room) -> "CapturedDecoding":
        """Return a decoding with this room, and no sentence yet."""
        shape = rounded(room)
        with torch.inference_mode(False):  # later calls change what is made here
            state = self._kept.pop(shape, None) or State(self.model, shape)
            state.clear()
        return CapturedDecoding(state, self._kept, room)


class CapturedDecoding(Decoding):
    """The open sentences of a state. A place holds one sentence until it is finished, then the next one."""

    def __init__(self, state: "State", kept: dict[Room, "State"], room: Room) -> None:
        self._state, self._kept, self.rows, self._places = state, kept, room.rows, Places(room)

    def join(self, requests: Sequence[Request]) -> int:
        joined = self._places.join(requests)
        if joined:
            with evaluating(self._state.model):
                self._state.encode(joined, [each.source for each in requests[: len(joined)]])
        return len(joined)

    def step(self, tokens: Array, required: Array | None, candidates: int) -> NextTokens:
        state, here = self._state, self._rows()
        told = state.told
        told[TOKEN, here] = tokens
        told[POSITION] = 0
        told[POSITION, here] = np.repeat(self._places.lengths, self._places.widths)
        told[REQUIRED, here] = 0 if required is None else np.maximum(required, 0)
        with evaluating(state.model):
            log_p, logits, *likeliest = state.step(int(self._places.lengths.max()) + 1)
        told[SOURCE] = np.arange(told.shape[1])
        self._places.lengths += 1
        rows = torch.from_numpy(here).to(log_p.device)

        def every() -> AllTokens:
            return AllTokens(log_p[rows], lambda: logits[rows])

        if not 0 < candidates <= state.shape.candidates:
            return every()
        values, ids = (each.cpu().numpy()[here] for each in likeliest)
        return LikeliestTokens(values[:, :-1], ids, values[:, -1], every)

    def select(self, rows: Array, sentences: Array | None) -> None:
        before = self._state.told[SOURCE, self._rows()[rows]]  # the next step moves them, once
        if sentences is not None:
            self._places.keep(sentences)
        self._state.told[SOURCE, self._rows()] = before

    def close(self) -> None:
        self._kept[self._state.shape] = self._state
        while len(self._kept) > KEPT:  # drop the oldest
            self._kept.pop(next(iter(self._kept)))

    def _rows(self) -> Array:
        """Return the row of each hypothesis in the state."""
        columns = np.arange(self._state.shape.width)
        every = self._places.taken[:, None] * len(columns) + columns
        return every[columns < self._places.widths[:, None]]


class State:
    """The memory of a decoding, and its CUDA graphs, one for each number of positions to attend to."""

    def __init__(self, model: Transformer, shape: Room) -> None:
        config, weight = model.config, model.projection_weight.detach()
        self.shape, self.model, self._device = shape, model, weight.device
        self._there = torch.zeros(4, shape.rows, dtype=torch.long, device=self._device)
        self._here = self._there.to("cpu", copy=True)
        self.told: Array = self._here.numpy()
        layers, head, source = config.decoder_layers, config.width // config.heads, shape.longest_source
        self._past = FixedPast(layers, self._there[POSITION], config.heads, shape.longest, head, weight)
        self._pairs = weight.new_zeros(layers, 2, shape.places, config.heads, source, head)
        self._allowed = torch.ones(shape.places, source, dtype=torch.bool, device=self._device)
        mask = Mask(self._allowed, some_row_is_empty=False)
        self._memory = Memory([*self._pairs[:, 0]], [*self._pairs[:, 1]], mask)
        self._forbidden = torch.tensor(shape.forbidden, dtype=torch.long, device=self._device)
        # A graph reads this table, and the model keeps it only for a time.
        length, kind = round_up(shape.longest), model.decoder.positions
        self._table = sinusoids(length, config.width, weight.dtype, self._device, kind)
        # Graphs may share memory: nobody reads the results of one step after the next.
        self._pool = torch.cuda.graph_pool_handle() if self._device.type == "cuda" else None
        self._steps: dict[int, Callable[[], Results]] = {}

    def clear(self) -> None:
        """Set the memory to zero, because a NaN of an earlier call would spoil the next call."""
        self._past.clear()
        self._pairs.zero_()
        self._allowed.fill_(True)
        self.told[:] = 0
        self.told[SOURCE] = np.arange(self.shape.rows)

    @torch.inference_mode(False)
    @torch.no_grad()
    def encode(self, places: Sequence[int], sources: Sequence[Sequence[int]]) -> None:
        """Encode sources; store their keys and values for cross-attention at these places, one for each."""
        ids, mask = pad(sources, self.model.config.pad_id, self._device)
        memory, length = self.model.remember(self.model.encode(ids, mask), mask), ids.shape[1]
        at = torch.tensor(places, device=self._device)
        self._allowed[at] = False
        self._allowed[at, :length] = mask
        for layer, both in enumerate(zip(memory.keys_BHMK, memory.values_BHMU, strict=True)):
            for pairs, new in zip(self._pairs[layer], both, strict=True):
                pairs[at, :, :length] = new

    @torch.inference_mode(False)
    @torch.no_grad()
    def step(self, filled: int) -> Results:
        """Compute one step, and return its Results. `filled`: the tokens in the longest row, with the new."""
        reach = min(self.shape.longest, positions(filled))
        self._there.copy_(self._here)
        if is_watched():  # which must not stay in a graph
            return self._compute(reach)
        if reach not in self._steps:
            self._steps[reach] = self._capture(reach)
        return self._steps[reach]()

    @torch.no_grad()
    def _compute(self, reach: int) -> Results:
        self._past.reach = reach
        if self.shape.width > 1:
            self._past.select(self._there[SOURCE])
        logits = self.model.decode(self._there[TOKEN, :, None], self._memory, self._past)[:, 0].float()
        log_p = logits.log_softmax(-1)
        if not self.shape.candidates:
            return log_p, logits
        required = log_p.gather(1, self._there[REQUIRED, :, None])
        likeliest, ids = log_p.index_fill(1, self._forbidden, -math.inf).topk(self.shape.candidates)
        ids, order = ids.sort(-1)
        return log_p, logits, torch.cat((likeliest.gather(1, order), required), 1), ids

    def _capture(self, reach: int) -> Callable[[], Results]:
        """Return a function that computes a step, by a CUDA graph if there is a GPU. If the GPU cannot
        capture one, warn, and return a function without a graph."""
        compute = functools.partial(self._compute, reach)
        if self._device.type != "cuda":
            return compute
        with torch.cuda.device(self._device):
            told = self._there.clone()
            # These steps come before the one that counts: none of them may move rows.
            self._there[SOURCE] = torch.arange(self.shape.rows, device=self._device)
            current = torch.cuda.current_stream()
            try:
                with ONE_AT_A_TIME:
                    return self._graph(compute)
            except RuntimeError as error:
                warnings.warn(
                    f"decoding without CUDA graphs, more slowly: {error}", NotCapturedWarning, stacklevel=2
                )
                return compute
            finally:
                torch.cuda.set_stream(current)  # a capture that failed may have left another one
                self._there.copy_(told)

    def _graph(self, compute: Callable[[], Results]) -> Callable[[], Results]:
        aside = torch.cuda.Stream()
        aside.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(aside):  # what libraries prepare at their first call cannot be captured
            for _ in range(2):
                expected = compute()
        torch.cuda.current_stream().wait_stream(aside)
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph, pool=self._pool, stream=aside, capture_error_mode="thread_local"):
            results = compute()
        results[0].fill_(math.nan)  # of which nothing may be left: an empty graph would change nothing
        graph.replay()
        if not torch.allclose(results[0], expected[0], atol=CLOSE, equal_nan=True):
            raise RuntimeError("a captured step differs from the same step before it was captured")

        def replay() -> Results:
            graph.replay()
            return results

        return replay
