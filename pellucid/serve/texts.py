"""Translate texts and documents: sentences are taken out, translated, and put back where they stood."""

import html
from collections import deque
from collections.abc import Awaitable, Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import groupby
from typing import NamedTuple

from pellucid.serve.markup import Item, pair_up, read_items
from pellucid.serve.placeholders import PLACEHOLDER, leave_out, mend
from pellucid.serve.placing import Link, Mark, put_back, take_out
from pellucid.serve.sentences import UNSPACED, sentence_ends
from pellucid.translate.translation import Hypothesis


@dataclass(frozen=True)
class Sentence:
    """A sentence of a document."""

    form: str  # of the document: "text", "html" or "xml"
    raw: str  # as it stands there
    before: str  # what of it comes before its first and after its last word: white space and tags
    after: str
    items: Sequence[Item]  # the pieces between the two
    text: str  # what is translated, without tags
    marks: Sequence[Mark]  # its tags, and the placeholders that were taken out

    @property
    def needs_alignment(self) -> bool:
        """Return whether there is something to place by where the words went."""
        return bool(self.marks)


class Answer(NamedTuple):
    """A sentence as it was translated, its translation, and its links if it needs an alignment."""

    sentence: Sentence
    text: str
    links: Sequence[Link] = ()


@dataclass(frozen=True)
class Plan:
    """A document taken apart: its sentences, and between them what comes back as it stood."""

    parts: Sequence[str | Sentence]

    @property
    def sentences(self) -> list[Sentence]:
        """Return the sentences in their order."""
        return [part for part in self.parts if isinstance(part, Sentence)]

    def join(self, answers: Iterator[Answer]) -> str:
        """Return the document with the next of the answers in place of its sentences. A sentence that is its
        own translation comes back byte for byte."""
        pieces, ends = list[str](), ("", "")  # ends: of the sentence right before, and of its translation
        for part in self.parts:
            if isinstance(part, str):
                pieces.append(part)
                ends = ("", "")
                continue
            sentence, text, links = next(answers)
            # Where the source has no space between sentences because its script has none, others need one.
            if UNSPACED.match(ends[0]) and not UNSPACED.search(ends[1] + text[:1]):
                pieces.append(" ")
            encode = partial(_encode, form=part.form)
            placed = put_back(sentence.marks, sentence.text, text, links, encode)
            pieces.append(part.raw if text == sentence.text else sentence.before + placed + sentence.after)
            ends = ("", "") if sentence.after else (sentence.text[-1:], text[-1:])
        return "".join(pieces)


def _encode(text: str, form: str) -> str:
    """Return text as a document writes it: with entities in HTML and XML."""
    return text if form == "text" else html.escape(text, quote=False)


def make_plan(
    document: str,
    form: str = "text",
    language: str | None = None,
    *,
    lines: bool = True,
    sentences: bool = True,
    ignored: Collection[str] = (),
) -> Plan:
    """Take a document apart.

    form: "text", "html" or "xml". language: of the document, such as "de". lines: in "text", a line break
    ends a sentence. sentences: end a sentence also by its punctuation. ignored: tags whose content is not
    translated.
    """
    items = read_items(document, form, ignored, lines)
    items = pair_up(_break_at_ends(items, language) if sentences else items)
    parts = list[str | Sentence]()
    for is_break, group in groupby(items, lambda item: item.kind == "break"):
        sentence = _make_sentence(list(group), form)
        has_letters = any(map(str.isalpha, PLACEHOLDER.sub("", sentence.text)))
        parts += [sentence if has_letters and not is_break else sentence.raw] if sentence.raw else []
    return Plan(parts)


def _break_at_ends(items: Iterable[Item], language: str | None) -> Iterator[Item]:
    """Put empty breaks where sentences end."""
    for is_break, group in groupby(items, lambda item: item.kind == "break"):
        block, place = list(group), 0
        text = "" if is_break else "".join(item.text for item in block)
        ends = deque(sentence_ends(text, language) if text.strip() else ())
        for item in block:
            while ends and ends[0] <= place and item.kind != "close":
                yield Item("", kind="break")
                ends.popleft()
            while ends and ends[0] < place + len(item.text) and item.raw == item.text:
                size, place = ends[0] - place, ends.popleft()
                yield from (Item(item.raw[:size], item.text[:size]), Item("", kind="break"))
                item = Item(item.raw[size:], item.text[size:])
            yield item
            place += len(item.text)


