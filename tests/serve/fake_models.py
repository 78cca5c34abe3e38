"""Models that translate by rule, for tests of what stands around the words."""

import asyncio
import random
import re
import threading
from collections.abc import Callable, Coroutine, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar, cast

from pellucid.serve.placing import Link
from pellucid.serve.sentences import as_read
from pellucid.serve.texts import make_plan, translate_plans
from pellucid.translate.translation import Hypothesis

T = TypeVar("T")
WORD = re.compile(r"[^\s.,;!?]+|[.,;!?]+")  # what stands between spaces, without the punctuation at its end
Rule = Callable[[list[str]], list[tuple[str, int]]]  # from words to words, each with its source word's number


@dataclass
class Answer:
    """The part of a hypothesis that is needed here, and its links."""

    text: str
    links: list[Link]


def same(words: list[str]) -> list[tuple[str, int]]:
    return [(word, number) for number, word in enumerate(words)]


def loud(words: list[str]) -> list[tuple[str, int]]:
    return [(word.upper(), number) for number, word in enumerate(words)]


def backwards(words: list[str]) -> list[tuple[str, int]]:
    last = len(words) - (words[-1:] in (["."], ["!"], ["?"]))
    return loud(words)[:last][::-1] + loud(words)[last:]


def forgetful(words: list[str]) -> list[tuple[str, int]]:
    """A model that drops placeholders."""
    return [(word, number) for word, number in backwards(words) if "%" not in word and "{" not in word]


def wild(chance: random.Random) -> Rule:
    """A model that permutes, drops, repeats and inverts words."""

    def rule(words: list[str]) -> list[tuple[str, int]]:
        said = [(word[:: chance.choice((1, -1))], number) for number, word in enumerate(words)]
        said = [each for each in said for _ in range(chance.choice((0, 1, 1, 1, 2)))]
        if chance.random() < 0.5:
            chance.shuffle(said)
        return said

    return rule


def translate(document: str, rule: Rule, form: str = "text", **options: object) -> str:
    """Return a document as a rule translates its words."""
    plan = make_plan(document, form, **options)  # type: ignore[arg-type]

    async def answer(texts: list[str]) -> Sequence[Hypothesis]:
        assert texts != []
        return cast("Sequence[Hypothesis]", [say(text, rule) for text in texts])

    async def align(asked: list[tuple[str, Hypothesis, str]]) -> Sequence[Sequence[Link]]:
        return [links_in(cast("Answer", hypothesis), source, text) for source, hypothesis, text in asked]

    return finished(translate_plans([plan], answer, align))[0]


def say(text: str, rule: Rule) -> Answer:
    """Translate one sentence. The links have the numbers of words in place of their places."""
    found = list(WORD.finditer(text))
    said, links, last = "", list[Link](), -1
    for word, number in rule([each[0] for each in found]):
        start = found[number].start()
        if said and (number == last + 1 or word[0] not in ".,;!?"):
            said += text[found[number - 1].end() : start] if number == last + 1 else " "
        links.append(Link(len(said), len(said) + len(word), number, number))
        said, last = said + word, number
    return Answer(said, links)


def links_in(answer: Answer, source: str, text: str) -> list[Link]:
    """Return the links of an answer whose text was changed a little, in a source with its white space."""
    places = (place for place, letter in enumerate(source) if not letter.isspace())
    letters = [[next(places) for _ in word] for word in WORD.findall(as_read(source))]
    links, cursor = list[Link](), 0
    for link in answer.links:
        word = answer.text[link.start : link.end]
        if (start := text.find(word, cursor)) >= 0:
            cursor = start + len(word)
            word_places = letters[link.source_start]
            links.append(Link(start, cursor, word_places[0], word_places[-1] + 1))
    return links


def finished(work: Coroutine[Any, Any, T]) -> T:
    """Return the result of a coroutine, run in a thread of its own: that of the tests may have an event loop
    of Playwright's."""
    results = list[T]()
    thread = threading.Thread(target=lambda: results.append(asyncio.run(work)))
    thread.start()
    thread.join()
    return results[0]
