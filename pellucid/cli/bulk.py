"""Translate a file into a new one. A run that was killed goes on where it stopped, with the same result.

OUT.part grows by blocks of whole lines. After each block OUT.part.json says how far it is, and what made it.
A block is on the disk before that file counts it; what lies beyond is cut off and made again. At the end
OUT.part becomes OUT, so a file of that name is always complete.
"""

import argparse
import gzip
import hashlib
import json
import os
import re
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from datetime import timedelta
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

from pellucid.cli.doubts import Doubts
from pellucid.cli.lines import as_text, tell
from pellucid.config.schema import TABLES
from pellucid.data.corpus import fingerprint, read_lines
from pellucid.errors import PellucidError, UsageError
from pellucid.folder.manifest import MANIFEST, is_sealed
from pellucid.folder.version import __version__
from pellucid.folder.whole_file import place, to_disk, writing

if TYPE_CHECKING:
    from pellucid.translate.translation import Translation
    from pellucid.translator import Translator

BLOCK = 1000  # lines of the source; a run that was killed translates fewer than these again
EVERY = 10.0  # seconds between two lines on the progress
RECENT = 6  # of these lines; what was done since the first of them gives the pace
FREE = {"verb", "model", "source", "out", "resume", "memory", "batch_tokens"}  # or compared by content
# How far a new run is: lines of the source, bytes of OUT.part, and the hash of these lines.
NOTHING = {"lines": 0, "size": 0, "source": hashlib.sha256().hexdigest()}
Record = dict[str, Any]  # what a line of the source holds: its text, and what else an object of JSON has
RowsOf = Callable[..., Iterable[str]]


def translate_file(arguments: argparse.Namespace, options: Any, rows_of: RowsOf) -> None:
    """Translate --source into --out, or go on with it. rows_of: returns the lines that plain text has for a
    translator, the index of a line, its translation and the arguments."""
    source, out = arguments.source, arguments.out
    if source is None or out is None:
        raise UsageError("--source and --out belong together, and --resume to both. Give both files.")
    if str(out) == "-":
        raise UsageError("--out - : standard output takes no part of --resume. Leave --source and --out out.")
    check_source(source)
    if kind_of(out) and (arguments.json or arguments.n_best):
        raise UsageError(f"--json and --n-best write a format of their own. Give --out no {kind_of(out)}.")
    part = Path(f"{place(out)}.part")
    with alone_with(part):
        _translate_part(part, arguments, options, rows_of)


def check_source(source: str) -> None:
    """Raise an error unless this is a file: it is read more than once."""
    path = Path(source)
    if path.is_file():
        return
    reason = "this is no file that can be read twice. Write its text to one"
    if path.is_dir():
        reason = "this is a folder. Name a file"
    elif not path.exists():
        reason = "no such file"
    raise PellucidError(f"{source}: {reason}.")


@contextmanager
def alone_with(part: Path) -> Iterator[None]:
    """Lock OUT.part until the block ends; raise an error if another command writes it."""
    from pellucid.folder.lock import locked

    lock = Path(f"{part}.lock")
    with locked(lock, f"{part}: another command is writing this file. Let it end."):
        try:
            yield
        finally:
            with suppress(OSError):  # Windows removes no file that is open
                lock.unlink()


def _translate_part(part: Path, arguments: argparse.Namespace, options: Any, rows_of: RowsOf) -> None:
    """Write OUT.part, or the rest of it, and name it OUT when it is complete."""
    out, state = Path(arguments.out), Path(f"{part}.json")
    if os.path.lexists(out):
        if not arguments.resume:
            raise UsageError(f"{out} already exists, and stays as it is. Choose another --out.")
        if not part.exists():  # a run may have been killed just before it removed its state
            state.unlink(missing_ok=True)
        tell(f"{out} is complete: nothing is left to do. What made it is not known any more.")
        return
    if part.exists() and not arguments.resume:
        raise UsageError(f"{part}: an earlier run did not end. Go on with --resume, or remove this file.")
    from pellucid.learning.stop import Interrupted

    settings = settings_of(arguments)
    with writing(part, "What is saved stays. Make room, and go on with --resume."):
        saved = _read_state(part, state, settings)
        _write_state(part, saved)
        try:
            _translate(part, saved, arguments, options, rows_of)
        except KeyboardInterrupt as interrupt:
            raise Interrupted(f"interrupted: {saved['lines']:,} lines are saved.", *interrupt.args) from None
        if os.path.lexists(out):
            move = "Move it away, and go on with --resume"
            raise PellucidError(f"{out} was made meanwhile by something else, and stays as it is. {move}.")
        os.replace(part, out)
        to_disk(out.parent)
        state.unlink()


