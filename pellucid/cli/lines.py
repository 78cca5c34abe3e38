"""Text in and out, a line at a time: UTF-8 whatever the locale says, split on line feeds alone."""

import sys
from codecs import BOM_UTF8
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import BinaryIO

from pellucid.data.corpus import decode, read_lines
from pellucid.errors import PellucidError

STANDARD_INPUT = "standard input"
_ARRIVAL = 65_536  # bytes at most that are taken from a pipe at once, so that memory is bounded
_OR_ELSE = "give --bad-utf8 replace (U+FFFD for it) or skip (an empty line)"


def standard_input(bad_utf8: str) -> Iterator[list[str]]:
    """The lines of standard input, those together that arrived together; a bad one raises in its turn."""
    if sys.stdin is None:
        raise PellucidError("standard input is closed. Give it the text, one sentence a line.")
    number = 0
    for lines in arrivals(sys.stdin.buffer):
        texts: list[str] = []
        problem = None
        for line in lines:
            number += 1
            try:
                texts.append(_text(line, STANDARD_INPUT, number, bad_utf8))
            except PellucidError as error:
                problem = error
                break
        yield texts
        if problem:
            raise problem


def arrivals(stream: BinaryIO) -> Iterator[list[bytes]]:
    """The lines of a stream without their line feeds, as they come; the last line needs none."""
    parts: list[bytes] = []
    while data := stream.read1(_ARRIVAL):  # type: ignore[attr-defined]  # all that is there, at least one byte
        complete, line_feed, rest = data.rpartition(b"\n")
        if line_feed:
            yield b"".join([*parts, complete]).split(b"\n")
            parts = []
        parts.append(rest)
    if last := b"".join(parts):
        yield [last]


def file_lines(path: str, bad_utf8: str) -> list[str]:
    """The lines of a text file; .gz is unpacked."""
    if not Path(path).exists():
        raise PellucidError(f"{path}: no such file. Give the path of a text with one sentence a line.")
    return [_text(line, path, number, bad_utf8) for number, line in enumerate(read_lines(path), 1)]


def check_same_count(first: str, second: str, counts: tuple[int, int]) -> None:
    """Raises unless two files have equally many lines."""
    if counts[0] != counts[1]:
        raise PellucidError(
            f"{first} has {counts[0]} lines and {second} has {counts[1]}: line by line they must belong "
            "together. Look for a lost or an added line feed."
        )


def put(lines: Iterable[str]) -> None:
    """Lines to standard output; whatever a text holds, it is one line."""
    if sys.stdout is None:
        raise PellucidError("standard output is closed. Give the command one, such as > FILE.")
    for line in lines:
        sys.stdout.write(line.replace("\n", " ") + "\n")
    sys.stdout.flush()


def tell(line: str) -> None:
    """A line for people, to standard error."""
    print(line, file=sys.stderr)


def _text(line: bytes, name: str, number: int, bad_utf8: str) -> str:
    """The text of a line without a byte order mark at the start of all; to skip it is to leave it empty."""
    if number == 1:
        line = line.removeprefix(BOM_UTF8)
    text, is_utf8 = decode(line, f"{name}:{number}", bad_utf8, _OR_ELSE)
    return text if is_utf8 or bad_utf8 != "skip" else ""
