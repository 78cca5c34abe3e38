"""Encoded pairs as flat arrays: no object a pair. They lie in memory, or are mapped from the files of a
prepared text."""

import mmap
import random
from array import array
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple, TypeAlias

import numpy as np

from pellucid.config.schema import DataConfig
from pellucid.data.corpus import Pair, Report, nothing_left, target_language
from pellucid.data.sifting import Array, Names
from pellucid.text.vocabulary import Vocabulary

Encoded: TypeAlias = tuple[Sequence[int], Sequence[int], int, int]  # source, target, line, corpus
ARRAYS = ("ids", "ends", "lines", "corpora")  # of Examples
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

    def plus(self, other: "Figures") -> "Figures":
        """Return the figures of both together."""
        both = Figures(*map(sum, zip(self, other, strict=True)))
        return both._replace(longest=max(self.longest, other.longest))


@dataclass(frozen=True)
class Examples:
    """Encoded pairs. `ids` has the source, then the target of each, both with an end token; `ends` has 0, and
    where each of these sides ends. The corpora lie one after the other."""

    names: Names  # of the corpora
    figures: Figures  # of the whole text, if these are a part of it
    sizes: Sequence[int]  # the numbers of pairs of its corpora
    ids: Array
    ends: Array
    lines: Array  # where each pair comes from
    corpora: Array  # numbers in `names`

    def __len__(self) -> int:
        return len(self.lines)

    @property
    def lengths(self) -> Array:
        """Return the numbers of tokens of each pair: source, target."""
        return np.diff(self.ends).reshape(-1, 2)

    def origins(self) -> tuple[str, ...]:
        """Return where the pairs come from, file:line, for messages."""
        both = zip(self.corpora, self.lines, strict=True)
        return tuple(f"{self.names[corpus][0]}:{line}" for corpus, line in both)

    def sides(self) -> Iterator[list[int]]:
        """Yield the ids of the first source, of its target, of the next source, and so on."""
        for begin, end in zip(self.ends, self.ends[1:], strict=False):
            yield self.ids[begin:end].tolist()

    def take(self, rows: Array) -> "Examples":
        """Return these pairs, in this order, in memory."""
        sides = (2 * rows[:, None] + np.arange(2)).ravel()
        begins, ends = self.ends[sides], self.ends[sides + 1]
        ids = self.ids[places_of(begins, ends - begins)]
        flat = ids, ends_of(ends - begins), self.lines[rows], self.corpora[rows]
        return Examples(self.names, self.figures, self.sizes, *flat)

    def gather(self, rows: Array) -> "Examples":
        """Return these pairs, as `take` does, with little memory for mapped files."""
        order, parts = np.argsort(rows, kind="stable"), []
        for some in np.array_split(rows[order], 1 + len(rows) // AT_ONCE):
            parts.append(self.take(some))
            self._release()
        back = np.empty_like(order)
        back[order] = np.arange(len(order))
        ids, ends, lines, corpora = ([getattr(part, name) for part in parts] for name in ARRAYS)
        together = ends_of(np.concatenate([*map(np.diff, ends)]))
        flat = np.concatenate(ids), together, np.concatenate(lines), np.concatenate(corpora)
        return Examples(self.names, self.figures, self.sizes, *flat).take(back)

    def _release(self) -> None:
        """Tell the system that the mapped pages are not needed for now."""
        for each in (self.ids, self.ends, self.lines, self.corpora):
            if isinstance(each.base, mmap.mmap) and hasattr(mmap, "MADV_DONTNEED"):
                each.base.madvise(mmap.MADV_DONTNEED)


def places_of(begins: Array, lengths: Array) -> Array:
    """Return the places of spans that begin at these places and have these lengths, one span after the
    other."""
    return np.arange(lengths.sum()) + np.repeat(begins - ends_of(lengths)[:-1], lengths)


def ends_of(lengths: Array) -> Array:
    """Return 0 and the ends of spans of these lengths that follow each other."""
    return np.append(0, np.cumsum(lengths))


def pack(encoded: Iterable[Encoded], names: Names, unknown: int = 1, size: int = 2**32) -> Examples:
    """Return encoded pairs as examples. unknown: the id of the unknown token. size: of the vocabulary."""
    ids, ends, lines, corpora = array("H" if size <= 2**16 else "I"), array("q", [0]), array("I"), array("H")
    for source, target, line, corpus in encoded:
        ids.extend(source)
        ends.append(len(ids))
        ids.extend(target)
        ends.append(len(ids))
        lines.append(line)
        corpora.append(corpus)
    flat = [np.frombuffer(each, each.typecode) for each in (ids, ends, lines, corpora)]
    lengths = np.diff(flat[1]).reshape(-1, 2)
    longer, tokens = lengths.max(1, initial=0), (lengths - 1).sum(0)
    sides = np.searchsorted(flat[1], np.flatnonzero(flat[0] == unknown), side="right") - 1
    counts = longer.max(initial=0), longer.sum(), *tokens, *np.bincount(sides % 2, minlength=2)
    sizes = np.bincount(flat[3], minlength=len(names)).tolist()
    return Examples(names, Figures(*map(int, counts)), sizes, *flat)


def encode(
    pairs: Iterable[Pair], names: Names, vocabulary: Vocabulary, data: DataConfig
) -> tuple[Examples, Counter[str]]:
    """Encode pairs as token ids. Leave out those that are empty, too long or too unequal in length, and count
    them. names: of the pairs' corpora."""
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
            if len(source) <= 1 + tags or len(target) <= 1:
                left_out["empty"] += 1  # a text of U+200B, for example, is nothing to the vocabulary
            elif longer > data.max_length:
                left_out["too_long"] += 1
            elif longer > data.max_ratio * shorter:
                left_out["ratio"] += 1
            else:
                yield source, target, pair.line, numbers[pair.file, pair.language]

    size = max(vocabulary.source_size, vocabulary.target_size)
    return pack(kept(), names, vocabulary.unknown_id, size), left_out


def encode_pairs(
    pairs: Iterable[Pair],
    vocabulary: Vocabulary,
    data: DataConfig,
    report: Report | None = None,
    names: Names = (),
) -> tuple[Examples, Report]:
    """Encode pairs as token ids, and count in the report what is left out. Raise an error if no pair is left.

    names: of the pairs' corpora; without them, all pairs are read once more.
    """
    names = names or list(dict.fromkeys((pair.file, pair.language) for pair in pairs))
    examples, left_out = encode(pairs, names, vocabulary, data)
    read = len(examples) + left_out.total()
    report = without(report or Report(read=read, kept=read), left_out)
    if names and not report.kept:
        raise nothing_left(names[0][0], report)
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
        sides = examples.sides()
        for row, line, corpus in zip(rows, examples.lines, examples.corpora, strict=True):
            both, chance = (next(sides), next(sides)), random.Random(f"{key} {row}")
            source, target = vocabulary.sample(*both, power, chance)
            # Rare words cut into letters may pass the limit that the usual segmentation kept.
            source, target = (source, target) if max(len(source), len(target)) <= longest else both
            yield source, target, line, corpus

    return pack(sampled(), examples.names)
