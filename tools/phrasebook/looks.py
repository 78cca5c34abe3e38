"""How things look: which adjectives are said of which nouns, of one and of several."""

from collections.abc import Iterator
from itertools import product

from tools.phrasebook.frames import Frame, Thing
from tools.phrasebook.nouns import COUNTED, NOUNS, SMALL
from tools.phrasebook.suits import SUITS, qualities

COUNTED_NAMES = {name for names in COUNTED.values() for name in names}
_EVERYDAY = (
    "cat dog bird horse book letter key flower apple boat table chair house car phone shirt bag girl boy"
)


def looking() -> Iterator[Frame]:
    """How things look: the house is big. French has another word for new here (neuf), so new is left out."""
    owned = ("cat", "dog", "book", "key", "house", "garden", "boat", "chair", "bed")
    for name, adjectives in SUITS.items():
        for adjective, owner in product(adjectives.split(), ("the", "my", "your")):
            if adjective != "new" and (owner == "the" or name in owned):
                yield from qualities(Thing(NOUNS[name], owner), adjective)
    for name, adjectives in SUITS.items():
        if name in COUNTED_NAMES:
            for adjective, owner in product(adjectives.split(), ("the", "this", "my", "their", "our", "his")):
                if adjective != "new" and (owner in ("the", "this") or name in SMALL):
                    yield from qualities(Thing(NOUNS[name], owner, plural=True), adjective)
                    yield from qualities(Thing(NOUNS[name], owner), adjective)
    for name, adjective in product(
        (
            "door",
            "window",
            "book",
            "letter",
            "market",
            "school",
            "park",
            "shop",
            "museum",
            "church",
            "library",
        ),
        ("open", "closed"),
    ):
        yield from qualities(Thing(NOUNS[name]), adjective)


def several_looking() -> Iterator[Frame]:
    """What people say first of several things: these cats are black, not these black cats."""
    for name in _EVERYDAY.split():
        for adjective, owner in product(SUITS[name].split(), ("the", "this", "my", "their")):
            if adjective != "new":
                yield from qualities(Thing(NOUNS[name], owner, plural=True), adjective)
