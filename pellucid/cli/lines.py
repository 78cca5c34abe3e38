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


def standard_input(bad_utf8: str, characters: int) -> Iterator[list[str]]:
    """The lines of standard input, those together that arrived together; a bad one raises in its turn.

    Of a line that has more than so many characters not all are kept, but more than so many.
    """
    if sys.stdin is None:
        raise PellucidError("standard input is closed. Give it the text, one sentence a line.")
    number = 0
    # A character has 4 bytes at most; 2 more: one that is too many, and a byte order mark.
    for lines in arrivals(sys.stdin.buffer, 4 * (characters + 2)):
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


def arrivals(stream: BinaryIO, most: int) -> Iterator[list[bytes]]:
    """The lines of a stream without their line feeds, as they come, of each `most` bytes; the last one needs
    no line feed. However long a line is, no more of it than can be told is kept."""
    begun = bytearray()
    while data := stream.read1(_ARRIVAL):  # type: ignore[attr-defined]  # all that is there, at least one byte
        complete, line_feed, rest = data.rpartition(b"\n")
        if line_feed:
            yield [_beginning(line, most) for line in (bytes(begun) + complete).split(b"\n")]
            begun.clear()
        begun += rest[: most + 1 - len(begun)]  # one more, which says whether a character ends at `most`
    if begun:
        yield [_beginning(bytes(begun), most)]


def _beginning(line: bytes, most: int) -> bytes:
    """At most so many bytes, and of a UTF-8 character (up to 4 bytes) all or none."""
    if len(line) <= most:
        return line
    end = next((end for end in range(most, most - 4, -1) if line[end] & 0xC0 != 0x80), most)
    return line[:end]


def file_lines(path: str, bad_utf8: str) -> list[str]:
    """The lines of a text file; .gz is unpacked."""
    if not Path(path).exists():
        raise PellucidError(f"{path}: no such file. Give the path of a text with one sentence a line.")
    if Path(path).is_dir():
        raise PellucidError(f"{path}: a folder. Give the path of a text with one sentence a line.")
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
