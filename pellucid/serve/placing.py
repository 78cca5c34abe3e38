"""Put the tags and placeholders of a text into its translation, by where the words went."""

import re
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import groupby
from typing import NamedTuple

from pellucid.serve.markup import GAP, JOINT, Node
from pellucid.serve.placeholders import PLACEHOLDER
from pellucid.serve.sentences import UNSPACED, is_word

_DROPPED = re.compile(f"[{GAP}{JOINT}]")


class Link(NamedTuple):
    """A word of a translation, and the source word that it came from, as places of characters."""

    start: int
    end: int
    source_start: int
    source_end: int


@dataclass(frozen=True)
class Block:
    """What stands between two breaks of a document, such as a paragraph."""

    nodes: Sequence[Node]
    text: str  # of the whole document
    spans: Sequence[tuple[int, int]]  # where sentences start and end in it
    encode: Callable[[str], str]  # turns text into text of the document, with entities in HTML and XML


def put_back(block: Block, marks: Sequence[Node], text: str, links: Sequence[Link]) -> str:
    """Return a translation of a block with its marks: tags and placeholders. Links to places instead of words
    say where sentences start and end."""
    edge = Node("", "", 0)
    everything = Node("", block.text, 0, inside=(edge, *marks, edge))
    by_source = sorted(links, key=lambda link: (link.source_start, link.source_end, link.start))
    beside = partial(_beside, block.text, by_source)
    words = sorted(part for link in links if link.start < link.end for part in _parts(block.text, text, link))
    found = PLACEHOLDER.finditer(text)  # nothing is put into one
    ends = {place: each.end() for each in found for place in range(each.start() + 1, each.end())}
    pieces, cursor, left_now, beside_last = list[str](), 0, "", "x"
    for place, node in _order(everything, words, 0, len(text), beside):
        place = max(ends.get(place, place), cursor)
        before, cursor, left, right = _DROPPED.sub("", text[cursor:place]), place, "x", "x"
        if alone := GAP in node.text:
            left, right = _sides(block.text, node)
            before = before.removesuffix(" ") if is_word(left) else before
            cursor += is_word(right) and text.startswith(" ", place)
        for piece, *touched in ((block.encode(before), "x", "x"), (node.raw if alone else "", left, right)):
            if piece:
                space = _wants_space(touched[0], left_now) or _wants_space(beside_last, piece[0])
                pieces.append(" " + piece if space else piece)
                left_now, beside_last = piece[-1], touched[1]
        if not alone:
            pieces.append(node.raw)
            left_now, beside_last = "", "x"
    return "".join(pieces)


def _parts(source: str, text: str, link: Link) -> list[Link]:
    """Return the links of the letters of a word that is its own translation, so that tags stay inside it; and
    a link of another word as it is."""
    places = [place for place in range(*link[2:]) if source[place] not in GAP + JOINT]
    if len(places) == link[3] - link[2] or "".join(source[each] for each in places) != text[slice(*link[:2])]:
        return [link]
    return [Link(now, now + 1, place, place + 1) for now, place in enumerate(places, link.start)]


def _sides(source: str, node: Node) -> tuple[str, str]:
    """Return the characters beside a piece of a text; "" is an end of the text, or a tag."""
    left, right = source[max(node.start - 1, 0) : node.start], source[node.end : node.end + 1]
    return _DROPPED.sub("", left), _DROPPED.sub("", right)


def _wants_space(beside: str, now: str) -> bool:
    """Tell whether a mark needs a space on a side where the first character stood, and the second stands."""
    if beside.isspace():
        return now.strip() != ""
    if is_word(beside):  # it touched a word, in a script with spaces or without
        return is_word(now) and UNSPACED.match(beside) is not None and not UNSPACED.match(now)
    return is_word(now) or now == "&" or (beside == "" and now not in "<> ")


def _order(
    outer: Node, links: Sequence[Link], low: int, high: int, beside: Callable[[Node, Node, int], int]
) -> Iterator[tuple[int, Node]]:
    """Yield the two tags of an element, and between them what is not text inside it, with their places in the
    translation. low, high: of the element there. links: of its words, sorted."""
    first, *marks, last = outer.inside
    yield low, first
    runs, spans = _longest_runs(marks, links), list[tuple[int, int, int]]()
    for number, mark in enumerate(marks):
        place = min(max(beside(mark, outer, high), low), high)
        spans.append((*runs.get(number, (place, place)), number))
    for start, end, number in sorted(spans):
        mark, start, end = marks[number], max(start, low), max(end, low)
        if mark.inside:
            words = links[bisect_left(links, (start,)) : bisect_left(links, (end,))]
            yield from _order(mark, words, start, end, beside)
        else:
            yield start, mark
        low = end
    yield high, last


def _beside(source: str, by_source: Sequence[Link], mark: Node, outer: Node, default: int) -> int:
    """Return the place of a mark that stands inside another: before the translation of the next word there,
    or after that of the word before if it touches that one."""
    number = bisect_left(by_source, mark.start, key=lambda link: link.source_start)
    after = [link.start for link in by_source[number : number + 1] if link.source_start < outer.end]
    number = bisect_right(by_source, mark.start, key=lambda link: link.source_end) - 1
    words = [link for link in by_source[max(number, 0) : number + 1] if link.source_start < link.source_end]
    before = [link.end for link in words if link.source_end > outer.start]
    touches = not mark.inside and _sides(source, mark)[0].strip()
    return next(iter(before + after if touches else after + before), default)


def _longest_runs(marks: Sequence[Node], links: Sequence[Link]) -> dict[int, tuple[int, int]]:
    """Return for each element, by its number among the marks, where in the translation the most of its words
    stand with none of another's between them."""
    pairs = [(-1, -1, -1)]
    pairs += [(mark.start, mark.end, number) for number, mark in enumerate(marks) if mark.inside]

    def pair_of(link: Link) -> int:
        _, end, number = pairs[bisect_left(pairs, (link.source_end,)) - 1]
        return number if link.source_start < end else -1

    best = dict[int, list[Link]]()
    for number, group in groupby((link for link in links if pair_of(link) >= 0), pair_of):
        best[number] = max(best.get(number, []), list(group), key=len)
    return {number: (run[0].start, run[-1].end) for number, run in best.items()}
