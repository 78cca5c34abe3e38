"""Encoded pairs as flat arrays: no object a pair. They lie in memory, or are mapped from the files of a
prepared text."""

import mmap
from array import array
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple, TypeAlias

import numpy as np

from pellucid.data.corpus import Pair
from pellucid.data.sifting import Array
from pellucid.text.preparation import valid

Names: TypeAlias = Sequence[tuple[str, int]]  # the file of each corpus, and which of [data] languages it has
ARRAYS = ("ids", "ends", "lines", "corpora", "text", "text_ends")  # of Examples
Encoded: TypeAlias = tuple[Sequence[int], Sequence[int], Pair]


class Figures(NamedTuple):
    """What is counted of encoded pairs."""

    pairs: int = 0
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
    where each of these sides ends. names: of the corpora."""

    names: Names
    ids: Array
    ends: Array
    lines: Array  # where each pair comes from
    corpora: Array  # numbers in `names`
    text: Array  # the UTF-8 of the same sides, for subword sampling only
    text_ends: Array

    def __len__(self) -> int:
        return len(self.lines)

    @property
    def lengths(self) -> Array:
        """Return the numbers of tokens of each pair: source, target."""
        return np.diff(self.ends).reshape(-1, 2)

    def origins(self, rows: Array) -> tuple[str, ...]:
        """Return where these pairs come from, file:line, for messages."""
        return tuple(f"{self.names[self.corpora[row]][0]}:{self.lines[row]}" for row in rows)

    def sides(self, row: int) -> tuple[list[int], list[int]]:
        """Return the ids of a source and of its target."""
        first, middle, last = self.ends[2 * row : 2 * row + 3]
        return self.ids[first:middle].tolist(), self.ids[middle:last].tolist()

    def pair(self, row: int) -> Pair:
        """Return a pair whose text is kept."""
        first, middle, last = self.text_ends[2 * row : 2 * row + 3]
        source, target = (bytes(part).decode() for part in (self.text[first:middle], self.text[middle:last]))
        file, language = self.names[self.corpora[row]]
        return Pair(source, target, language, int(self.lines[row]), file)

    def take(self, rows: Array) -> "Examples":
        """Return these pairs, in this order, in memory."""
        ids, text = _sides(self.ids, self.ends, rows), (self.text, self.text_ends)
        text = _sides(*text, rows) if len(self.text) else text
        return Examples(self.names, *ids, self.lines[rows], self.corpora[rows], *text)

    def release(self) -> None:
        """Let the system count the pages of mapped files as free; they are mapped again when they are
        needed."""
        for each in (getattr(self, name) for name in ARRAYS):
            if isinstance(each.base, mmap.mmap) and hasattr(mmap, "MADV_DONTNEED"):
                each.base.madvise(mmap.MADV_DONTNEED)

    def figures(self, unknown: int) -> Figures:
        """Count the tokens. unknown: the id of the unknown token."""
        longer, tokens = self.lengths.max(1, initial=0), (self.lengths - 1).sum(0)
        sides = np.searchsorted(self.ends, np.flatnonzero(self.ids == unknown), side="right") - 1
        counts = longer.max(initial=0), longer.sum(), *tokens, *np.bincount(sides % 2, minlength=2)
        return Figures(len(self), *map(int, counts))


def places_of(begins: Array, lengths: Array) -> Array:
    """Return the places of spans that begin at these places and have these lengths, one span after the
    other."""
    ends = np.cumsum(lengths)
    return np.arange(lengths.sum()) + np.repeat(begins - ends + lengths, lengths)


def _sides(values: Array, ends: Array, rows: Array) -> tuple[Array, Array]:
    """Return the two sides of these rows, and where each ends."""
    sides = (2 * rows[:, None] + np.arange(2)).ravel()
    lengths = ends[sides + 1] - ends[sides]
    return values[places_of(ends[sides], lengths)], np.append(0, np.cumsum(lengths))


def pack(encoded: Iterable[Encoded], names: Names, size: int = 2**32, with_text: bool = False) -> Examples:
    """Return encoded pairs as examples. names: those of the pairs' corpora. size: of the vocabulary."""
    ids, ends, lines, corpora = array("H" if size <= 2**16 else "I"), array("q", [0]), array("I"), array("H")
    text, text_ends = bytearray(), array("q", [0])
    numbers = {name: number for number, name in enumerate(names)}
    for source, target, pair in encoded:
        lines.append(pair.line)
        corpora.append(numbers[pair.file, pair.language])
        for side, words in ((source, pair.source), (target, pair.target)):
            ids.extend(side)
            ends.append(len(ids))
            if with_text:
                text += valid(words).encode()
                text_ends.append(len(text))
    arrays = ids, ends, lines, corpora, array("B", text), text_ends
    return Examples(names, *(np.frombuffer(each, each.typecode) for each in arrays))


@dataclass(frozen=True)
class Store:
    """Encoded text: examples in parts, each of one corpus, in the order of the corpora."""

    parts: Sequence[Examples]
    sizes: Sequence[int]  # the pairs of each corpus
    figures: Figures

    @cached_property
    def starts(self) -> Array:
        """Return the number of the first pair of each part."""
        return np.cumsum([0, *map(len, self.parts)])

    def __len__(self) -> int:
        return self.figures.pairs

    def take(self, rows: Array) -> Examples:
        """Return these pairs, in this order, in memory."""
        order, parts = np.argsort(rows, kind="stable"), []
        places = np.split(rows[order], np.searchsorted(rows[order], self.starts[1:-1]))
        for part, start, own in zip(self.parts, self.starts, places, strict=False):
            if len(own):
                parts.append(part.take(own - start))
                part.release()
        back = np.empty_like(order)
        back[order] = np.arange(len(order))
        return _joined(parts).take(back)


def _joined(parts: Sequence[Examples]) -> Examples:
    """Return several examples as one."""
    flat = []
    for name in ARRAYS:
        each = [getattr(part, name) for part in parts]
        if name in ("ends", "text_ends"):
            flat.append(np.append(0, np.cumsum(np.concatenate([np.diff(ends) for ends in each]))))
        else:
            flat.append(np.concatenate(each))
    return Examples(parts[0].names, *flat)
