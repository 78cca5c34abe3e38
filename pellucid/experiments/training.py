"""A short training in memory: no folder, no checkpoints, the same batches for every model that learns."""

import dataclasses
import itertools
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import Any

import torch

from pellucid.config.schema import Config
from pellucid.config.toml_file import read
from pellucid.data import phrasebook
from pellucid.data.batch import Batch, batches
from pellucid.data.corpus import Pair
from pellucid.data.examples import Example, encode_pairs
from pellucid.learning.learner import Learner
from pellucid.learning.setting_up import fitted, learned_vocabulary
from pellucid.model import Transformer
from pellucid.text.vocabulary import Vocabulary


@dataclass(frozen=True)
class Corpus:
    """What is learned from, and what is judged with; the configuration's model fits the vocabulary."""

    config: Config
    vocabulary: Vocabulary
    examples: list[Example]
    validation: list[Batch]
    held_out: list[Pair]


def demo_corpus(settings: dict[str, Any]) -> Corpus:
    """Return the demo's corpus and configuration, changed by `settings` {"section.key": value}."""
    path = Path(str(files("pellucid"))) / "demo.toml"
    languages = {"data.languages": [list(direction) for direction in phrasebook.DIRECTIONS]}
    parts = phrasebook.split()
    train = [
        dataclasses.replace(_pair(phrase, line), source=source, target=target)
        for line, phrase in enumerate(parts.train, start=1)
        for source, target in phrasebook.variants(phrase)
    ]
    validation, held_out = (
        [_pair(*each) for each in zip(part, itertools.count(1))]
        for part in (parts.validation, parts.held_out)
    )
    return corpus_of(read(path, languages | settings), train, validation, held_out)


def corpus_of(
    config: Config, train: Sequence[Pair], validation: Sequence[Pair], held_out: Sequence[Pair]
) -> Corpus:
    """Learn a vocabulary from the pairs, and turn them into ids."""
    vocabulary = learned_vocabulary(train, config)
    config = dataclasses.replace(config, model=fitted(config, vocabulary))
    examples, _ = encode_pairs(train, vocabulary, config.data)
    judged, _ = encode_pairs(validation, vocabulary, config.data)
    special = vocabulary.start_id, vocabulary.pad_id
    together = list(batches(judged, 0, 0, config.training.batch_tokens, *special))
    return Corpus(config, vocabulary, examples, together, list(held_out))


def trained(
    kind: type[Transformer],
    corpus: Corpus,
    steps: int,
    watch: Callable[[int, Transformer], None] = lambda step, model: None,
) -> tuple[Learner, list[float]]:
    """Train a model of this kind; return what has learned, and the loss of each step. `watch` sees each step."""
    training, special = corpus.config.training, (corpus.vocabulary.start_id, corpus.vocabulary.pad_id)
    epochs = (
        batches(corpus.examples, training.seed, epoch, training.batch_tokens, *special)
        for epoch in itertools.count()
    )
    losses = []
    with torch.random.fork_rng([]):  # the caller's random numbers stay as they are
        torch.manual_seed(training.seed)
        learner = Learner(kind(corpus.config.model), training)
        for step, batch in enumerate(itertools.islice(itertools.chain.from_iterable(epochs), steps), start=1):
            losses.append(learner.learn([batch], step).plain_loss)
            watch(step, learner.model)
    return learner, losses


def _pair(phrase: phrasebook.Phrase, line: int) -> Pair:
    language = phrasebook.DIRECTIONS.index((phrase.source_language, phrase.target_language))
    return Pair(phrase.source, phrase.target, language, line, phrase.direction)
