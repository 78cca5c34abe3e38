"""A short training in memory, for experiments: no folder, no checkpoints, the same data for all who learn."""

import dataclasses
import itertools
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import Any

from pellucid.config.schema import Config
from pellucid.config.toml_file import read
from pellucid.data import phrasebook
from pellucid.data.batch import Batch, batches
from pellucid.data.corpus import Pair
from pellucid.data.examples import Example, encode_pairs
from pellucid.learning.learner import Learner
from pellucid.learning.setting_up import fitted, learned_vocabulary
from pellucid.learning.step import Update
from pellucid.text.vocabulary import Vocabulary


@dataclass(frozen=True)
class Material:
    """What is learned from, and what is judged with; the configuration's model fits the vocabulary."""

    config: Config
    vocabulary: Vocabulary
    examples: list[Example]
    validation: list[Batch]
    held_out: list[Pair]


def phrasebook_material(settings: dict[str, Any]) -> Material:
    """The demo's corpus and configuration; `settings` {"section.key": value} change the configuration."""
    path = Path(str(files("pellucid"))) / "demo.toml"
    languages = {"data.languages": [list(direction) for direction in phrasebook.DIRECTIONS]}
    parts = phrasebook.split()
    train = [
        dataclasses.replace(pair, source=source, target=target)
        for phrase, pair in zip(parts.train, _pairs(parts.train), strict=True)
        for source, target in phrasebook.variants(phrase)
    ]
    return material(read(path, languages | settings), train, _pairs(parts.validation), _pairs(parts.held_out))


def material(
    config: Config, train: Sequence[Pair], validation: Sequence[Pair], held_out: Sequence[Pair]
) -> Material:
    """A vocabulary learned from the pairs, and the pairs as ids."""
    vocabulary = learned_vocabulary(train, config)
    config = dataclasses.replace(config, model=fitted(config, vocabulary))
    examples, _ = encode_pairs(train, vocabulary, config.data)
    judged, _ = encode_pairs(validation, vocabulary, config.data)
    special = vocabulary.start_id, vocabulary.pad_id
    together = list(batches(judged, 0, 0, config.training.batch_tokens, *special))
    return Material(config, vocabulary, examples, together, list(held_out))


def learning(learner: Learner, lessons: Material, steps: int) -> Iterator[Update]:
    """So many steps of training, one an iteration: the same batches in the same order for every learner."""
    training, vocabulary = lessons.config.training, lessons.vocabulary
    special = vocabulary.start_id, vocabulary.pad_id
    epochs = (
        batches(lessons.examples, training.seed, epoch, training.batch_tokens, *special)
        for epoch in itertools.count()
    )
    for number, batch in enumerate(itertools.islice(itertools.chain.from_iterable(epochs), steps), start=1):
        yield learner.learn([batch], number)


def _pairs(phrases: Iterable[phrasebook.Phrase]) -> list[Pair]:
    """Phrases as the corpus has them."""
    return [
        Pair(
            phrase.source,
            phrase.target,
            phrasebook.DIRECTIONS.index((phrase.source_language, phrase.target_language)),
            line,
            phrase.direction,
        )
        for line, phrase in enumerate(phrases, start=1)
    ]
