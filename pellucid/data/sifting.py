"""Clean parallel text in two readings. The first decides what becomes of each line; the second yields the
pairs that are left, as often as needed. Between the two, a line costs a few bytes of memory, and a pair no
object."""

import hashlib
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from pellucid.config.schema import DataConfig
from pellucid.data.corpus import (
    CHARACTERS_PER_TOKEN,
    Pair,
    Report,
    corpus_pairs,
    nothing_left,
    read_rows,
    relative,
)
from pellucid.errors import PellucidError, UsageError

LINES = 100_000  # of a chunk
LEFT_OUT, LEARNED, HELD_OUT = range(3)  # what becomes of a line
Array: TypeAlias = npt.NDArray[Any]
Names: TypeAlias = Sequence[tuple[str, int]]  # the file of each corpus, and which of [data] languages it has
Run: TypeAlias = Callable[[Callable[[Any], Any], Iterable[Any]], Iterable[Any]]  # such as `map`


# What the first reading finds of a line: hashes of the pair (0: it is left out) and of the source.
LOOK = np.dtype([("pair", np.uint64), ("source", np.uint64), ("identical", np.bool)])


class Chunk(NamedTuple):
    """Some lines of a corpus, with their numbers."""

    corpus: int
    rows: Sequence[tuple[int, Sequence[Any]]]


@dataclass(frozen=True)
class ParallelText:
    """Parallel text: files, or texts given in Python, which are one corpus. After the first reading it is
    known what becomes of each line."""

    data: DataConfig
    corpora: Sequence[Sequence[str]]  # the files of each, or the name of the texts
    texts: Sequence[tuple[str, str]] | None = None
    fates: Sequence[Array] = ()  # of the lines of each chunk
    sources: Sequence[int] | Array = ()  # the hashes of the sources to learn from

    @property
    def names(self) -> Names:
        """Return the file of each corpus's sources, and which of [data] languages the corpus has."""
        several = len(self.data.languages) > 1
        return [(files[0], number * several) for number, files in enumerate(self.corpora)]

    def __len__(self) -> int:
        return len(self.sources)

    def __iter__(self) -> Iterator[Pair]:
        return self.with_fate(LEARNED)

    def with_fate(self, fate: int) -> Iterator[Pair]:
        """Yield the pairs of this fate."""
        for chunk in self.chunks(fate):
            yield from self.pairs(chunk)

    def chunks(self, fate: int) -> Iterator[Chunk]:
        """Yield the lines of this fate, by chunks."""
        for chunk, fates in zip(self.all_chunks(), self.fates, strict=True):
            yield Chunk(chunk.corpus, [chunk.rows[row] for row in np.flatnonzero(fates == fate).tolist()])

    def all_chunks(self) -> Iterator[Chunk]:
        """Yield all lines."""
        for number, files in enumerate(self.corpora):
            rows, some = read_rows(files) if self.texts is None else self.texts, list[tuple[int, Any]]()
            try:
                for row in enumerate(rows, 1):
                    some.append(row)
                    if len(some) == LINES:
                        yield Chunk(number, some)
                        some = []
            except PellucidError:
                yield Chunk(number, some)  # what is wrong in these lines is said first
                raise
            yield Chunk(number, some)

    def pairs(self, chunk: Chunk, found: Counter[str] | None = None) -> Iterator[Pair]:
        """Yield the lines of a chunk as pairs, and count in `found` what is read."""
        files, (file, language) = self.corpora[chunk.corpus], self.names[chunk.corpus]
        found = Counter() if found is None else found
        if self.texts is None:
            yield from corpus_pairs(files, language, self.data.bad_utf8, found, rows=chunk.rows)
            return
        for line, row in chunk.rows:
            found["read"] += 1
            yield Pair(row[0], row[1], language, line, file)

    def look(self, chunk: Chunk) -> tuple[Counter[str], Array]:
        """Read the lines of a chunk for the first time; return what is found, and a LOOK of each."""
        found, looks = Counter[str](), np.zeros(len(chunk.rows), LOOK)
        for pair in self.pairs(chunk, found):
            if not pair.source.strip() or not pair.target.strip():
                found["empty"] += 1
            elif max(len(pair.source), len(pair.target)) > CHARACTERS_PER_TOKEN * self.data.max_length:
                found["too_long"] += 1
            else:
                key = f"{pair.language} {len(pair.source)} {pair.source}{pair.target}"
                look = hash_of(key), source_hash(pair.source), pair.source == pair.target
                looks[pair.line - chunk.rows[0][0]] = look
        return found, looks


