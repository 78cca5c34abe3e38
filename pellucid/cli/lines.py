"""Text input and output, line by line: UTF-8 in any locale, split at line feeds only."""

import json
import sys
from argparse import Namespace
from codecs import BOM_UTF8
from collections.abc import Iterable, Iterator
from typing import Any, BinaryIO

from pellucid.config.schema import is_table
from pellucid.data.corpus import STANDARD_INPUT, decode, read_lines, read_rows
from pellucid.errors import PellucidError, UsageError
from pellucid.folder.manifest import jsonable

_ARRIVAL = 65_536  # the most bytes to take from a pipe at once
OR_ELSE = "give --bad-utf8 replace (U+FFFD for it) or skip (an empty line)"


def standard_input(bad_utf8: str) -> Iterator[str]:
    """Yield the lines of standard input as they arrive. Raise an error at a line that is not UTF-8 if
    `bad_utf8` is "error"."""
    if sys.stdin is None:
        raise PellucidError("standard input is closed. Give it the text, one sentence a line.")
    if sys.stdin.isatty():
        tell("Type a sentence and Enter; Ctrl-D (on Windows Ctrl-Z and Enter) ends.")
    # Without the buffer, whose lock a thread that waits for a line would hold when Python ends.
    for number, line in enumerate(arrivals(getattr(sys.stdin.buffer, "raw", sys.stdin.buffer)), 1):
        yield as_text(line, STANDARD_INPUT, number, bad_utf8)


def arrivals(stream: BinaryIO) -> Iterator[bytes]:
    """Yield the lines of a stream as soon as they arrive; line feeds are removed."""
    begun = bytearray()
    while data := stream.read(_ARRIVAL):  # all that has arrived, at least one byte
        first, *others = data.split(b"\n")
        begun += first
        for line in others:
            yield bytes(begun)
            begun = bytearray(line)
    if begun:
        yield bytes(begun)


def as_text(line: bytes, name: str, number: int, bad_utf8: str) -> str:
    """Decode a line as UTF-8. Remove a byte order mark from the first line; return "" for a line to skip."""
    if number == 1:
        line = line.removeprefix(BOM_UTF8)
    text, is_utf8 = decode(line, f"{name}:{number}", bad_utf8, OR_ELSE)
    return text if is_utf8 or bad_utf8 != "skip" else ""


def sides(arguments: Namespace, first: str, second: str) -> list[list[str]]:
    """Return a list of lines for each side of parallel text. Raise an error if their lengths differ."""
    files = corpus_of(arguments, first, second)
    names = files if len(files) > 1 else files * 2
    texts: list[list[str]] = [[] for _ in names]
    for number, row in enumerate(read_rows(files), 1):
        for lines, name, line in zip(texts, names, row, strict=True):
            lines.append(as_text(line, name, number, arguments.bad_utf8))
    return texts


def all_lines(file: str, bad_utf8: str) -> list[str]:
    """Return the lines of a file of plain text."""
    refuse_table(file)
    return [as_text(line, file, number, bad_utf8) for number, line in enumerate(read_lines(file), 1)]


def corpus_of(arguments: Namespace, first: str, second: str) -> list[str]:
    """Return the files of parallel text: --data alone, with both sides, or those of two options, of which the
    second may name several."""
    files = {name: getattr(arguments, name) for name in (first, second)}
    given = [f"--{name}" for name, file in files.items() if file is not None]
    if arguments.data is not None and given:
        raise UsageError(f"--data {arguments.data} holds both sides. Leave {' and '.join(given)} out.")
    if arguments.data is not None:
        return [arguments.data]
    if len(given) < 2:
        or_else = ", or --data with both sides in one file" if first == "source" else ""
        raise UsageError(f"give the text to read: --{first} and --{second}{or_else}.")
    names = [files[first], *(files[second] if isinstance(files[second], list) else [files[second]])]
    for name in names:
        refuse_table(name)
    return names


def refuse_table(file: str) -> None:
    """Raise an error if a file that should hold one side of parallel text holds both."""
    if is_table(file):
        raise UsageError(
            f"{file}: a table of sources and targets. Give it as --data {file}, or give a file with one side "
            "(cut -f1 of a .tsv)."
        )


def put(lines: Iterable[str]) -> None:
    """Print each text as one line on standard output; a line feed inside a text becomes a space."""
    if sys.stdout is None:
        raise PellucidError("standard output is closed. Give the command one, such as > FILE.")
    for line in lines:
        sys.stdout.write(line.replace("\n", " ") + "\n")
    sys.stdout.flush()


def put_json(value: Any) -> None:
    """Print a value as one line of JSON on standard output."""
    put([json.dumps(jsonable(value), ensure_ascii=False, allow_nan=False)])


def tracked(things: Iterable[Any], about: str, count: int | None = None) -> Iterable[Any]:
    """Yield these things; on a terminal, with a bar on standard error that knows its end. count: how many
    there are, if they have no length."""
    from rich.console import Console
    from rich.progress import track

    quiet = sys.stderr is None or not sys.stderr.isatty()
    return track(things, about, count, console=Console(stderr=True), transient=True, disable=quiet)


def tell(line: str) -> None:
    """Print a message to standard error."""
    print(line, file=sys.stderr)
