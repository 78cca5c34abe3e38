"""A thousand documents made at random, and a model that permutes, drops, repeats and inverts words."""

import html
import random
import re
from collections import Counter

import pytest
from serve.fake_models import same, translate, wild

from pellucid.serve.placeholders import PLACEHOLDER

WORDS = ["red", "dog", "house", "über", "naïve", "दिल्ली", "कुत्ता", "犬", "runs", "&", "<", "not"]
PLACES = ["%s", "%d", "%1$s", "%(n)s", "%%", "{0}", "{name}", "{{x}}", "{{ y.z }}", "${v}", "%{w}"]
URL = "https://a.org/b?c=1&d=2"
PLACES += [URL, "me@b.org", "-3", "1,000.5", "12:30", "100%"]
TAG = re.compile(r"<(/?)(\w+)[^<>]*?(/?)>")


def make(chance: random.Random, form: str, places: Counter[str], depth: int = 0) -> str:
    """Make a sentence with tags; count its placeholders."""
    pieces = []
    for _ in range(chance.randint(1, 6)):
        kind = chance.random()
        if kind < 0.5:
            word = chance.choice(WORDS if form != "text" else WORDS[:-3])
            pieces.append(word if form == "text" else html.escape(word))
        elif kind < 0.7:
            place = chance.choice(PLACES)
            places[place] += 1
            pieces.append(place if form == "text" else html.escape(place))
        elif kind < 0.8:
            pieces.append(f'<x id="{chance.randrange(10**9)}"/>')
        elif depth < 4:
            name = chance.choice(("b", "i", "g"))
            inner = make(chance, form, places, depth + 1)
            pieces.append(f'<{name} id="{chance.randrange(10**9)}">{inner}</{name}>')
    return chance.choice((" ", " ", "  ")).join(pieces) + chance.choice(("", ".", "! ", ", "))


def nesting(document: str) -> Counter[tuple[str, ...]]:
    """Return each tag with the tags around it; an error if they are not nested."""
    found, stack = Counter[tuple[str, ...]](), list[str]()
    for match in TAG.finditer(document):
        if match[1]:
            assert re.match(r"<(\w+)", stack.pop())[1] == match[2]  # type: ignore[index]
        else:
            found[(*stack, match[0])] += 1
            if not match[3]:
                stack.append(match[0])
    assert stack == []
    return found


@pytest.mark.parametrize("form", ["text", "html", "xml"])
def test_placeholders_and_tags_come_back_once_and_nested(form: str) -> None:
    seed = random.randrange(10**6)
    chance = random.Random(seed)
    for number in range(350):
        places = Counter[str]()
        document = " ".join(make(chance, form, places) for _ in range(chance.randint(1, 3)))
        told = f"seed {seed}, document {number}: {document!r}"
        assert translate(document, same, form) == document, told
        said = translate(document, wild(chance), form)
        assert nesting(said) == nesting(document), f"{told} became {said!r}"
        plain = said if form == "text" else html.unescape(TAG.sub(" ", said))
        found = Counter(PLACEHOLDER.findall(plain)) | Counter({URL: plain.count(URL)})
        assert all(found[place] == count for place, count in places.items()), f"{told} became {said!r}"