async def translate_plans(
    plans: Sequence[Plan],
    translate: Callable[[list[str]], Awaitable[Sequence[Hypothesis]]],
    align: Callable[[list[tuple[str, Hypothesis, str]]], Awaitable[Sequence[Sequence[Link]]]],
) -> list[str]:
    """Translate documents. Sentences that lost a placeholder are translated once more, without placeholders.

    align: gives the links of each (source, hypothesis, text that is used of it).
    """
    sentences = [sentence for plan in plans for sentence in plan.sentences]
    found = list(await translate([each.text for each in sentences])) if sentences else []
    pairs = zip(found, sentences, strict=True)
    mended = [mend(hypothesis.text.strip(), sentence.text) for hypothesis, sentence in pairs]
    again = [number for number, text in enumerate(mended) if text is None]
    texts = [text or "" for text in mended]
    if again:
        bare = [_without_placeholders(sentences[number]) for number in again]
        second = await translate([sentence.text for sentence in bare])
        for number, sentence, hypothesis in zip(again, bare, second, strict=True):
            texts[number] = leave_out(hypothesis.text.strip(), sentences[number].text)
            sentences[number], found[number] = sentence, hypothesis
    marked = [number for number, sentence in enumerate(sentences) if sentence.needs_alignment]
    asked = [(sentences[number].text, found[number], texts[number]) for number in marked]
    links = dict(zip(marked, await align(asked) if asked else (), strict=True))
    each = enumerate(zip(sentences, texts, strict=True))
    answers = iter([Answer(sentence, text, links.get(number, ())) for number, (sentence, text) in each])
    return [plan.join(answers) for plan in plans]


def _make_sentence(items: Sequence[Item], form: str) -> Sentence:
    """Make a sentence of its pieces: leave out what stands before its first and after its last word."""
    left, right = 0, len(items)
    while left < right:
        if _stays_outside(items[left], items[left + 1 : left + 2]):
            left += 1
        elif _stays_outside(items[right - 1], items[max(right - 2, 0) : right - 1]):
            right -= 1
        elif _is_pair(items[left:right]):
            left, right = left + 1, right - 1
        else:
            break
    text, marks = take_out(items[left:right])
    parts = items, items[:left], items[right:]
    raw, before, after = ("".join(item.raw for item in part) for part in parts)
    return Sentence(form, raw, before, after, items[left:right], text, marks)


def _stays_outside(item: Item, beside: Sequence[Item]) -> bool:
    """Tell whether a piece at an end of a sentence is white space, or stands alone and touches no word."""
    touches = item.raw[:1] != "<" and any(each.text.strip() for each in beside)
    return item.text.isspace() or (item.kind == "lone" and not touches)


def _is_pair(items: Sequence[Item]) -> bool:
    """Tell whether the first tag is closed by the last one."""
    level = 0
    for item in items[:-1]:
        level += (item.kind == "open") - (item.kind == "close")
        if level == 0:
            return False
    return items[-1].kind == "close"


def _without_placeholders(sentence: Sentence) -> Sentence:
    """Take the placeholders out of a sentence."""
    items, form = list[Item](), sentence.form
    for kind, group in groupby(sentence.items, lambda item: item.kind):
        if kind != "text":
            items += group
            continue
        text, place = "".join(item.text for item in group), 0
        for match in PLACEHOLDER.finditer(text):
            items += read_items(_encode(text[place : match.start()], form), form, lines=False)
            items.append(Item(_encode(match[0], form), kind="lone"))
            place = match.end()
        items += read_items(_encode(text[place:], form), form, lines=False)
    bare = _make_sentence(pair_up(items), form)
    before, after = sentence.before + bare.before, bare.after + sentence.after
    return replace(bare, raw=sentence.raw, before=before, after=after)
