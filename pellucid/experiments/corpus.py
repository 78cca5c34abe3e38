"""The demo's corpus for a short training in memory: no folder, no checkpoints."""

import dataclasses
import itertools
from collections.abc import Iterator, Sequence
from importlib.resources import files
from pathlib import Path
from typing import Any

from pellucid.config.schema import Config
from pellucid.config.toml_file import read
from pellucid.data import phrasebook
from pellucid.data.batch import Batch, batches
from pellucid.data.corpus import Pair
from pellucid.data.examples import Example, encode_pairs
from pellucid.learning.setting_up import fitted, learned_vocabulary
from pellucid.text.vocabulary import Vocabulary


@dataclasses.dataclass(frozen=True)
class Corpus:
    """What is learned from, and what is judged with; the configuration's model fits the vocabulary."""

    config: Config
    vocabulary: Vocabulary
    examples: list[Example]
    validation: list[Batch]
    held_out: Sequence[Pair]


def demo_corpus(settings: dict[str, Any]) -> Corpus:
    """Return the demo's corpus and configuration, changed by `settings` {"section.key": value}."""
    path = Path(str(files("pellucid"))) / "demo.toml"
    languages = {"data.languages": [list(direction) for direction in phrasebook.DIRECTIONS]}
    parts = phrasebook.split()
    train = [_pair(phrase, *texts) for phrase in parts.train for texts in phrasebook.variants(phrase)]
    others = (
        [_pair(each, each.source, each.target) for each in part]
        for part in (parts.validation, parts.held_out)
    )
    return corpus_of(read(path, languages | settings), train, *others)


def corpus_of(
    config: Config, train: Sequence[Pair], validation: Sequence[Pair], held_out: Sequence[Pair]
) -> Corpus:
    """Learn a vocabulary from the pairs, and turn them into ids."""
    vocabulary = learned_vocabulary(train, config)
    config = dataclasses.replace(config, model=fitted(config, vocabulary))
    (examples, _), (judged, _) = (encode_pairs(part, vocabulary, config.data) for part in (train, validation))
    special = vocabulary.start_id, vocabulary.pad_id
    together = list(batches(judged, 0, 0, config.training.batch_tokens, *special))
    return Corpus(config, vocabulary, examples, together, held_out)


def training_batches(corpus: Corpus, steps: int) -> Iterator[Batch]:
    """The same batches in the same order for every model that learns."""
    training, special = corpus.config.training, (corpus.vocabulary.start_id, corpus.vocabulary.pad_id)
    epochs = (
        batches(corpus.examples, training.seed, epoch, training.batch_tokens, *special)
        for epoch in itertools.count()
    )
    return itertools.islice(itertools.chain.from_iterable(epochs), steps)


def _pair(phrase: phrasebook.Phrase, source: str, target: str) -> Pair:
    language = phrasebook.DIRECTIONS.index((phrase.source_language, phrase.target_language))
    return Pair(source, target, language, 1, phrase.direction)
