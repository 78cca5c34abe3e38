"""Encoded pairs as flat arrays: no object a pair. They lie in memory, or are mapped from the files of a
prepared text."""

import mmap
import random
import struct
from array import array
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple, TypeAlias

import numpy as np

from pellucid.config.schema import DataConfig
from pellucid.data.corpus import Pair, Report, nothing_left, target_language
from pellucid.data.sifting import Array, Names
from pellucid.text.vocabulary import Vocabulary

Encoded: TypeAlias = tuple[Sequence[int], Sequence[int], int, int]  # source, target, line, corpus
ARRAYS = ("ids", "pairs")  # of Examples
ROW = struct.Struct("<qiiIH")
PAIR = np.dtype(
    [("begin", "<i8"), ("source", "<i4"), ("target", "<i4"), ("line", "<u4"), ("corpus", "<u2")]
)  # where its ids begin, the tokens of its sides, where it comes from: a ROW
AT_ONCE = 100  # pairs to copy from mapped files; for each, the system maps up to a megabyte


class Figures(NamedTuple):
    """What is counted of encoded pairs."""

    longest: int = 0  # tokens of a side
    longer: int = 0  # the tokens of the longer sides
    sources: int = 0  # the tokens, without end tokens
    targets: int = 0
    unknown_sources: int = 0  # those of them that the vocabulary does not know
    unknown_targets: int = 0

    @property
    def unknown(self) -> str:
        """Return the shares of unknown tokens that are not 0, as text."""
        sides = (self.unknown_sources, self.sources, "source"), (self.unknown_targets, self.targets, "target")
        return ", ".join(f"{count / tokens:.2%} of the {side}" for count, tokens, side in sides if count)


