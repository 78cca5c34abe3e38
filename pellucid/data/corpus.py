"""Read parallel text as pairs of sentences, line by line, and say what happens to each line."""

import gzip
import hashlib
import json
import os
import zlib
from codecs import BOM_UTF8, BOM_UTF16_BE, BOM_UTF16_LE
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import zip_longest
from pathlib import Path

from pellucid.config.toml_file import short_names
from pellucid.errors import PellucidError

# A text of more characters than max_length times this is too long, because tokens are shorter on average.
# So a line of a million characters costs nothing.
CHARACTERS_PER_TOKEN = 20
STANDARD_INPUT = "standard input"  # in place of the name of a file


@dataclass(frozen=True, slots=True)
class Pair:
    """A sentence, its translation, and the file and line that they come from."""

    source: str
    target: str
    language: int  # which (source, target) of [data] languages
    line: int  # from 1
    file: str  # the source's

    @property
    def origin(self) -> str:
        """Return where the pair comes from, file:line, for messages."""
        return f"{self.file}:{self.line}"


@dataclass(frozen=True)
class Report:
    """How many pairs were read and kept, and why the others were left out."""

    read: int = 0
    kept: int = 0
    empty: int = 0  # nothing but white space on either side: dropped
    too_long: int = 0  # more than max_length tokens on either side: dropped
    ratio: int = 0  # one side more than max_ratio times as long as the other, in tokens: dropped
    duplicates: int = 0  # both sides as in an earlier pair: dropped if remove_duplicates
    bad_utf8: int = 0  # on either side: dropped, or kept with U+FFFD, by the policy bad_utf8
    identical: int = 0  # the target is the source: kept
    crlf: int = 0  # a carriage return before the line feed on either side: kept without it
    held_out: int = 0  # set aside to validate on

    def __str__(self) -> str:
        words = dict(empty="empty", too_long="too long", ratio="of unequal length", duplicates="repeated")
        words |= dict(bad_utf8="not UTF-8", identical="with target = source", crlf="with CRLF")
        words |= dict(held_out="held out")
        counts = [f"{getattr(self, name):,} {each}" for name, each in words.items() if getattr(self, name)]
        pairs = f"{self.read:,} pair{'s' * (self.read != 1)} read, {self.kept:,} kept"
        return f"{pairs}; {', '.join(counts)}" if counts else pairs


def fingerprint_of(texts: Sequence[tuple[str, str]]) -> str:
    """Return the SHA-256 of pairs of texts given in Python. The same pairs in another order have another
    hash."""
    return hashlib.sha256("".join(repr((source, target)) for source, target in texts).encode()).hexdigest()


def target_language(pair: Pair, languages: Sequence[tuple[str, str]]) -> str | None:
    """Return the language of a pair's target, or None if [data] languages is empty."""
    return languages[pair.language][1] if languages else None


def nothing_left(file: str, report: Report) -> PellucidError:
    """Return an error that says why no pair of the data was kept."""
    return PellucidError(
        f"{file}: no pair is left ({report}). Look at the files, or at the limits in [data]."
    )


def fingerprint(corpora: Iterable[Sequence[str]]) -> dict[str, str]:
    """Return {file name: SHA-256 of the file}. Files of the same name also have their folder:
    "a/train.tsv"."""
    hashes = {}
    for file, name in short_names(file for corpus in corpora for file in corpus).items():
        try:
            with open(file, "rb") as stream:
                hashes[name] = hashlib.file_digest(stream, "sha256").hexdigest()
        except OSError as error:
            raise _unreadable(file, error) from None
    return hashes


def read_lines(file: str) -> Iterator[bytes]:
    """Yield the lines of a file as bytes, without line feeds and without a byte order mark; unpack a .gz
    file. Only a line feed ends a line."""
    try:
        with gzip.open(file) if file.endswith(".gz") else open(file, "rb") as stream:
            for number, line in enumerate(stream):
                if number == 0 and line[-1:] != b"\n" and line.count(b"\r") > 1:
                    raise PellucidError(
                        f"{file}: its lines end in carriage returns alone, as on old Macs. Convert it: "
                        f"tr '\\r' '\\n' < {file} > NEW"
                    )
                yield (line.removeprefix(BOM_UTF8) if number == 0 else line).removesuffix(b"\n")
    except (EOFError, gzip.BadGzipFile, zlib.error) as error:
        raise PellucidError(f"{file}: damaged or cut short ({error}). Copy the file again.") from None
    except OSError as error:
        raise _unreadable(file, error) from None