def _translate(
    part: Path, saved: dict[str, Any], arguments: argparse.Namespace, options: Any, rows_of: RowsOf
) -> None:
    """Append the translations of the lines that are not translated yet to OUT.part."""
    from pellucid.translator import load

    source, first, kind = arguments.source, saved["lines"], kind_of(arguments.out)
    lines, left, digest = _measure(arguments, saved)
    translator = load(arguments.model, arguments.device, arguments.precision)
    asked, rows, number = deque[Record](), list[str](), first

    def texts() -> Iterator[str]:
        for record in islice(records_of(source, arguments.bad_utf8), first, lines):
            asked.append(record)
            yield record["text"]

    translations = translated(translator, texts(), arguments, options)
    doubts = Doubts(translator.vocabulary, source, arguments.to, first)
    with part.open("ab") as file:
        file.truncate(saved["size"])
        if not saved["size"]:
            _save(file, part, [], saved)  # an empty .gz is not an empty file
        for number, each in enumerate(_telling(translations, source, first, lines, left), first + 1):
            doubts.add(each)
            digest.update(repr(asked[0]).encode())
            rows += _row(asked.popleft(), each, kind) or rows_of(translator, number - 1, each, arguments)
            if number % BLOCK == 0 or number == lines:
                _save(file, part, rows, saved, lines=number, source=digest.hexdigest())
                rows.clear()
    if number < lines:
        raise PellucidError(f"{source}: it has become shorter than {lines:,} lines. Restore it.")
    doubts.tell()


def translated(
    translator: "Translator", texts: Iterable[str], arguments: argparse.Namespace, options: Any
) -> "Iterator[Translation]":
    """Translate texts as they come; with --mbr, choose among the samples of each."""
    translations = translator.translate_each(texts, arguments.to, **options)
    if not arguments.mbr:
        return translations
    from pellucid.translate.consensus import by_expected_chrf

    return map(by_expected_chrf, translations)


def _measure(arguments: argparse.Namespace, saved: dict[str, Any]) -> tuple[int, int, Any]:
    """Read all of the source, so that a wrong line is told before the work. Return its number of lines, the
    characters that are not translated yet, and the hash of the lines that are. Raise an error if these have
    changed."""
    lines, left, digest = 0, 0, hashlib.sha256()
    for lines, record in enumerate(records_of(arguments.source, arguments.bad_utf8), 1):
        if lines <= saved["lines"]:
            digest.update(repr(record).encode())
        else:
            left += len(record["text"]) + 1
    if digest.hexdigest() != saved["source"]:
        raise UsageError(
            f"{arguments.source}: its first {saved['lines']:,} lines, which are translated, have changed. "
            f"Restore them, or remove {arguments.out}.part to begin anew."
        )
    return lines, left, digest


def _save(file: BinaryIO, part: Path, rows: list[str], saved: dict[str, Any], **now: Any) -> None:
    """Append lines to OUT.part, and when they are on the disk, write down how far it is now."""
    # Half of a surrogate pair, which JSON may hold, is written as JSON writes it.
    content = "".join(f"{row}\n" for row in rows).encode(errors="backslashreplace")
    if part.stem.endswith(".gz"):
        content = gzip.compress(content, mtime=0)  # each block by itself, so that a run can begin with any
    file.write(content)
    file.flush()
    os.fsync(file.fileno())
    after = saved | now | {"size": saved["size"] + len(content)}
    _write_state(part, after)
    saved |= after


def _write_state(part: Path, saved: dict[str, Any]) -> None:
    new = Path(f"{part}.new")  # always of this name, so that no kill leaves one behind for good
    new.write_bytes(json.dumps(saved).encode())
    to_disk(new)
    os.replace(new, f"{part}.json")


