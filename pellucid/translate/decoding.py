"""The Transformer in the form that the search needs, and its sentences in batches."""

import functools
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import torch
from torch import Tensor

from pellucid.cache import GrowingPast, Memory
from pellucid.config.device import device_of
from pellucid.data.batch import pad
from pellucid.model import Transformer
from pellucid.translate.beam import best
from pellucid.translate.ensemble import EnsembleDecoding
from pellucid.translate.hypotheses import Found
from pellucid.translate.options import Options
from pellucid.translate.sample import Chance, draw
from pellucid.translate.search import Choose, Decoding, Request, Rules, SearchStep, search

# The default for source tokens times hypotheses that are decoded together: more is not faster.
TOGETHER = {"cpu": 10_000, "cuda": 100_000}


class TransformerDecoding:
    """A Transformer that has encoded its sources: their keys and values, and a past that grows."""

    def __init__(self, model: Transformer, memory: Memory) -> None:
        self.device = device_of(model)
        self._model = model
        self._memory = memory
        self._past = GrowingPast()

    def step(self, tokens: Tensor) -> Tensor:
        """The last token of each row -> the logits of the next token, rows x V."""
        return self._model.decode(tokens[:, None], self._memory, self._past)[:, 0]

    def select(self, rows: Tensor, sentences: Tensor | None) -> None:
        """Continue with these rows, which belong to these sentences (None: to all, as before)."""
        self._past.select(rows)
        if sentences is not None:
            self._memory = self._memory.select(sentences)


def decode(
    models: Sequence[Transformer],
    sources: Sequence[Sequence[int]],
    requests: Sequence[Request],
    rules: Rules,
    options: Options,
) -> list[list[Found]]:
    """Return the hypotheses of each source, best first, in the order of the sources."""
    hypotheses: list[list[Found]] = [[] for _ in sources]
    together = options.batch_tokens or max(
        1, TOGETHER.get(device_of(models[0]).type, TOGETHER["cpu"]) // options.width
    )
    sentence_seeds = options.seeds.of(sources) if options.sample else [0] * len(sources)
    with evaluating(*models):
        for group in batches([len(ids) for ids in sources], together):
            some_sources = [sources[place] for place in group]
            some_requests = [requests[place] for place in group]
            some_seeds = [sentence_seeds[place] for place in group]
            for step in decode_batch(models, some_sources, some_requests, some_seeds, rules, options):
                for place, found in step.done.items():
                    hypotheses[group[place]] = found
    return hypotheses


def decode_batch(
    models: Sequence[Transformer],
    sources: Sequence[Sequence[int]],
    requests: Sequence[Request],
    sentence_seeds: Sequence[int],
    rules: Rules,
    options: Options,
) -> Iterator[SearchStep]:
    """Decode sources together, a token a step; several models are an ensemble."""
    source, mask = pad(sources, models[0].config.pad_id, device_of(models[0]))
    decodings: list[Decoding] = []
    for model in models:
        with torch.no_grad():
            memory = model.remember(model.encode(source, mask), mask)
        decodings.append(TransformerDecoding(model, memory))
    decoding = decodings[0] if len(decodings) == 1 else EnsembleDecoding(decodings)
    choose: Choose = functools.partial(best, beam=options.beam)
    if options.sample:
        chance = Chance(sentence_seeds, options.n_best)
        choose = functools.partial(draw, options=options, chance=chance)
    return search(decoding, requests, rules, choose)


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
