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
    languages = {"data.languages": [list(direction) for direction in phrasebook.DIRECTIONS]}
    config = read(Path(str(files("pellucid"))) / "demo.toml", languages | settings)
    parts, found = phrasebook.split(), []
    for part in (parts.train, parts.validation, parts.held_out):
        pairs: list[Pair] = []
        for each in part:
            language = phrasebook.DIRECTIONS.index((each.source_language, each.target_language))
            texts = phrasebook.variants(each) if part is parts.train else [(each.source, each.target)]
            pairs += [Pair(*text, language, 1, each.direction) for text in texts]
        found.append(pairs)
    return corpus_of(config, *found)


def corpus_of(
    config: Config, train: Sequence[Pair], validation: Sequence[Pair], held_out: Sequence[Pair]
) -> Corpus:
    """Learn a vocabulary from the pairs, and turn them into ids."""
    vocabulary = learned_vocabulary(train, config)
    config = dataclasses.replace(config, model=fitted(config, vocabulary))
    examples, judged = (encode_pairs(part, vocabulary, config.data)[0] for part in (train, validation))
    special = vocabulary.start_id, vocabulary.pad_id
    together = list(batches(judged, 0, 0, config.training.batch_tokens, *special))
    return Corpus(config, vocabulary, examples, together, held_out)


def training_batches(corpus: Corpus, steps: int) -> Iterator[Batch]:
    """Yield the same batches in the same order for every model that learns."""
    training, special = corpus.config.training, (corpus.vocabulary.start_id, corpus.vocabulary.pad_id)
    size = training.batch_tokens
    epochs = (batches(corpus.examples, training.seed, n, size, *special) for n in itertools.count())
    return itertools.islice(itertools.chain.from_iterable(epochs), steps)
