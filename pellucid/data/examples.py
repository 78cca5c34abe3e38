"""Encode pairs of sentences as token ids: once, or again in each epoch with subword sampling."""

import hashlib
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from pellucid.config.schema import DataConfig
from pellucid.data.corpus import Pair, Report, nothing_left, target_language
from pellucid.text.vocabulary import Vocabulary


@dataclass(frozen=True, slots=True)
class Example:
    """The token ids of a pair; both sides end with the end token."""

    source: list[int]
    target: list[int]
    pair: Pair


def encode_pairs(
    pairs: Sequence[Pair], vocabulary: Vocabulary, data: DataConfig, report: Report | None = None
) -> tuple[list[Example], Report]:
    """Encode the pairs as token ids. Leave out pairs that are empty, too long or too unequal in length, and
    count them in the report. Raise an error if none is left."""
    counts = Counter(vars(report or Report(read=len(pairs))))
    tags = len({target for _, target in vocabulary.languages}) > 1
    examples: list[Example] = []
    for pair in pairs:
        example = _encode(pair, vocabulary)
        shorter, longer = sorted((len(example.source), len(example.target)))
        if len(example.source) <= 1 + tags or len(example.target) <= 1:
            counts["empty"] += 1  # a text of U+200B, for example, is nothing to the vocabulary
        elif longer > data.max_length:
            counts["too_long"] += 1
        elif longer > data.max_ratio * shorter:
            counts["ratio"] += 1
        else:
            examples.append(example)
    counts["kept"] = len(examples)
    report = Report(**counts)
    if pairs and not examples:
        raise nothing_left(pairs[0].file, report)
    return examples, report


def unknown_shares(examples: Sequence[Example], vocabulary: Vocabulary) -> tuple[float, float]:
    """Return the share of unknown tokens in the sources and in the targets; end tokens do not count."""

    def share(sides: list[list[int]]) -> float:
        unknown = sum(side.count(vocabulary.unknown_id) for side in sides)
        return unknown / max(sum(len(side) - 1 for side in sides), 1)

    return share([each.source for each in examples]), share([each.target for each in examples])


def sample_examples(
    examples: Sequence[Example], vocabulary: Vocabulary, power: float, max_length: int, seed: int, epoch: int
) -> list[Example]:
    """Return the examples split into subwords anew, at random, but always the same for a seed and an epoch.
    An example that becomes too long stays unchanged."""
    sampled = []
    for index, example in enumerate(examples):
        key = hashlib.blake2b(f"{seed} {epoch} {index}".encode(), digest_size=4).digest()
        anew = _encode(example.pair, vocabulary, power, int.from_bytes(key))
        # Rare words cut into letters may pass the limit that the usual segmentation kept.
        sampled.append(anew if max(len(anew.source), len(anew.target)) <= max_length else example)
    return sampled


def _encode(pair: Pair, vocabulary: Vocabulary, sampling: float = 0.0, seed: int | None = None) -> Example:
    to = target_language(pair, vocabulary.languages)
    source = vocabulary.encode_source(pair.source, to, sampling, seed)
    return Example(source, vocabulary.encode_target(pair.target, to, sampling, seed), pair)
