"""Put the tags and placeholders of a sentence into its translation, by where the words went."""

import re
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from math import inf
from typing import NamedTuple

from pellucid.serve.markup import Item
from pellucid.serve.placeholders import PLACEHOLDER
from pellucid.serve.sentences import inside_word, is_word

CLOSING = tuple(".,;:!?…)]}”»।॥、。！？")


class Link(NamedTuple):
    """A word of a translation, and the source word that it came from, as places of characters."""

    start: int
    end: int
    source_start: int
    source_end: int


@dataclass
class Mark:
    """A pair of tags around source words, or what stands alone between words: a tag or a placeholder."""

    raw: str
    start: int  # a place in the sentence
    left: str = ""  # the character before it, if it stands alone; "" is an end of the sentence, or a tag
    right: str = ""
    parted: bool = False  # whether it parted a word: the sentence has a space in its place
    close: str = ""  # the closing tag of a pair
    end: int = 0
    inside: list["Mark"] = field(default_factory=list)


def take_out(items: Sequence[Item]) -> tuple[str, list[Mark]]:
    """Return the text of a sentence without tags and with single spaces, and the tags as marks in it."""
    whole = "".join(item.text for item in items)
    text, place, levels = "", 0, [list[Mark]()]
    edges = [Item(""), *items, Item("")]
    for before, item, after in zip(edges, items, edges[2:], strict=False):
        if item.kind == "text":
            piece = re.sub(r"\s+", " ", item.text)
            text += piece.lstrip(" ") if text == "" or text[-1] == " " else piece
            place += len(item.text)
        elif item.kind == "close":
            levels.pop()
            levels[-1][-1].close, levels[-1][-1].end = item.raw, len(text)
        else:
            if item.kind == "lone" and after.text.startswith(CLOSING):
                text = text.rstrip(" ")
            mark = Mark(item.raw, len(text))
            levels[-1].append(mark)
            if item.kind == "open":
                levels.append(mark.inside)
                continue
            mark.left, mark.right = before.text[-1:], after.text[:1]
            mark.parted = inside_word(whole, place)
            text += " " if mark.parted and text[-1] != " " else ""
    return text.rstrip(), levels[0]


def put_back(
    marks: Sequence[Mark], source: str, text: str, links: Sequence[Link], encode: Callable[[str], str]
) -> str:
    """Return a translation with the marks of its source. encode: turns text into the document's text."""
    pieces, cursor, last = [""], 0, "x"
    found = PLACEHOLDER.finditer(text)  # nothing is put into one
    ends = {place: each.end() for each in found for place in range(each.start() + 1, each.end())}

    def put(piece: str, right: str) -> None:
        nonlocal last
        if piece:
            pieces.append(" " + piece if _wants_space(last, piece[0]) else piece)
            last = right

    everything = Mark("", -1, end=len(source) + 1, inside=list(marks))
    for place, raw, mark in _order(everything, sorted(links), 0, len(text), _beside(source, text, links)):
        place = ends.get(place, place)
        put(encode(text[cursor:place]), "x")
        cursor = max(cursor, place)
        if mark and mark.parted and text[cursor : cursor + 1] == " ":
            cursor += 1
        elif mark and mark.parted:
            pieces[-1] = pieces[-1].removesuffix(" ")
        if mark and _wants_space(mark.left, pieces[-1][-1:]):
            put(" ", "x")
        put(raw, mark.right if mark else "x")
    put(encode(text[cursor:]), "x")
    return "".join(pieces)


def _wants_space(beside: str, now: str) -> bool:
    """Tell whether a mark needs a space on a side where the first character stood, and the second stands."""
    if beside.isspace():
        return now.strip() != ""
    return (is_word(now) or now == "&") and not is_word(beside)


def _beside(source: str, text: str, links: Sequence[Link]) -> Callable[[Mark, Mark], int]:
    """Return what finds the place of a mark that stands inside another: before the translation of the next
    word there, or after that of the word before, whichever is nearer to it in the source."""
    by_start = sorted((link.source_start, link.start) for link in links)
    by_end = sorted((link.source_end, link.end) for link in links)

    def place(mark: Mark, outer: Mark) -> int:
        near = [(len(source) + 1, 0, 0 if mark.start == 0 else len(text))]
        after, before = bisect_left(by_start, (mark.start,)), bisect_right(by_end, (mark.start, inf)) - 1
        if after < len(links) and by_start[after][0] < outer.end:
            word = is_word(source[mark.start : mark.start + 1])
            near.append((by_start[after][0] - mark.start, 0 if word else 2, by_start[after][1]))
        if before >= 0 and by_end[before][0] > outer.start:
            near.append((mark.start - by_end[before][0], 1, by_end[before][1]))
        return min(near)[2]

    return place


def _order(
    outer: Mark, links: Sequence[Link], low: int, high: int, beside: Callable[[Mark, Mark], int]
) -> Iterator[tuple[int, str, Mark | None]]:
    """Yield the marks inside another in their new order: where, what, and the mark if it stands alone. low,
    high: where the outer one stands in the translation. links: of the words there, sorted."""
    runs = _longest_runs([mark for mark in outer.inside if mark.close], links)
    taken = sorted((start, end, source) for source, (_, start, end) in runs.items())
    spans = list[tuple[int, int, int]]()
    for number, mark in enumerate(outer.inside):
        if mark.close and mark.start in runs:
            spans.append((*runs[mark.start][1:], number))
            continue
        place = min(max(beside(mark, outer), low), high)
        start, end, source = taken[bisect_left(taken, (place,)) - 1] if taken else (0, 0, 0)
        if start < place < end:  # not inside a pair that it stood beside
            place = start if mark.start <= source else end
        spans.append((place, place, number))
    for start, end, number in sorted(spans):
        mark = outer.inside[number]
        yield start, mark.raw, None if mark.close else mark
        if mark.close:
            first = bisect_left(links, start, key=lambda link: link.start)
            last = bisect_right(links, end, key=lambda link: link.end)
            yield from _order(mark, links[first:last], start, end, beside)
            yield end, mark.close, None


def _longest_runs(pairs: Sequence[Mark], links: Sequence[Link]) -> dict[int, tuple[int, int, int]]:
    """Return the most words of each pair of tags with none of another pair's between them: their count, and
    where they start and end; by where the pair starts in the source."""
    starts, best = [pair.start for pair in pairs], dict[int, tuple[int, int, int]]()
    run, last = (0, 0, 0), -1
    for link in links:
        number = bisect_right(starts, link.source_start) - 1
        if number < 0 or link.source_start >= pairs[number].end:
            continue
        run = (run[0] + 1, run[1], link.end) if number == last else (1, link.start, link.end)
        best[starts[number]] = max(best.get(starts[number], run), run, key=lambda each: each[0])
        last = number
    return best