@dataclass(frozen=True)
class Examples:
    """Encoded pairs. `ids` has the source, then the target of each, both with an end token. The corpora lie
    one after the other."""

    names: Names  # of the corpora
    figures: Figures  # of the whole text, if these are a part of it
    sizes: Sequence[int]  # the numbers of pairs of its corpora
    ids: Array
    pairs: Array  # a PAIR each

    def __len__(self) -> int:
        return len(self.pairs)

    def __iter__(self) -> Iterator[Encoded]:
        for begin, source, target, line, corpus in self.pairs.tolist():
            middle, end = begin + source, begin + source + target
            yield self.ids[begin:middle].tolist(), self.ids[middle:end].tolist(), line, corpus

    @property
    def lengths(self) -> Array:
        """Return the numbers of tokens of each pair: source, target."""
        return np.stack([self.pairs["source"], self.pairs["target"]], 1)

    def origins(self) -> tuple[str, ...]:
        """Return where the pairs come from, file:line, for messages."""
        return tuple(f"{self.names[corpus][0]}:{line}" for *_, line, corpus in self.pairs.tolist())

    def take(self, rows: Array) -> "Examples":
        """Return these pairs, in this order, in memory."""
        pairs = self.pairs[rows]
        lengths = pairs["source"] + pairs["target"]
        ids = self.ids[places_of(pairs["begin"], lengths)]
        pairs["begin"] = np.cumsum(lengths) - lengths
        return replace(self, ids=ids, pairs=pairs)

    def gather(self, rows: Array) -> "Examples":
        """Return these pairs, as `take` does, with little memory for mapped files."""
        order, some = np.argsort(rows, kind="stable"), list[Examples]()
        for part in np.array_split(rows[order], 1 + len(rows) // AT_ONCE):
            some.append(self.take(part))
            for each in (self.ids, self.pairs):
                if isinstance(each.base, mmap.mmap) and hasattr(mmap, "MADV_DONTNEED"):
                    each.base.madvise(mmap.MADV_DONTNEED)  # the mapped pages are not needed for now
        ids, pairs = (np.concatenate([getattr(each, name) for each in some]) for name in ARRAYS)
        lengths = pairs["source"] + pairs["target"]
        pairs["begin"] = np.cumsum(lengths) - lengths
        return replace(self, ids=ids, pairs=pairs).take(np.argsort(order))


def places_of(begins: Array, lengths: Array) -> Array:
    """Return the places of spans that begin at these places and have these lengths, one span after the
    other."""
    return np.arange(lengths.sum()) + np.repeat(begins - np.cumsum(lengths) + lengths, lengths)


def kind_of_ids(vocabulary: Vocabulary) -> str:
    """Return how ids are stored: in 16 bits, or in 32."""
    return "<u2" if max(vocabulary.source_size, vocabulary.target_size) <= 2**16 else "<u4"


def pack(
    encoded: Iterable[Encoded], names: Iterable[tuple[str, int]], unknown: int = 1, kind: str = "<u4"
) -> Examples:
    """Return encoded pairs as examples. unknown: the id of the unknown token. kind: how ids are stored."""
    ids, rows = array(np.dtype(kind).char), bytearray()
    for source, target, line, corpus in encoded:
        rows += ROW.pack(len(ids), len(source), len(target), line, corpus)
        ids.extend(source)
        ids.extend(target)
    flat = np.frombuffer(ids, kind), np.frombuffer(rows, PAIR)
    examples = Examples([*names], Figures(), [], *flat)
    lengths = examples.lengths
    longer, ends = lengths.max(1, initial=0), np.cumsum(lengths)
    sides = np.searchsorted(ends, np.flatnonzero(flat[0] == unknown), side="right") % 2
    counts = longer.max(initial=0), longer.sum(), *(lengths - 1).sum(0), *np.bincount(sides, minlength=2)
    sizes = np.bincount(flat[1]["corpus"], minlength=len(examples.names)).tolist()
    return replace(examples, figures=Figures(*map(int, counts)), sizes=sizes)


def encode(
    pairs: Iterable[Pair], vocabulary: Vocabulary, data: DataConfig, names: Names = ()
) -> tuple[Examples, Counter[str]]:
    """Encode pairs as token ids. Leave out those that are empty, too long or too unequal in length, and count
    them. names: of corpora that come before others, if they have pairs or not."""
    left_out, numbers = Counter[str](), {name: number for number, name in enumerate(names)}
    tags = len({target for _, target in vocabulary.languages}) > 1

    def kept() -> Iterator[Encoded]:
        for pair in pairs:
            to = target_language(pair, vocabulary.languages)
            source, target = (
                vocabulary.encode_source(pair.source, to),
                vocabulary.encode_target(pair.target, to),
            )
            shorter, longer = sorted((len(source), len(target)))
            number = numbers.setdefault((pair.file, pair.language), len(numbers))
            if len(source) <= 1 + tags or len(target) <= 1 + vocabulary.count_tags(target):
                left_out["empty"] += 1  # a text of U+200B, for example, is nothing to the vocabulary
            elif longer > data.max_length:
                left_out["too_long"] += 1
            elif longer > data.max_ratio * shorter:
                left_out["ratio"] += 1
            else:
                yield source, target, pair.line, number

    return pack(kept(), numbers, vocabulary.unknown_id, kind_of_ids(vocabulary)), left_out


def encode_pairs(
    pairs: Iterable[Pair],
    vocabulary: Vocabulary,
    data: DataConfig,
    report: Report | None = None,
    names: Names = (),
) -> tuple[Examples, Report]:
    """Encode pairs as token ids, and count in the report what is left out. Raise an error if no pair is
    left."""
    examples, left_out = encode(pairs, vocabulary, data, names)
    read = len(examples) + left_out.total()
    report = without(report or Report(read=read, kept=read), left_out)
    if examples.names and not report.kept:
        raise nothing_left(examples.names[0][0], report)
    return examples, report


def without(report: Report, left_out: Counter[str]) -> Report:
    """Return the report with these pairs left out, too."""
    return Report(**(Counter(vars(report)) + left_out) | {"kept": report.kept - left_out.total()})


def sample_again(
    examples: Examples, rows: Array, vocabulary: Vocabulary, power: float, longest: int, key: str
) -> Examples:
    """Return the examples split into subwords anew, at random, but always the same for a key and a row. An
    example that becomes too long stays unchanged.

    rows: the number of each in the whole text.
    """

    def sampled() -> Iterator[Encoded]:
        for row, (source, target, line, corpus) in zip(rows.tolist(), examples, strict=True):
            both = vocabulary.sample(source, target, power, random.Random(f"{key} {row}"))
            # Rare words cut into letters may pass the limit that the usual segmentation kept.
            new = both if max(map(len, both)) <= longest else (source, target)
            yield *new, line, corpus

    return pack(sampled(), examples.names)