def decode(line: bytes, where: str, bad_utf8: str, or_else: str) -> tuple[str, bool]:
    """Decode a line, without the carriage return of a CRLF. Return its text, and whether it was valid UTF-8.

    bad_utf8: "error" raises an error for invalid UTF-8; "replace" and "skip" put U+FFFD in place of invalid
    bytes, and for "skip" the caller drops the line. or_else: a further remedy for the error message.
    """
    line = line.removesuffix(b"\r")
    try:
        return line.decode(), True
    except UnicodeDecodeError as error:
        if bad_utf8 != "error":
            return line.decode(errors="replace"), False
        if line[:2] in (BOM_UTF16_LE, BOM_UTF16_BE):
            file, convert = where.rpartition(":")[0], "iconv -f UTF-16 -t UTF-8"
            how = f"... | {convert} | pellucid ..." if file == STANDARD_INPUT else f"{convert} {file} > NEW"
            raise PellucidError(f"{file}: this is UTF-16, not UTF-8. Convert it: {how}") from None
        raise PellucidError(
            f"{where}: not UTF-8: byte 0x{line[error.start]:02x} at position {error.start + 1} of the line. "
            f"Correct the line, or {or_else}."
        ) from None


def corpus_pairs(
    corpus: Sequence[str],
    language: int,
    bad_utf8: str,
    found: Counter[str],
    or_else: str = 'set [data] bad_utf8 = "replace" or "skip"',
    rows: Iterable[tuple[int, Sequence[bytes]]] | None = None,
) -> Iterator[Pair]:
    """Yield the pairs of a corpus, a table or two files, and count in `found` what is read. rows: numbered
    lines that are read already."""
    file, other = corpus[0], corpus[-1]
    for line, (left, right) in enumerate(read_rows(corpus), 1) if rows is None else rows:
        found["read"] += 1
        found["crlf"] += left.endswith(b"\r") or right.endswith(b"\r")
        source, source_is_utf8 = decode(left, f"{file}:{line}", bad_utf8, or_else)
        target, target_is_utf8 = decode(right, f"{other}:{line}", bad_utf8, or_else)
        bad = not (source_is_utf8 and target_is_utf8)
        found["bad_utf8"] += bad
        if not (bad and bad_utf8 == "skip"):
            yield Pair(source, target, language, line, file)


def read_rows(files: Sequence[str]) -> Iterator[Sequence[bytes]]:
    """Yield the lines of parallel text that belong together: the columns of a table, or a line of each file.
    Raise an error if the files have different numbers of lines."""
    if len(files) == 1:
        is_json = files[0].removesuffix(".gz").endswith(".jsonl")
        yield from _json_rows(files[0]) if is_json else _table_rows(files[0])
        return
    sides = [iter(read_lines(file)) for file in files]
    for line, row in enumerate(zip_longest(*sides), 1):
        if None in row:  # count on, because a pipe cannot be read again
            counts = [
                line - (text is None) + sum(1 for _ in side) for text, side in zip(row, sides, strict=True)
            ]
            other = next(number for number, count in enumerate(counts) if count != counts[0])
            have = f"{files[0]} has {counts[0]} lines and {files[other]} has {counts[other]}"
            raise PellucidError(
                f"{have}: line by line they must belong together, and line {line} has none. Look for a lost "
                "or an added line feed."
            )
        yield row


def _table_rows(file: str) -> Iterator[Sequence[bytes]]:
    """Yield the source and the target of each line of a table. Raise an error if a line has not exactly two
    columns; an empty line gives two empty texts."""
    for number, line in enumerate(read_lines(file), 1):
        columns = line.split(b"\t") if line.strip() else [b"", b""]
        if len(columns) != 2:
            has = f"{len(columns)} column{'s' * (len(columns) != 1)}"
            must = "but a line must have 2: source, tab, target"
            remedy = "Correct the line, or keep only the two sides (cut -f1,2)."
            raise PellucidError(f"{file}:{number}: {has}, {must}. {remedy}")
        yield columns


def _json_rows(file: str) -> Iterator[Sequence[bytes]]:
    """Yield the source and the target of each line of JSON. Raise an error if a line has not both; an empty
    line gives two empty texts."""
    for number, line in enumerate(read_lines(file), 1):
        try:
            # Bytes that are not UTF-8 pass: `decode` tells of them, as of those in other formats.
            text = line.decode(errors="surrogateescape")
            entry = json.loads(text) if line.strip() else {"source": "", "target": ""}
            yield [_as_bytes(entry[side]) for side in ("source", "target")]
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
            must = '{"source": "A dog.", "target": "Ein Hund."}'
            raise PellucidError(f"{file}:{number}: not a line of JSON such as {must}. Correct it.") from None


def _as_bytes(text: str) -> bytes:
    """Return the bytes that a text was decoded from; those of half a surrogate pair, which JSON can name."""
    try:
        return text.encode(errors="surrogateescape")
    except UnicodeEncodeError:
        return text.encode(errors="surrogatepass")


def relative(path: str) -> str:
    """Return the path of a file as seen from the working folder, if it lies in that folder."""
    return os.path.relpath(path) if Path(path).is_relative_to(Path.cwd()) else path


def _unreadable(file: str, error: OSError) -> PellucidError:
    file = relative(file)
    if isinstance(error, FileNotFoundError):
        return PellucidError(
            f"{file}: no such file. Give the path of parallel text, as --source and --target or as [data] "
            "train and validation (from the configuration's folder); `pellucid data NAME` downloads some."
        )
    if isinstance(error, IsADirectoryError):
        return PellucidError(f"{file}: this is a folder. Name a file.")
    return PellucidError(f"{file}: cannot be read: {error.strerror}.")
