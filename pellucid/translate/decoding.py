"""The Transformer as search wants it, and its sentences in batches."""

import functools
import threading
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager

import torch
from torch import Tensor

from pellucid.cache import GrowingPast
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

# Source tokens times hypotheses that are decoded together unless a call says otherwise: more is not faster.
TOGETHER = {"cpu": 10_000, "cuda": 100_000}
HYPOTHESES_TOGETHER = 128  # in the engine: of which each step does all products before it begins the next


class TransformerDecoding:
    """Sources that a Transformer has read, their keys and values made once, and a past that grows."""

    @torch.no_grad()
    def __init__(self, model: Transformer, source_BM: Tensor, source_mask_BM: Tensor) -> None:
        self.device = source_BM.device
        self._model = model
        self._memory = model.remember(model.encode(source_BM, source_mask_BM), source_mask_BM)
        self._past = GrowingPast()

    @torch.no_grad()
    def step(self, tokens: Array) -> Tensor:
        """The last token of each row -> the logits of its next token, rows x V."""
        ids = torch.from_numpy(tokens).to(self.device)
        return self._model.decode(ids[:, None], self._memory, self._past)[:, 0]

    def select(self, rows: Array, sentences: Array | None) -> None:
        """Go on with these rows, which belong to these sentences (None: to all, as before)."""
        self._past.select(torch.from_numpy(rows).to(self.device))
        if sentences is not None:
            self._memory = self._memory.select(torch.from_numpy(sentences).to(self.device))


def decode(
    models: Sequence[Transformer | Engine],
    sources: Sequence[Sequence[int]],
    requests: Sequence[Request],
    rules: Rules,
    options: Options,
) -> list[list[Found]]:
    """The hypotheses of each source, best first, in the order of the sources."""
    hypotheses: list[list[Found]] = [[] for _ in sources]
    sentence_seeds = options.seeds.of(sources) if options.sample else [0] * len(sources)
    stop = threading.Event()

    def decode_group(group: Sequence[int]) -> None:
        some_sources = [sources[place] for place in group]
        some_requests = [requests[place] for place in group]
        some_seeds = [sentence_seeds[place] for place in group]
        for step in decode_batch(models, some_sources, some_requests, some_seeds, rules, options):
            for place, found in step.done.items():
                hypotheses[group[place]] = found
            if stop.is_set():
                return

    groups, threads = groups_of(models, [len(ids) for ids in sources], options)
    with evaluating(*(model for model in models if isinstance(model, Transformer))):
        if threads == 1:
            for group in groups:
                decode_group(group)
            return hypotheses
        # What computes here lets other threads run meanwhile; a group shares nothing but the weights.
        with ThreadPoolExecutor(threads) as pool:
            try:
                for _ in pool.map(decode_group, groups):
                    pass
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
) -> Iterator[SearchStep]:
    """Sources decoded together, a token a step; several models are an ensemble."""
    choose: Choose = functools.partial(best, beam=options.beam)
    kept = 2 * options.beam
    if options.sample:
        chance = Chance(sentence_seeds, options.n_best)
        choose, kept = functools.partial(draw, sampling=options.sampling, chance=chance), 0
    if len(models) > 1:
        kept = 0
    decodings = [decoding_of(model, sources, requests, rules, kept) for model in models]
    decoding = decodings[0] if len(decodings) == 1 else EnsembleDecoding(decodings)
    return search(decoding, requests, rules, choose)


def decoding_of(
    model: Transformer | Engine,
    sources: Sequence[Sequence[int]],
    requests: Sequence[Request],
    rules: Rules,
    kept: int = 0,
) -> Decoding:
    """Sources that the model has read; an engine gives only what decides where search keeps `kept` tokens."""
    if isinstance(model, Transformer):
        return TransformerDecoding(model, *pad(sources, model.config.pad_id, device_of(model)))
    longest = max((request.max_length for request in requests), default=1)
    forced = max((len(request.prefix) for request in requests), default=0)
    return model.read(sources, rules.width, longest, kept, rules.forbidden, forced)


@contextmanager
def evaluating(*models: Transformer) -> Iterator[None]:
    """Without dropout; afterwards a model is in training again if it was."""
    in_training = [model for model in models if model.training]
    for model in in_training:
        model.eval()
    try:
        yield
    finally:
        for model in in_training:
            model.train()


def batches(lengths: Sequence[int], batch_tokens: int) -> Iterator[list[int]]:
    """Places in the list, the longest first, in groups of at most `batch_tokens` with padding, or of one."""
    group: list[int] = []
    for place in sorted(range(len(lengths)), key=lambda place: -lengths[place]):
        if group and (len(group) + 1) * lengths[group[0]] > batch_tokens:
            yield group
            group = []
        group.append(place)
    if group:
        yield group
