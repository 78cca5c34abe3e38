"""Encode pairs of sentences as token ids: once, or again in each epoch with subword sampling."""

import hashlib
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from functools import partial, reduce
from typing import NamedTuple

from pellucid.config.schema import DataConfig
from pellucid.data.corpus import Pair, Report, nothing_left, target_language
from pellucid.data.examples import Encoded, Examples, Figures, Names, Store, pack
from pellucid.data.sifting import Array, Chunk, Sifted, Source
from pellucid.text.vocabulary import Vocabulary


class Shard(NamedTuple):
    """The pairs of a chunk, encoded, and why others were left out."""

    corpus: int
    figures: Figures
    left_out: Counter[str]
    examples: Examples


def encode_pairs(
    pairs: Sequence[Pair], vocabulary: Vocabulary, data: DataConfig, report: Report | None = None
) -> tuple[Store, Report]:
    """Encode the pairs as token ids, as one corpus. Leave out pairs that are empty, too long or too unequal
    in length, and count them in the report. Raise an error if none is left."""
    names = list(dict.fromkeys((pair.file, pair.language) for pair in pairs))
    shard = _encode(pairs, vocabulary, data, names)
    return store_of([shard], report or Report(read=len(pairs), kept=len(pairs)), names)


def encode_text(
    text: Sifted, vocabulary: Vocabulary, report: Report, with_text: bool
) -> tuple[Store, Report]:
    """Encode the pairs to learn from as token ids, each corpus for itself, as `encode_pairs` does. with_text:
    keep the text, too, for subword sampling."""
    shards = map(partial(encode_chunk, text.source, vocabulary, with_text), text.chunks())
    return store_of(list(shards), report, text.source.names)


def encode_chunk(source: Source, vocabulary: Vocabulary, with_text: bool, chunk: Chunk) -> Shard:
    """Encode the pairs of a chunk."""
    pairs = source.pairs(chunk, Counter())
    return _encode(pairs, vocabulary, source.data, source.names, chunk.corpus, with_text)


def store_of(shards: Sequence[Shard], report: Report, names: Names) -> tuple[Store, Report]:
    """Return the examples of these shards, which are in the order of their corpora, and the report with what
    they left out. Raise an error if no pair is left."""
    counts = Counter(vars(report))
    for shard in shards:
        counts += shard.left_out
        counts["kept"] -= shard.left_out.total()
    report = Report(**counts)
    if names and not report.kept:
        raise nothing_left(names[0][0], report)
    sizes = [sum(each.figures.pairs for each in shards if each.corpus == n) for n in range(len(names))]
    total = reduce(Figures.plus, (each.figures for each in shards), Figures())
    return Store([each.examples for each in shards], sizes, total), report


def sample_again(
    examples: Examples, rows: Array, vocabulary: Vocabulary, power: float, longest: int, key: str
) -> Examples:
    """Return the examples split into subwords anew, at random, but always the same for a key and a row. An
    example that becomes too long stays unchanged.

    rows: the number of each in the whole text.
    """

    def sample() -> Iterator[Encoded]:
        for place, row in enumerate(rows):
            pair = examples.pair(place)
            seed = hashlib.blake2b(f"{key} {row}".encode(), digest_size=4).digest()
            source, target = sides_of(pair, vocabulary, power, int.from_bytes(seed))
            # Rare words cut into letters may pass the limit that the usual segmentation kept.
            sides = (source, target) if max(len(source), len(target)) <= longest else examples.sides(place)
            yield *sides, pair

    return pack(sample(), examples.names)


def sides_of(
    pair: Pair, vocabulary: Vocabulary, sampling: float = 0.0, seed: int | None = None
) -> tuple[list[int], list[int]]:
    """Return the ids of a source and of its target."""
    to = target_language(pair, vocabulary.languages)
    source = vocabulary.encode_source(pair.source, to, sampling, seed)
    return source, vocabulary.encode_target(pair.target, to, sampling, seed)


def _encode(
    pairs: Iterable[Pair],
    vocabulary: Vocabulary,
    data: DataConfig,
    names: Names,
    corpus: int = 0,
    with_text: bool = False,
) -> Shard:
    left_out = Counter[str]()
    tags = len({target for _, target in vocabulary.languages}) > 1

    def encode() -> Iterator[Encoded]:
        for pair in pairs:
            source, target = sides_of(pair, vocabulary)
            shorter, longer = sorted((len(source), len(target)))
            if len(source) <= 1 + tags or len(target) <= 1:
                left_out["empty"] += 1  # a text of U+200B, for example, is nothing to the vocabulary
            elif longer > data.max_length:
                left_out["too_long"] += 1
            elif longer > data.max_ratio * shorter:
                left_out["ratio"] += 1
            else:
                yield source, target, pair

    size = max(vocabulary.source_size, vocabulary.target_size)
    examples = pack(encode(), names, size, with_text)
    return Shard(corpus, examples.figures(vocabulary.unknown_id), left_out, examples)