def records_of(file: str, bad_utf8: str) -> Iterator[Record]:
    """Yield what each line holds: a text, the first column of a .tsv, or the object of a .jsonl."""
    kind = kind_of(file)
    for number, line in enumerate(read_lines(file), 1):
        text = as_text(line, file, number, bad_utf8)
        if kind != ".jsonl":
            yield {"text": text.partition("\t")[0] if kind else text}
            continue
        try:
            record = json.loads(text if text.strip() else '{"text": ""}')
        except (ValueError, RecursionError):
            record = None
        if not isinstance(record, dict) or not isinstance(record.get("text"), str):
            raise PellucidError(f'{file}:{number}: not an object of JSON with a "text": {{"text": "…"}}.')
        yield record


def _row(record: Record, translation: "Translation", kind: str) -> list[str]:
    """Return the line of a .tsv, source and translation, or of a .jsonl, the object with its translation."""
    if kind == ".jsonl":
        return [json.dumps(record | {"translation": translation.text}, ensure_ascii=False)]
    both = (re.sub("[\t\n]", " ", text) for text in (record["text"], translation.text))
    return ["\t".join(both)] if kind else []


def kind_of(file: str | Path) -> str:
    """Return the ending of a table or of lines of JSON, ".tsv" or ".jsonl"; "" stands for plain text."""
    ending = Path(str(file).removesuffix(".gz")).suffix
    return ending if ending in TABLES else ""


def settings_of(arguments: argparse.Namespace) -> dict[str, Any]:
    """Return what decides how a text is translated: the version, the models' files, and options."""
    from pellucid.translator import folder_of

    hashes, own = [], f"{Path(arguments.out).name}.part"  # which may lie in a model's folder
    for folder in map(folder_of, arguments.model):
        files = [folder / MANIFEST]
        if not is_sealed(folder):
            files = [each for each in folder.iterdir() if each.is_file() and not each.name.startswith(own)]
        hashes += sorted(fingerprint([[str(file) for file in files]]).values())
    options = {name: value for name, value in vars(arguments).items() if name not in FREE}
    return {"version": __version__, "model": hashes, **options}


def _read_state(part: Path, state: Path, settings: dict[str, Any]) -> dict[str, Any]:
    """Return how far an earlier run came. Raise an error if it had other settings."""
    saved: dict[str, Any] = NOTHING | {"settings": settings}
    if not part.exists():
        return saved
    try:
        read = json.loads(state.read_bytes())
        saved = {name: type(value)(read[name]) for name, value in saved.items()}
        if part.stat().st_size < saved["size"]:
            raise ValueError
    except (OSError, ValueError, TypeError, LookupError):
        raise PellucidError(f"{state}: missing or damaged. Remove {part}, and begin anew.") from None
    then = {name: value for name, value in saved["settings"].items() if settings.get(name) != value}
    if then:
        shown = (f"{name} = {value}" if name != "model" else "another model" for name, value in then.items())
        raise UsageError(
            f"{part} was begun with {' and '.join(shown)}. Call the command as then, or remove the file to "
            "begin anew."
        )
    return saved


def _telling(
    translations: "Iterable[Translation]", source: str, first: int, lines: int, left: int
) -> "Iterator[Translation]":
    """Yield translations, and tell about every ten seconds how many lines are done and when the others will
    be, at the pace of the last minute. first: how many were done before; left: the characters that were
    not."""
    number, done = first, 0
    recent = deque([(time.monotonic(), first, done)], RECENT)
    try:
        for number, each in enumerate(translations, first + 1):
            yield each
            done += len(each.source) + 1
            if (now := time.monotonic()) - recent[-1][0] >= EVERY:
                then, lines_then, done_then = recent[0]
                pace = (number - lines_then) / (now - then)
                rest = timedelta(seconds=round((now - then) * (left - done) / (done - done_then)))
                tell(f"{number:,}/{lines:,} lines  {pace:,.1f} lines/s  {rest} left")
                recent.append((now, number, done))
    except PellucidError:
        tell(f"{source}:{number + 1}: the command ends at this line. What is saved stays.")
        raise
