"""Translate texts and documents: sentences are taken out, translated, and put back where they stood."""

import html
from collections import deque
from collections.abc import Awaitable, Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import groupby

from pellucid.serve.markup import Item, pair_up, read_items
from pellucid.serve.placeholders import PLACEHOLDER, mend
from pellucid.serve.placing import Link, Mark, put_back, take_out
from pellucid.serve.sentences import UNSPACED, sentence_ends
from pellucid.translate.translation import Hypothesis


@dataclass(frozen=True)
class Sentence:
    """A sentence of a document."""

    raw: str  # as it stands in the document
    before: str  # what of it comes before its first and after its last word: white space and tags
    after: str
    items: Sequence[Item]  # the pieces between the two
    text: str  # what is translated, without tags
    marks: Sequence[Mark]  # its tags, and the placeholders that were taken out

    @property
    def needs_alignment(self) -> bool:
        """Return whether there is something to place by where the words went."""
        return bool(self.marks)


@dataclass(frozen=True)
class Plan:
    """A document taken apart: its sentences, and between them what comes back as it stood."""

    parts: Sequence[str | Sentence]
    form: str  # "text", "html" or "xml"

    @cached_property
    def sentences(self) -> list[Sentence]:
        """Return the sentences in their order."""
        return [part for part in self.parts if isinstance(part, Sentence)]

    def encode(self, text: str) -> str:
        """Return text as the document writes it: with entities in HTML and XML."""
        return text if self.form == "text" else html.escape(text, quote=False)

    def join(self, texts: Sequence[str], links: Mapping[int, Sequence[Link]]) -> str:
        """Return the document with the translation of each sentence; one that equals its source comes back
        byte for byte. links: by number of the sentence, for those that need an alignment."""
        pieces, number, ended = [""], 0, ""
        for part in self.parts:
            if isinstance(part, str):
                pieces.append(part)
                ended = ""
                continue
            text = texts[number].strip()
            placed = put_back(part.marks, part.text, text, links.get(number, ()), self.encode)
            # Where the source has no space between sentences because its script has none, others need one.
            if ended and UNSPACED.match(ended) and not UNSPACED.match(pieces[-1][-1:] + text[:1]):
                pieces.append(" ")
            pieces.append(part.raw if text == part.text else part.before + placed + part.after)
            ended, number = "" if part.after else part.text[-1], number + 1
        return "".join(pieces)


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
    groups = groupby(items, lambda item: item.kind == "break")
    parts = list[str | Sentence]()
    for is_break, group in groups:
        sentence = _make_sentence(list(group))
        has_letters = any(map(str.isalpha, PLACEHOLDER.sub("", sentence.text)))
        parts += [sentence if has_letters and not is_break else sentence.raw] if sentence.raw else []
    return Plan(parts, form)


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


def revise(plan: Plan, texts: Sequence[str]) -> tuple[Plan, list[str], list[int]]:
    """Return the plan and the translations with each placeholder as it stood, and the numbers of the
    sentences to translate once more: those that lost one, which the plan has taken out of them."""
    mended = [mend(text, sentence.text) for text, sentence in zip(texts, plan.sentences, strict=True)]
    again = [number for number, text in enumerate(mended) if text is None]
    revised = iter(
        _without_placeholders(sentence, plan) if text is None else sentence
        for sentence, text in zip(plan.sentences, mended, strict=True)
    )
    parts = [part if isinstance(part, str) else next(revised) for part in plan.parts]
    return replace(plan, parts=parts), [text or "" for text in mended], again


async def translate_plan(
    plan: Plan,
    translate: Callable[[list[str]], Awaitable[Sequence[Hypothesis]]],
    align: Callable[[list[tuple[str, Hypothesis, str]]], Awaitable[Sequence[Sequence[Link]]]],
) -> str:
    """Translate a document. align: gives the links of each (source, hypothesis, its text as it is used)."""
    found = list(await translate([sentence.text for sentence in plan.sentences]))
    plan, texts, again = revise(plan, [each.text for each in found])
    if again:
        second = await translate([plan.sentences[number].text for number in again])
        for number, each in zip(again, second, strict=True):
            found[number], texts[number] = each, each.text
    marked = [number for number, sentence in enumerate(plan.sentences) if sentence.needs_alignment]
    asked = [(plan.sentences[number].text, found[number], texts[number].strip()) for number in marked]
    links = await align(asked) if asked else []
    return plan.join(texts, dict(zip(marked, links, strict=True)))


def _make_sentence(items: Sequence[Item]) -> Sentence:
    left, right = 0, len(items)
    while left < right:  # what stands before the first word, and after the last one
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
    return Sentence(raw, before, after, items[left:right], text, marks)


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


def _without_placeholders(sentence: Sentence, plan: Plan) -> Sentence:
    """Take the placeholders out of a sentence."""
    items = list[Item]()
    for kind, group in groupby(sentence.items, lambda item: item.kind):
        if kind != "text":
            items += group
            continue
        text, place = "".join(item.text for item in group), 0
        for match in PLACEHOLDER.finditer(text):
            items += read_items(plan.encode(text[place : match.start()]), plan.form, lines=False)
            items.append(Item(plan.encode(match[0]), kind="lone"))
            place = match.end()
        items += read_items(plan.encode(text[place:]), plan.form, lines=False)
    bare = _make_sentence(pair_up(items))
    before, after = sentence.before + bare.before, bare.after + sentence.after
    return replace(bare, raw=sentence.raw, before=before, after=after)
