"""Decode sentences in batches: share them out to threads; Transformers or engines compute the steps."""

import functools
import math
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, as_completed
from contextlib import contextmanager, suppress
from dataclasses import replace

import torch
from torch import Tensor

from pellucid.cache import GrowingPast
from pellucid.config.device import device_of
from pellucid.config.schema import ModelConfig
from pellucid.data.batch import pad
from pellucid.engine.decoding import Engine
from pellucid.engine.room import Room
from pellucid.errors import SentenceError
from pellucid.model import Transformer
from pellucid.translate.beam import best
from pellucid.translate.captured import CapturedEngine
from pellucid.translate.ensemble import EnsembleDecoding
from pellucid.translate.hypotheses import Array, Found
from pellucid.translate.model_state import is_hidden
from pellucid.translate.sample import DRAWING, Chance, draw
from pellucid.translate.search import Choose, Decoding, Request, Rules, SearchStep, search

Decoder = Transformer | Engine | CapturedEngine  # what computes the steps of the search

# The default for source tokens times hypotheses that are decoded together: more is not faster.
TOGETHER = {"cpu": 10_000, "cuda": 100_000}
MOST_SHARING = 4  # threads: a few read memory as fast as many, and wait less for each other
MORE = 2  # candidates beyond those that search keeps: one if the end may not come yet, one to see ties by
MOST_CANDIDATES = 128  # of more, an engine's lists of the likeliest tokens are slower than all logits


class TransformerDecoding:
    """A Transformer that decodes sources: it keeps their keys and values, and those of the target, which grow
    with each step."""

    def __init__(self, model: Transformer, sources: Sequence[Sequence[int]]) -> None:
        self._device = device_of(model)
        self._model, self._sources = model, sources

    @torch.no_grad()
    def join(self, places: Sequence[int]) -> None:
        """Encode these sources; all earlier ones must be finished."""
        ids, mask = pad([self._sources[place] for place in places], self._model.config.pad_id, self._device)
        self._memory = self._model.remember(self._model.encode(ids, mask), mask)
        self._wrong_B = is_hidden(self._model, self._memory)
        self._past = GrowingPast()

    @torch.no_grad()
    def step(self, tokens: Array, required: Array | None = None) -> Tensor:
        """Decode one step, given each row's last token. Return the logits of the next token, rows x V."""
        ids = torch.from_numpy(tokens).to(self._device)
        logits_RV = self._model.decode(ids[:, None], self._memory, self._past)[:, 0]
        if self._wrong_B.any():
            logits_RV.unflatten(0, (len(self._wrong_B), -1))[self._wrong_B] = math.nan
        return logits_RV

    def select(self, rows: Array, sentences: Array | None) -> None:
        """Continue with the rows at these indices, in this order. `sentences` are the indices of the
        sentences that continue; None: all do."""
        self._past.select(torch.from_numpy(rows).to(self._device))
        if sentences is not None:
            left = torch.from_numpy(sentences).to(self._device)
            self._memory, self._wrong_B = self._memory.select(left), self._wrong_B[left]


def bytes_of(config: ModelConfig, length: int, limit: int, width: int) -> int:
    """Return an upper bound of the bytes that PyTorch takes to decode one sentence: keys and values twice,
    because a selection copies them, and the logits a few times."""
    remembered = 2 * 2 * config.width * config.decoder_layers * (length + width * limit)
    encoder = length * (8 * config.width + 2 * config.hidden + 3 * config.heads * length)
    step = width * (6 * config.target_size + 8 * config.width + 2 * config.hidden + 4 * config.width * length)
    return torch.float32.itemsize * (remembered + max(encoder, step))


class Waiting:
    """The sentences of a call that have not begun, longest first. The threads of the call take their
    sentences from this list.

    fits: a function that returns how many sentences can be decoded together, given the index of the longest.
    most: the most sentences that one thread decodes together.
    joining: whether sentences may join an open batch, or must wait until the batch has ended.
    """

    def __init__(
        self, lengths: Sequence[int], fits: Callable[[int], int], most: int, joining: bool = False
    ) -> None:
        self.order = sorted(range(len(lengths)), key=lambda place: -lengths[place])
        self.most = most
        self.room: Room | None = None  # an engine's, for so many
        self._fits, self._joining, self._begun, self._lock = fits, joining, 0, threading.Lock()

    def take(self, open_places: Sequence[int]) -> list[int]:
        """Return the indices of the sentences that begin now, in addition to the open ones; [] if none can
        begin. New sentences wait until several can begin at once, because they are encoded together."""
        with self._lock:
            left = self.order[self._begun :]
            if not left or (open_places and not self._joining):
                return []
            longest = (open_places or left)[0]  # because the longest begin first
            together = max(1, min(self.most, self._fits(longest)))
            taken = left[: max(0, together - len(open_places))]
            if open_places and len(taken) < min(len(left), together / 8):
                return []
            self._begun += len(taken)
            return taken


def decode(models: Sequence[Decoder], requests: Sequence[Request], rules: Rules) -> list[list[Found]]:
    """Return a list of hypotheses for each request, best first. Several models form an ensemble. If sentences
    fail, raise the error of the first one, whatever the order in which they are decoded."""
    left, failed = requests, None
    while left:
        hypotheses: dict[int, list[Found]] = {}
        waiting, threads = share_out(models, left, rules)
        begin = functools.partial(decode_batch, models, left, rules, waiting=waiting)
        try:
            with evaluating(*models):
                _decode_in_threads(begin, threads, hypotheses)
            break
        except SentenceError as error:  # an earlier sentence may fail too
            failed, before = error.with_traceback(None), error.number  # which would keep memory
            left = [each for n, each in enumerate(left) if each.number < before and n not in hypotheses]
    if failed:
        raise failed
    return [hypotheses[place] for place in range(len(requests))]


