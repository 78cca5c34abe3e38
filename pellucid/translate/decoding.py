"""The Transformer in the form that the search needs, and its sentences in batches."""

import functools
import threading
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager

import torch
from torch import Tensor

from pellucid.cache import GrowingPast, Memory
from pellucid.config.device import device_of
from pellucid.data.batch import pad
from pellucid.engine.decoding import Engine
from pellucid.model import Transformer
from pellucid.translate.beam import best
from pellucid.translate.ensemble import EnsembleDecoding
from pellucid.translate.hypotheses import Array, Found
from pellucid.translate.options import Options
from pellucid.translate.sample import Chance, draw
from pellucid.translate.search import Choose, Decoding, Request, Rules, SearchStep, search

# The default for source tokens times hypotheses that are decoded together: more is not faster.
TOGETHER = {"cpu": 10_000, "cuda": 100_000}
HYPOTHESES_TOGETHER = 128  # in the engine: of which each step does all products before it begins the next


class TransformerDecoding:
    """A Transformer that has encoded its sources: their keys and values, and a past that grows."""

    def __init__(self, model: Transformer, memory: Memory) -> None:
        self._device = device_of(model)
        self._model = model
        self._memory = memory
        self._past = GrowingPast()

    @torch.no_grad()
    def step(self, tokens: Array) -> Tensor:
        """The last token of each row -> the logits of the next token, rows x V."""
        ids = torch.from_numpy(tokens).to(self._device)
        return self._model.decode(ids[:, None], self._memory, self._past)[:, 0]

    def select(self, rows: Array, sentences: Array | None) -> None:
        """Continue with these rows, which belong to these sentences (None: to all, as before)."""
        self._past.select(torch.from_numpy(rows).to(self._device))
        if sentences is not None:
            self._memory = self._memory.select(torch.from_numpy(sentences).to(self._device))


def decode(
    models: Sequence[Transformer | Engine],
    sources: Sequence[Sequence[int]],
    requests: Sequence[Request],
    rules: Rules,
    options: Options,
) -> list[list[Found]]:
    """Return the hypotheses of each source, best first, in the order of the sources."""
    hypotheses: list[list[Found]] = [[] for _ in sources]
    seeds = options.seeds.of(sources) if options.sample else [0] * len(sources)
    stop = threading.Event()

    def part(group: Sequence[int]) -> tuple[list[Sequence[int]], list[Request], list[int]]:
        return [sources[n] for n in group], [requests[n] for n in group], [seeds[n] for n in group]

    def finish(group: Sequence[int], steps: Iterator[SearchStep]) -> None:
        for step in steps:
            for place, found in step.done.items():
                hypotheses[group[place]] = found
            if stop.is_set():
                return

    def decode_group(group: Sequence[int]) -> None:
        finish(group, decode_batch(models, *part(group), rules, options))

    groups, threads = groups_of(models, [len(ids) for ids in sources], options)
    with evaluating(*(model for model in models if isinstance(model, Transformer))):
        if threads == 1:
            for group in groups:
                finish(group, decode_batch(models, *part(group), rules, options))
            return hypotheses
        # While the engine computes, other threads run; groups share nothing but the weights.
        with ThreadPoolExecutor(threads) as pool:
            try:
                list(pool.map(decode_group, groups))
            finally:
                stop.set()
    return hypotheses


def groups_of(
    models: Sequence[Transformer | Engine], lengths: Sequence[int], options: Options
) -> tuple[list[list[int]], int]:
    """Which sentences are decoded together, and how many such groups at once."""
    first = models[0]
    if isinstance(first, Transformer):
        fits = TOGETHER.get(device_of(first).type, TOGETHER["cpu"]) // options.width
        return list(batches(lengths, options.batch_tokens or max(1, fits))), 1
    threads = max(1, min(torch.get_num_threads(), len(lengths)))
    if options.batch_tokens:
        groups = list(batches(lengths, options.batch_tokens))
    else:
        together = max(1, min(HYPOTHESES_TOGETHER // options.width, -(-len(lengths) // threads)))
        order = sorted(range(len(lengths)), key=lambda place: -lengths[place])
        groups = [order[start : start + together] for start in range(0, len(order), together)]
    return groups, min(threads, max(1, len(groups)))


def decode_batch(
    models: Sequence[Transformer | Engine],
    sources: Sequence[Sequence[int]],
    requests: Sequence[Request],
    sentence_seeds: Sequence[int],
    rules: Rules,
    options: Options,
    choose: Choose | None = None,
) -> Iterator[SearchStep]:
    """Decode sources together, a token a step; several models are an ensemble.

    An engine gives only as many likely tokens as beam search needs, where nothing else needs more.
    """
    kept = 0 if options.sample or len(models) > 1 else 2 * options.beam
    if options.sample:
        chance = Chance(sentence_seeds, options.n_best)
        choose = functools.partial(draw, options=options, chance=chance)
    longest = max((request.max_length for request in requests), default=1)
    forced = max((len(request.prefix) for request in requests), default=0)
    decodings: list[Decoding] = []
    for model in models:
        if isinstance(model, Transformer):
            source, mask = pad(sources, model.config.pad_id, device_of(model))
            with torch.no_grad():
                memory = model.remember(model.encode(source, mask), mask)
            decodings.append(TransformerDecoding(model, memory))
        else:
            decodings.append(model.read(sources, rules.width, longest, kept, rules.forbidden, forced))
    decoding = decodings[0] if len(decodings) == 1 else EnsembleDecoding(decodings)
    return search(decoding, requests, rules, choose or functools.partial(best, beam=options.beam))


@contextmanager
def evaluating(*models: Transformer) -> Iterator[None]:
    """Put the models into evaluation mode, without dropout; afterwards each is in its own mode again."""
    in_training = [model for model in models if model.training]
    for model in in_training:
        model.eval()
    try:
        yield
    finally:
        for model in in_training:
            model.train()


def batches(lengths: Sequence[int], batch_tokens: int) -> Iterator[list[int]]:
    """Yield groups of places in the list, the longest sentences first: at most `batch_tokens` with padding,
    or one sentence."""
    group: list[int] = []
    for place in sorted(range(len(lengths)), key=lambda place: -lengths[place]):
        if group and (len(group) + 1) * lengths[group[0]] > batch_tokens:
            yield group
            group = []
        group.append(place)
    if group:
        yield group