def hash_of(text: str) -> int:
    """Return a hash of a text that is the same on every machine: 8 bytes, and never 0."""
    key = hashlib.blake2b(text.encode(errors="surrogatepass"), digest_size=16).digest()
    return int.from_bytes(key[:8]) or 1


def source_hash(text: str) -> int:
    """Return the hash of a source, without white space and case."""
    return hash_of(" ".join(text.casefold().split()))


def sift(text: ParallelText, run: Run = map) -> tuple[ParallelText, Report]:
    """Decide by the rules of [data] what becomes of each line. Raise an error if there are lines, and no pair
    is left.

    run: what looks at each chunk.
    """
    looked = list(run(text.look, text.all_chunks()))
    if not looked:
        return replace(text, fates=[]), Report()
    ends = np.cumsum([len(looks) for _, looks in looked])[:-1]
    looks = np.concatenate([looks for _, looks in looked])
    pairs, sources, identical = (looks[name] for name in ("pair", "source", "identical"))
    repeated, fates = pairs != 0, (pairs != 0).astype(np.uint8)
    repeated[np.unique(pairs, return_index=True)[1]] = False  # the first of each is new
    found = sum((each for each, _ in looked), Counter[str]())
    if text.data.remove_duplicates:
        fates[repeated] = LEFT_OUT
    found += Counter(duplicates=int(repeated.sum()), identical=int(identical[fates == LEARNED].sum()))
    if not fates.any():
        raise nothing_left(text.names[0][0], Report(**found))
    if text.data.held_out:
        fates[hold_out(sources * (fates == LEARNED), text.data.held_out)] = HELD_OUT
    _, kept, held_out = np.bincount(fates, minlength=3).tolist()
    sifted = replace(text, fates=np.split(fates, ends), sources=sources[fates == LEARNED])
    return sifted, Report(kept=kept, held_out=held_out, **found)


def hold_out(sources: Sequence[int] | Array, count: int) -> Array:
    """Return which lines to set aside: up to `count`, and all lines of a source or none. Raise an error if
    these would be no lines, or all.

    sources: their hashes; 0 for a line that is left out. The sources are taken in the order of their hashes.
    """
    different, numbers, sizes = np.unique(sources, return_inverse=True, return_counts=True)
    chosen, left = np.zeros(len(different), np.bool), count
    first = int(different[:1].sum() == 0)  # 0 is no source
    for place in range(first, len(different)):
        if left == 0:
            break
        if sizes[place] <= left:
            chosen[place], left = True, left - sizes[place]
    if not chosen.any() or chosen[first:].all():
        number, fewest = len(different) - first, min(sizes[first:], default=0)
        why = "too few to hold out some and to learn from others"
        if fewest > count and number > 1:
            why = f"each on {fewest:,} lines or more, and all lines of a source are held out or none"
        raise UsageError(
            f"[data] held_out = {count}: the training text has {number:,} different "
            f"source{'s' * (number != 1)}, {why}. Set another number, or name files in validation."
        )
    return chosen[numbers]


def text_of(files: Sequence[Sequence[str]], data: DataConfig) -> ParallelText:
    """Return the text of these corpora, each one or two files."""
    if files and len(data.languages) > 1 and len(data.languages) != len(files):
        raise UsageError(
            f"[data] languages names {len(data.languages)} pairs of languages for {len(files)} corpora. "
            "Name one for each corpus of train and of validation, in their order."
        )
    return ParallelText(data, [[relative(file) for file in corpus] for corpus in files])  # for messages


def text_from(texts: Sequence[tuple[str, str]], name: str, data: DataConfig) -> ParallelText:
    """Return texts given in Python; raise an error if one is no pair. name: what messages call them."""
    if len(data.languages) > 1:
        several = f"[data] languages names {len(data.languages)} pairs of languages, and {name} has one"
        raise UsageError(f"{several}. Give files for several.")
    for place, row in enumerate(texts):
        is_pair = isinstance(row, tuple | list) and [type(text) for text in row] == [str, str]
        if not is_pair:
            pair = '("A dog.", "Ein Hund.")'
            raise UsageError(f"{name}[{place}] is not a source and a target text like {pair}: {row!r}.")
    return ParallelText(data, [[name]], texts)


def read_pairs(text: ParallelText) -> tuple[list[Pair], Report]:
    """Return all cleaned pairs at once, for a text that is small."""
    sifted, report = sift(replace(text, data=replace(text.data, held_out=0)))
    return list(sifted), report
