"""Files whose text is translated: plain text, HTML, subtitles, TMX, XLIFF and JSON lines.

A file is its texts and the places of their translations; all between them comes back as it stood. XML is only
cut into pieces: what it declares, such as entities, is neither read nor opened.
"""

import json
import re
from bisect import bisect_left
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import PurePath
from typing import NamedTuple

from pellucid.errors import UsageError
from pellucid.serve.codes import by_codes, find, short
from pellucid.serve.markup import NOT_TRANSLATED, pieces_of

MARKS = {b"\xef\xbb\xbf": "utf-8", b"\xff\xfe": "utf-16-le", b"\xfe\xff": "utf-16-be", b"": "utf-8"}
DECLARED = re.compile(r"""(?:charset|encoding)\s*=\s*["']?(?!utf-?(?:8|16)\b)([\w-]+)""", re.IGNORECASE)
# What in subtitles is not text: numbers and times, settings such as {\an8}, and the dash of each who speaks.
CUE = r"^(?:\d+[^\S\n]*\n)?[^\S\n]*\d[\d:.,]*[^\S\n]*-->.*$"
BETWEEN = re.compile(rf"(?m){CUE}|\{{\\[^{{}}]*\}}|^[^\S\n]*[-–]|\Z")
STRING = re.compile(r"""(?m)(?:^[^\S\n]*+|"text"\s*+:\s*+)("(?:[^"\\\n]|\\.)*+")""")
NO_TEXT = ("bpt", "ept", "it", "ph", "sub", "ut")  # elements of TMX and XLIFF with what is no text
KEPT = "*"  # the name of an element with translate="no", and of each inside it


class Slot(NamedTuple):
    """A text of a file, the places between which its translation stands, and what is written around it."""

    text: str
    start: int
    end: int
    before: str = ""
    after: str = ""


@dataclass(frozen=True)
class File:
    """A file and its texts. form, ignored: how `make_plan` takes a text apart. write: makes of what stood in
    the file, and of the translation, what stands there then. mark: the byte order mark."""

    content: str
    slots: Sequence[Slot]
    form: str = "text"
    ignored: Sequence[str] = ()
    write: Callable[[str, str], str] = lambda before, text: text
    mark: bytes = b""

    def fill(self, translations: Sequence[str]) -> bytes:
        """Return the file with the translations of its texts."""
        pieces, place = list[str](), 0
        for slot, text in zip(self.slots, translations, strict=True):
            said = self.write(self.content[slot.start : slot.end], text)
            pieces += [self.content[place : slot.start], slot.before, said, slot.after]
            place = slot.end
        return self.mark + "".join([*pieces, self.content[place:]]).encode(MARKS[self.mark], "replace")


def read_file(name: str, data: bytes, source: str | None, target: str) -> File:
    """Read a file; its name says what it is. source: its language, if it is known; target: that to translate
    to."""
    if (kind := PurePath(name).suffix.lower()) not in READERS:
        raise UsageError(f"a file {kind or 'without a suffix'} cannot be read, but {', '.join(READERS)}.")
    mark = next(each for each in MARKS if data.startswith(each))
    try:
        content = data[len(mark) :].decode(MARKS[mark])
    except UnicodeDecodeError:
        raise UsageError(f"the file is not {MARKS[mark].upper()}. Save it as UTF-8.") from None
    file = READERS[kind](content, source, target)
    if file.form != "text" and (declared := DECLARED.search(content, 0, 1024)):
        raise UsageError(f"the file says that it is {declared[1]}. Save it as UTF-8, and let it say so.")
    if not any(slot.text for slot in file.slots):
        raise UsageError("the file has nothing to translate.")
    return replace(file, slots=sorted(file.slots, key=lambda slot: slot.start), mark=mark)


def _read_all(form: str, content: str, source: str | None, target: str) -> File:
    return File(content, [Slot(content, 0, len(content))], form)


def _read_subtitles(content: str, source: str | None, target: str) -> File:
    """Read what is said at a time as one line."""
    slots, start = list[Slot](), len(content)
    for each in BETWEEN.finditer(content):
        if text := content[start : each.start()].strip():
            begin = content.index(text, start)
            slots.append(Slot(" ".join(text.split()), begin, begin + len(text)))
        if "-->" in each[0] or start < len(content):  # before the first time there is no text
            start = each.end()
    return File(content, slots, write=_break)


def _break(before: str, text: str) -> str:
    """Return a text in as many lines as there were before, each about as long; a line ends at a space that is
    not in a tag or before a mark."""
    spaces = [each.start() for each in re.finditer(r"<[^<>]*>| (?![!?:;»])", text) if each[0] == " "]
    letters, count = [*text], before.count("\n") + 1
    line_end = "\r\n" if "\r\n" in before else "\n"
    for line in range(1, count):
        wanted = len(text) * line / count
        place = bisect_left(spaces, wanted)
        if near := spaces[max(place - 1, 0) : place + 1]:
            end = near[0] if wanted - near[0] <= near[-1] - wanted else near[-1]
            letters[end] = line_end
    return "".join(letters)


