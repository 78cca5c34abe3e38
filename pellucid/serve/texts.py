"""Translate texts and documents: sentences are taken out, translated, and put back where they stood."""

import asyncio
import html
import re
from bisect import bisect_left, bisect_right
from collections.abc import Awaitable, Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import groupby
from typing import Any

from pellucid.serve.markup import GAP, JOINT, Node, read, source_of
from pellucid.serve.placeholders import PLACEHOLDER, leave_out, mend
from pellucid.serve.placing import Block, Link, put_back
from pellucid.serve.sentences import UNSPACED, as_read, parts_of, sentence_ends
from pellucid.translate.translation import Hypothesis

Translate = Callable[[list[str]], Awaitable[Sequence[Hypothesis]]]
Plan = Sequence[str | Block]  # a document taken apart: between its blocks, what comes back as it stood
Align = Callable[[list[tuple[str, Hypothesis, str]]], Awaitable[Sequence[Sequence[Link]]]]


@dataclass
class Answer:
    """A sentence that was translated."""

    source: str  # with the white space that stands there; with gaps for placeholders that were taken out
    hypothesis: Hypothesis
    text: str  # what is used of it
    links: Sequence[Link] = ()  # from text to source


def make_plan(
    document: str,
    form: str = "text",
    language: str | None = None,
    *,
    sentences: bool = True,
    long: Collection[str] = (),
    **how: Any,
) -> Plan:
    """Take a document apart.

    form: "text", "html" or "xml". language: of the document, such as "de". sentences: end a sentence also by
    its punctuation. long: sentences, as the model reads them, that are cut in two. how: more settings of
    `read`.
    """
    encode = str if form == "text" else partial(html.escape, quote=False)
    nodes, parts = list(read(document, form, **how)), list[str | Block]()
    text = "".join(node.text for node in nodes)
    for is_break, group in groupby(nodes, lambda node: node.kind == "break"):
        block = list(group)
        start, end = block[0].start, block[-1].end
        ends = sentence_ends(text[start:end], language) if sentences and not is_break else [end - start]
        spans = [] if is_break else list(_spans(text, start, [start + each for each in ends], long))
        parts.append(Block(block, text, spans, encode) if spans else source_of(block))
    return parts


def _spans(text: str, start: int, ends: Iterable[int], long: Collection[str]) -> Iterator[tuple[int, int]]:
    """Yield where the sentences with letters start and end, without the white space around them."""
    for end in ends:
        sentence = text[start:end]
        if as_read(sentence) in long and len(parts := parts_of(sentence)) > 1:
            yield from _spans(text, start, [start + each for each in parts], long)
        elif any(map(str.isalpha, PLACEHOLDER.sub("", sentence))):
            yield end - len(sentence.lstrip()), start + len(sentence.rstrip())
        start = end


def sentences_in(plans: Iterable[Plan]) -> list[str]:
    """Return the sentences of documents, as the model reads them."""
    blocks = (part for plan in plans for part in plan if isinstance(part, Block))
    return [as_read(block.text[start:end]) for block in blocks for start, end in block.spans]


async def translate_plans(plans: Sequence[Plan], translate: Translate, align: Align) -> list[str]:
    """Translate documents. Sentences that lost a placeholder are translated once more, without placeholders.

    align: gives the links of each (source, hypothesis, text that is used of it).
    """
    blocks = [part for plan in plans for part in plan if isinstance(part, Block)]
    sources = [block.text[start:end] for block in blocks for start, end in block.spans]
    answers = await _answers(sources, translate)
    crossed = [each for each in answers if GAP in each.source.strip() or JOINT in each.source.strip()]
    found = await align([(each.source, each.hypothesis, each.text) for each in crossed]) if crossed else ()
    for answer, links in zip(crossed, found, strict=True):
        answer.links = links
    rest, said = iter(answers), list[str]()
    for block in blocks:
        said.append(_join(block, [next(rest) for _ in block.spans]))
        await asyncio.sleep(0)  # a long document does not hold up other requests
    done = iter(said)
    return ["".join(part if isinstance(part, str) else next(done) for part in plan) for plan in plans]


async def _answers(sources: Sequence[str], translate: Translate) -> list[Answer]:
    """Return the answers to sentences. Each has the placeholders of its source, or none of them."""

    async def ask(sources: Sequence[str]) -> list[Answer]:
        found = await translate([as_read(each) for each in sources]) if sources else ()
        return [Answer(*pair, pair[1].text.strip()) for pair in zip(sources, found, strict=True)]

    answers, lost = await ask(sources), list[int]()
    for number, answer in enumerate(answers):
        mended = mend(answer.text, as_read(answer.source))
        answer.text = mended or ""
        lost += [number] if mended is None else []
    bare = await ask([PLACEHOLDER.sub(lambda match: GAP * len(match[0]), sources[number]) for number in lost])
    for number, answer in zip(lost, bare, strict=True):
        answer.text = leave_out(answer.text, sources[number])
        answers[number] = answer
    return answers


def _join(block: Block, answers: Sequence[Answer]) -> str:
    """Return a block with its sentences translated. It comes back byte for byte if nothing changed."""
    if all(each.text == as_read(each.source) for each in answers):
        return source_of(block.nodes)
    text, cursor, last = "", block.nodes[0].start, block.nodes[-1].end
    links, taken = list[Link](), list[tuple[int, int]]()
    for (start, end), answer in zip([*block.spans, (last, last)], [*answers, None], strict=True):
        words = map(re.Match.span, re.finditer(r"\S+", block.text[cursor:start]))
        links += [Link(len(text) + a, len(text) + b, cursor + a, cursor + b) for a, b in words]
        text += block.text[cursor:start]
        if answer:
            # Where the source has no space between sentences because its script has none, others need one.
            unspaced = UNSPACED.match(block.text[max(start - 1, 0) : start])
            text += " " if unspaced and not UNSPACED.search(text[-1:] + answer.text[:1]) else ""
            first, text, cursor = len(text), text + answer.text, end
            low, high = end - start - len(answer.source.lstrip()), len(answer.source.rstrip())
            found = answer.links or [Link(0, len(answer.text), low, high)]
            links += [Link(first + a, first + b, start + c, start + d) for a, b, c, d in found]
            links += [Link(first, first, start, start), Link(len(text), len(text), end - 1, end)]
            if answer.source != block.text[start:end]:
                spans = map(re.Match.span, PLACEHOLDER.finditer(block.text[start:end]))
                taken += [(start + a, start + b) for a, b in spans]
    marks = list(_marks(block.nodes, taken, block.encode))
    return put_back(block, marks, text, links) if marks else block.encode(text)


def _marks(
    nodes: Sequence[Node], taken: Sequence[tuple[int, int]], encode: Callable[[str], str]
) -> Iterator[Node]:
    """Yield what is not text in a block, and the placeholders that were taken out."""
    for node in nodes:
        if node.kind != "text":
            yield node._replace(inside=list(_marks(node.inside, taken, encode)))
            continue
        first = bisect_right(taken, node.start, key=lambda span: span[1])
        for span in taken[first : bisect_left(taken, (node.end,))]:
            start, end = max(span[0], node.start), min(span[1], node.end)
            raw = encode(node.text[start - node.start : end - node.start])
            yield Node(raw, GAP * (end - start), start, "lone")
