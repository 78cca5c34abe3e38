"""Measure what settings are chosen by: what the text is like, and how fast this machine trains on it and
translates. That takes a few real steps and translations; what they teach a model is thrown away."""

import dataclasses
import itertools
import math
import random
import re
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import closing
from statistics import median
from typing import NamedTuple

import torch

from pellucid.config.schema import Config
from pellucid.data.batch import Batch, Order, batches, plan_batches
from pellucid.data.corpus import Pair
from pellucid.data.examples import encode_pairs
from pellucid.folder.load import Loaded
from pellucid.learning.learner import Learner
from pellucid.learning.setting_up import prepare_torch
from pellucid.learning.starting import fit_sizes, prepare_vocabulary, start_from
from pellucid.learning.validation import validate
from pellucid.model import Transformer

# A closed set of words, where each word can be a token. A longer list is never complete.
WORDS_AT_MOST, SEEN_AT_LEAST = 1000, 50  # different words; how often each occurs on average
CHARACTERS_AT_MOST = 500
# Subwords by the number of pairs: fewer for less text (Sennrich and Zhang 2019).
SUBWORDS = {10_000: 2_000, 500_000: 10_000, 2_000_000: 16_000, math.inf: 32_000}
SPECIAL = 5  # pad, unknown, start, end, and the mark of a word's beginning

PAIRS_AT_MOST = 20_000  # that the pace is measured on, drawn at random: every n-th line may be of one kind
STEPS = 6  # the first one is not counted: it waits for the worker processes, and compiles
SENTENCES = 32
SHARE = 0.02  # of the training time, after which no further step is measured


class Corpus(NamedTuple):
    """Statistics of a corpus, from which settings are chosen. White space does not count as a character."""

    pairs: int
    words: tuple[float, float]  # the mean of a source and of a target
    characters: tuple[float, float]
    different_words: int
    different_characters: int
    letters: float  # their share of the characters
    subwords: int  # number of subwords that the text certainly yields


def look_at(pairs: Sequence[Pair]) -> Corpus:
    """Return the statistics of a corpus."""
    sources = Counter(word for pair in pairs for word in pair.source.split())
    targets = Counter(word for pair in pairs for word in pair.target.split())
    lengths = [sum(len(word) * count for word, count in side.items()) for side in (sources, targets)]
    words, characters = sources + targets, Counter[str]()
    for word, count in words.items():
        for character in word:
            characters[character] += count
    # Merges of characters end at whole words, so each run of letters becomes a subword.
    runs = {run for word in words for run in re.findall(r"[^\W\d_]{2,16}", word)}
    letters = sum(count for character, count in characters.items() if character.isalpha())
    return Corpus(
        pairs=len(pairs),
        words=(sources.total() / len(pairs), targets.total() / len(pairs)),
        characters=(lengths[0] / len(pairs), lengths[1] / len(pairs)),
        different_words=len(words),
        different_characters=len(characters),
        letters=letters / max(characters.total(), 1),
        subwords=len(characters) + len(runs),
    )


def kind_of(corpus: Corpus) -> str:
    """Return what a token should be: "words" if there are few different words and they are frequent,
    "characters" if lines are strings or numbers rather than sentences, else "subwords"."""
    few = corpus.different_words <= WORDS_AT_MOST
    words = corpus.pairs * sum(corpus.words)
    if few and words >= SEEN_AT_LEAST * corpus.different_words and corpus.words[0] >= 2:
        return "words"
    short = max(corpus.characters) <= 100
    no_words = corpus.words[0] < 1.5 or corpus.letters < 0.5
    if corpus.different_characters <= CHARACTERS_AT_MOST and short and no_words:
        return "characters"
    return "subwords"


def vocabulary_size(corpus: Corpus, kind: str) -> int:
    """Return how many tokens the vocabulary should have, including special ones such as padding."""
    usual = next(size for pairs, size in SUBWORDS.items() if corpus.pairs < pairs)
    tokens = {"words": corpus.different_words, "characters": corpus.different_characters}
    return tokens[kind] + SPECIAL if kind in tokens else min(usual, corpus.subwords + SPECIAL)


def tokens_of(corpus: Corpus, kind: str) -> float:
    """Return the mean number of tokens on the side that has more; an estimate if tokens are subwords."""
    tokens = (
        {"words": words, "characters": words + characters}.get(kind, max(1.3 * words, characters / 4))
        for words, characters in zip(corpus.words, corpus.characters, strict=True)
    )
    return max(tokens) + 1


class Pace(NamedTuple):
    """How fast a machine is with some settings."""

    step: float  # seconds
    pairs: float  # that a step learns from, on average
    sentence: float  # seconds to validate one


def measure(
    pairs: Sequence[Pair], config: Config, device: torch.device, started: Loaded | None = None
) -> Pace:
    """Measure the pace with these settings, on a model of its own and a part of the pairs.

    started: the model that the training starts from, if there is one.
    """
    pairs = random.Random(config.training.seed).sample(pairs, min(len(pairs), PAIRS_AT_MOST))
    prepare_torch(config.training)
    if started:
        vocabulary, model = start_from(started, config)
    else:
        size = min(config.vocabulary.size, look_at(pairs).subwords + SPECIAL)
        smaller = dataclasses.replace(config.vocabulary, size=size)
        vocabulary = prepare_vocabulary(pairs, dataclasses.replace(config, vocabulary=smaller))
        model = Transformer(fit_sizes(config, vocabulary))
    examples, _ = encode_pairs(pairs, vocabulary, config.data)
    training = config.training
    given = examples, vocabulary, training.batch_tokens, training.seed
    epochs = (batches(*given, epoch) for epoch in itertools.count())
    in_epoch = sum(1 for _ in plan_batches(examples, Order(training.batch_tokens, training.seed), 0))
    with closing(Learner(model.to(device), training)) as learner:
        learner.start_workers()
        step = _time_steps(learner, itertools.chain.from_iterable(epochs))
    sentences = pairs[:: 1 + len(pairs) // SENTENCES]
    for some in (sentences[:1], sentences):  # the first one loads sacreBLEU and the kernels
        began = time.perf_counter()
        validate(learner.model, vocabulary, config, {"": ([], some)})
    of_step = training.accumulate * len(examples) / in_epoch
    return Pace(step, of_step, (time.perf_counter() - began) / len(sentences))


def _time_steps(learner: Learner, of_all: Iterator[Batch]) -> float:
    """Return the seconds of a step (the median)."""
    training, seconds = learner.training, list[float]()
    while len(seconds) < STEPS:
        taken = list(itertools.islice(of_all, training.accumulate))
        began = time.perf_counter()
        learner.learn(taken, len(seconds) + 1)
        seconds.append(time.perf_counter() - began)
        if len(seconds) > 1 and sum(seconds) > SHARE * 60 * (training.minutes or 0.0):
            break
    return median(seconds[1:])