def _read_json(content: str, source: str | None, target: str) -> File:
    """Read each line that is a string, and each field `text` of the others."""
    for number, line in enumerate(content.split("\n"), 1):
        try:
            json.loads(line if line.strip() else "0")
        except (ValueError, RecursionError):
            raise UsageError(f"line {number} of the file is not JSON.") from None
    slots = [Slot(json.loads(each[1]), *each.span(1)) for each in STRING.finditer(content)]
    return File(content, slots, write=lambda _, text: json.dumps(text, ensure_ascii=False))


class Element(NamedTuple):
    """An element of XML: its name without a prefix, its tag, and where this, the content, the closing tag,
    and what follows begin."""

    name: str
    tag: str
    start: int
    inside: int
    close: int
    end: int
    children: "list[Element]"

    def attribute(self, name: str) -> str | None:
        """Return the value of an attribute."""
        found = re.search(rf"""\s{name}\s*=\s*["']([^"']*)""", self.tag)
        return found and found[1]

    def child(self, *names: str) -> "Element | None":
        """Return the last child with one of these names."""
        return next((each for each in reversed(self.children) if each.name in names), None)


def _elements(content: str) -> Iterator[Element]:
    """Yield the elements of XML, the inner before the outer, but not those with translate="no"."""
    place, opened = 0, [Element("", "", 0, 0, 0, 0, [])]
    for item in pieces_of(content, "xml"):
        start, place = place, place + len(item.raw)
        if item.name and item.raw[1] != "/":
            kept = opened[-1].name == KEPT or NOT_TRANSLATED.search(item.raw)
            name = KEPT if kept else item.name.rpartition(":")[2]
            opened.append(Element(name, item.raw, start, place, place, place, []))
        if item.name and "/" in (item.raw[1], item.raw[-2]) and len(opened) > 1:
            element = opened.pop()
            if item.raw[1] == "/":
                element = element._replace(close=start, end=place)
            if element.name != KEPT:
                opened[-1].children.append(element)
                yield element


def _slot(content: str, origin: Element, to: Element | None, last: Element, before: str, after: str) -> Slot:
    """Return the slot for the content of one element in another one, or in a new one behind the last, which
    begins and ends as given, and has a line of its own if the last one has."""
    text = content[origin.inside : origin.close]
    if to:
        return Slot(
            text,
            to.start,
            to.end,
            to.tag.removesuffix(">").removesuffix("/").rstrip() + ">",
            "</" + after.split("</")[1],
        )
    white = content[content.rfind(">", 0, last.start) + 1 : last.start]
    return Slot(text, last.end, last.end, (white if white.isspace() else "") + before, after)


def _read_xliff(content: str, source: str | None, target: str) -> File:
    """Read the source of each unit that has no target yet, or one that repeats it."""
    slots = list[Slot]()
    for unit in _elements(content):
        for mine, its in (("srcLang", "trgLang"), ("source-language", "target-language")):
            there = unit.attribute(its)
            if unit.attribute(mine) and there is None:
                slots.append(Slot("", unit.inside - 1, unit.inside - 1, f' {its}="{short(target)}"'))
            elif there and find(there, by_codes([target])) is None:
                raise UsageError(f"the file is for {its} = {there!r}, and {target!r} was asked.")
        origin, to, last = unit.child("source"), unit.child("target"), unit.child("source", "seg-source")
        if unit.name in ("trans-unit", "segment") and origin and last:
            text, said = (content[each.inside : each.close].strip() if each else "" for each in (origin, to))
            end = content[origin.close : origin.end].replace("source", "target")
            if text and said in ("", text):
                slots.append(_slot(content, origin, to, last, end.replace("/", ""), end))
    return File(content, slots, "xml", NO_TEXT)


def _read_tmx(content: str, source: str | None, target: str) -> File:
    """Read the source of each unit. Its translation is added, or replaces one that is there."""
    slots, codes = list[Slot](), by_codes([source, target] if source else [target])
    before, after = f'<tuv xml:lang="{short(target)}"><seg>', "</seg></tuv>"
    for unit in _elements(content):
        segments = dict[str | None, Element]()  # by language, of which None is any other
        for each in unit.children if unit.name == "tu" else ():
            if each.name == "tuv" and (segment := each.child("seg")):
                segments.setdefault(find(each.attribute("(?:xml:)?lang") or "", codes), segment)
        if (origin := segments.get(source)) and (last := unit.child("tuv")):
            slots.append(_slot(content, origin, segments.get(target), last, before, after))
    return File(content, slots, "xml", NO_TEXT)


READERS: dict[str, Callable[[str, str | None, str], File]] = {
    ".txt": partial(_read_all, "text"),
    ".html": partial(_read_all, "html"),
    ".htm": partial(_read_all, "html"),
    ".srt": _read_subtitles,
    ".tmx": _read_tmx,
    ".xliff": _read_xliff,
    ".xlf": _read_xliff,
    ".jsonl": _read_json,
}
