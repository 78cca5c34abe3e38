"""Measure how fast this machine trains and translates: a few real steps and translations of a part of the
text. What they teach the model is thrown away."""

import dataclasses
import itertools
import statistics
import time
from collections.abc import Iterator, Sequence
from contextlib import closing
from typing import NamedTuple

import torch

from pellucid.config.schema import Config
from pellucid.data.batch import Batch, batches
from pellucid.data.corpus import Pair
from pellucid.data.examples import encode_pairs
from pellucid.folder.load import Loaded
from pellucid.learning.learner import Learner
from pellucid.learning.setting_up import fit_sizes, prepare_torch, prepare_vocabulary, start_from
from pellucid.learning.statistics import SPECIAL, look_at
from pellucid.learning.validation import validate
from pellucid.model import Transformer
from pellucid.text.vocabulary import Vocabulary

PAIRS_AT_MOST = 20_000  # of the text; their batches are as full as those of all
STEPS = 6  # the first one is not counted: it waits for the worker processes, and compiles
SENTENCES = 32
SHARE = 0.02  # of the training time, after which no further step is measured


class Pace(NamedTuple):
    """How fast a machine is with some settings."""

    step: float  # seconds
    pairs: float  # that a step learns from
    sentence: float  # seconds to validate one


class Measuring:
    """A part of a text, to measure with. The vocabulary is learned from it once."""

    def __init__(self, pairs: Sequence[Pair], device: torch.device, started: Loaded | None = None) -> None:
        self.pairs = pairs[:: 1 + len(pairs) // PAIRS_AT_MOST]
        self.device, self.started = device, started
        self.vocabulary: Vocabulary | None = None

    def pace(self, config: Config) -> Pace:
        """Measure the pace with these settings, on a model of its own."""
        prepare_torch(config.training)
        if self.started:
            vocabulary, model = start_from(self.started, config)
        else:
            vocabulary = self.vocabulary = self.vocabulary or self._learn_vocabulary(config)
            model = Transformer(fit_sizes(config, vocabulary))
        examples, _ = encode_pairs(self.pairs, vocabulary, config.data)
        special = config.training.batch_tokens, vocabulary.start_id, vocabulary.pad_id
        epochs = (batches(examples, config.training.seed, epoch, *special) for epoch in itertools.count())
        with closing(Learner(model.to(self.device), config.training)) as learner:
            learner.start_workers()
            step, pairs = _time_steps(learner, itertools.chain.from_iterable(epochs))
        sentences = self.pairs[:: 1 + len(self.pairs) // SENTENCES]
        for some in (sentences[:1], sentences):  # the first one loads sacreBLEU and the kernels
            began = time.perf_counter()
            validate(learner.model, vocabulary, config, {"": ([], some)})
        return Pace(step, pairs, (time.perf_counter() - began) / len(sentences))

    def _learn_vocabulary(self, config: Config) -> Vocabulary:
        size = min(config.vocabulary.size, look_at(self.pairs).subwords + SPECIAL)
        words = dataclasses.replace(config.vocabulary, size=size)
        return prepare_vocabulary(self.pairs, dataclasses.replace(config, vocabulary=words))


def _time_steps(learner: Learner, of_all: Iterator[Batch]) -> tuple[float, float]:
    """Return the seconds of a step (the median) and its number of pairs (the mean)."""
    training, seconds, pairs = learner.training, list[float](), list[int]()
    while len(seconds) < STEPS:
        taken = list(itertools.islice(of_all, training.accumulate))
        began = time.perf_counter()
        learner.learn(taken, len(seconds) + 1)
        seconds.append(time.perf_counter() - began)
        pairs.append(sum(len(batch.origins) for batch in taken))
        if len(seconds) > 1 and sum(seconds) > SHARE * 60 * (training.minutes or 0.0):
            break
    return statistics.median(seconds[1:]), statistics.fmean(pairs)