def _decode_in_threads(
    begin: Callable[[], Iterator[SearchStep]], threads: int, hypotheses: dict[int, list[Found]]
) -> None:
    """Decode in this thread or in several, or as many as the system allows, and fill `hypotheses` with the
    result of each request, by its index. If one thread fails, all stop, and its error is raised.

    The engine computes without Python's lock, so the threads run in parallel. They share only the weights and
    the waiting sentences.
    """
    stop = threading.Event()

    def work() -> None:
        for step in begin():
            hypotheses.update(step.done)
            if stop.is_set():
                return

    if threads == 1:
        return work()
    with ThreadPoolExecutor(threads) as pool:
        running: list[Future[None]] = []
        try:
            with suppress(RuntimeError):  # the system allows no more threads
                for _ in range(threads):
                    running.append(pool.submit(work))
            for each in as_completed(running):
                each.result()
            if not running:
                work()
        finally:
            stop.set()


def decode_batch(
    models: Sequence[Decoder],
    requests: Sequence[Request],
    rules: Rules,
    choose: Choose | None = None,
    waiting: Waiting | None = None,
) -> Iterator[SearchStep]:
    """Decode the waiting sentences (by default all requests), and yield the result of each step, which adds
    one token. `choose` picks the continuations: by default beam search. With options.sample, they are always
    drawn."""
    sources, options = [each.source for each in requests], rules.options
    if options.sample:
        choose = functools.partial(draw, options=options, chance=Chance(requests, options))
    waiting = waiting or share_out(models, requests, rules)[0]
    decodings: list[Decoding] = []
    for model in models:
        if isinstance(model, Transformer):
            decodings.append(TransformerDecoding(model, sources))
        else:
            assert waiting.room is not None
            decodings.append(model.read(sources, waiting.room))
    decoding = decodings[0] if len(decodings) == 1 else EnsembleDecoding(decodings)
    choose = choose or functools.partial(best, beam=options.beam)
    return search(decoding, requests, rules, choose, waiting.take)


def share_out(models: Sequence[Decoder], requests: Sequence[Request], rules: Rules) -> tuple[Waiting, int]:
    """Return the sentences as a list that threads take from, and how many threads decode: as many as fit into
    the memory."""
    lengths, options = [len(each.source) for each in requests], rules.options
    first, memory = models[0], options.memory << 20
    if isinstance(first, Transformer):
        tokens = options.batch_tokens or TOGETHER.get(device_of(first).type, TOGETHER["cpu"]) // options.width

        def fits(longest: int) -> int:
            limit = requests[longest].max_length
            each = sum(bytes_of(model.config, lengths[longest], limit, options.width) for model in models)
            return min(tokens // lengths[longest], memory // each)

        return Waiting(lengths, fits, max(1, len(requests))), 1

    threads, sharing = threads_for(first, len(lengths), options.width)
    rounds = -(-len(lengths) * options.width // (threads * first.together))
    most = -(-len(lengths) // (threads * rounds))  # of equal size, because few rows are slow for their number
    tokens = options.batch_tokens or sys.maxsize
    waiting = Waiting(lengths, lambda longest: tokens // lengths[longest], most, joining=True)
    # Only as many likely tokens as beam search needs, where nothing else needs more.
    needs_all = options.sample or options.repetition_penalty != 1 or len(models) > 1
    candidates = 0 if needs_all else 2 * options.beam + MORE
    candidates = candidates if candidates < min(first.config.target_size, MOST_CANDIDATES + 1) else 0
    in_order = [requests[place] for place in waiting.order]
    limits, sources = [each.max_length for each in in_order], [len(each.source) for each in in_order]
    while True:
        room = Room.of(sources, limits, waiting.most, options.width, candidates, rules.forbidden)
        waiting.room = room = replace(room, threads=sharing)
        needed = sum(each.room_bytes(room) for each in models if not isinstance(each, Transformer))
        needed = threads * (needed + options.sample * DRAWING)
        if needed <= memory or waiting.most == 1:
            return waiting, threads if needed <= memory else 1
        waiting.most = waiting.most * 7 // 8


def threads_for(engine: Engine | CapturedEngine, sentences: int, width: int) -> tuple[int, int]:
    """Return two numbers: how many threads decode sentences of their own, and how many threads share the work
    of each of their steps. With few hypotheses, sharing is faster, because the weights are read only once."""
    threads = max(1, torch.get_num_threads())
    if isinstance(engine, CapturedEngine):
        return 1, 1
    if not engine.can_share_steps():
        return min(threads, sentences), 1
    alone = max(1, min(threads, sentences, sentences * width // engine.apart))
    return alone, min(MOST_SHARING, threads // alone)


@contextmanager
def evaluating(*models: Decoder) -> Iterator[None]:
    """Keep the models in evaluation mode (no dropout) until the block ends; then restore the mode of each."""
    modules = [each.model if isinstance(each, CapturedEngine) else each for each in models]
    in_training = [model for model in modules if isinstance(model, Transformer) and model.training]
    for model in in_training:
        model.eval()
    try:
        yield
    finally:
        for model in in_training:
            model.train()


def batches(lengths: Sequence[int], batch_tokens: int) -> Iterator[list[int]]:
    """Yield groups of indices, longest sentences first. A group has at most `batch_tokens` tokens, padding
    included; a longer sentence is a group of its own."""
    group: list[int] = []
    for place in sorted(range(len(lengths)), key=lambda place: -lengths[place]):
        if group and (len(group) + 1) * lengths[group[0]] > batch_tokens:
            yield group
            group = []
        group.append(place)
    if group:
        yield group
