"""Which words go together: who acts, what is eaten, what is read, where one sleeps, what a noun can be."""

from collections.abc import Iterator
from itertools import product

from tools.phrasebook.frames import PRONOUNS, Act, Be, Frame, Place, Quality, Subject, Thing, Where
from tools.phrasebook.lexicon import (
    ADJECTIVES,
    AT_HOME,
    AT_SCHOOL,
    HERE,
    NOUNS,
    TIMES,
    TO_SCHOOL,
    VERBS,
    Adverbial,
)

PEOPLE: tuple[Subject, ...] = (
    *PRONOUNS.values(),
    *(Thing(NOUNS[name], "my") for name in ("brother", "sister")),
    *(Thing(NOUNS[name]) for name in ("boy", "girl", "man", "woman")),
    Thing(NOUNS["child"], plural=True),
)
YOURS: tuple[Subject, ...] = tuple(Thing(NOUNS[name], "your") for name in ("brother", "sister"))
# Which adjectives a noun takes, by the adjectives' English names.
SUITS = {
    "cat": "small big black white",
    "dog": "small big black white",
    "bird": "small black white",
    "book": "small big new old red black green",
    "letter": "new old",
    "key": "small big new old",
    "newspaper": "new old",
    "flower": "small red white",
    "apple": "small red green",
    "boat": "small big new old white green",
    "door": "small big new old white red green",
    "window": "small big new old white green",
    "table": "small big new old white black red",
    "chair": "small big new old white black red",
    "bed": "small big new old",
    "mat": "small new old red green",
    "house": "small big new old white red",
    "kitchen": "small big new",
    "garden": "small big old",
    "tree": "small big",
    "tea": "hot cold",
    "coffee": "hot cold",
    "milk": "hot cold",
    "water": "hot cold",
    "school": "small big new old",
    "park": "small big old",
    "river": "small big",
    "city": "small big old",
    "village": "small old",
    "market": "small big new old",
}
GOVERNED = {
    "on": "table chair bed mat",
    "in": "house kitchen garden park school city village",
    "under": "table chair bed tree",
    "near": "door window house tree river school market",
    "behind": "house door tree school",
}
HABITUAL = tuple(TIMES[name] for name in ("every day", "in the morning", "at night", "on Sundays"))
NOW = TIMES["now"]


def described(name: str, determiner: str = "the", plural: bool = False) -> list[Thing]:
    """The noun alone and with each adjective that suits it."""
    adjectives = [None, *(ADJECTIVES[adjective] for adjective in SUITS.get(name, "").split())]
    return [Thing(NOUNS[name], determiner, adjective, plural) for adjective in adjectives]


def all_described(names: str, determiner: str = "the", plural: bool = False) -> list[Thing]:
    return [thing for name in names.split() for thing in described(name, determiner, plural)]


def places(prepositions: str = "on in under near behind", names: str = "") -> list[Place]:
    """Every place that the prepositions make, or only those with the names."""
    return [
        Place(preposition, thing)
        for preposition in prepositions.split()
        for name in GOVERNED[preposition].split()
        if not names or name in names.split()
        for thing in described(name)
    ]


def asked(subject: Subject) -> bool:
    """Nobody asks the others what I do or what we do."""
    return subject not in (PRONOUNS["I"], PRONOUNS["we"])


def moods(subject: Subject, *questions: str) -> list[str]:
    return ["statement", "not", *(questions if asked(subject) else ())]


_SOME_APPLES = [
    Thing(NOUNS["apple"], "some", adjective, True)
    for adjective in (None, ADJECTIVES["red"], ADJECTIVES["green"])
]
_SOME_FLOWERS = [
    Thing(NOUNS["flower"], "some", adjective, True)
    for adjective in (None, ADJECTIVES["red"], ADJECTIVES["white"])
]
_DRINKS = all_described("tea coffee milk water", "some")
_FOOD = [*all_described("bread rice fish", "some"), *_SOME_APPLES]
OBJECTS: dict[str, list[Thing]] = {
    "eat": _FOOD,
    "drink": _DRINKS,
    "read": all_described("book letter newspaper"),
    "write": [
        Thing(NOUNS[name], "the", adjective)
        for name in ("book", "letter")
        for adjective in (None, ADJECTIVES["new"])
    ],
    "buy": [
        *_FOOD,
        *_SOME_FLOWERS,
        Thing(NOUNS["milk"], "some"),
        *all_described("book house boat table chair newspaper"),
    ],
    "see": all_described("house boat tree river garden city village"),
    "look_for": all_described("key book letter boat chair"),
    "bring": [
        *_DRINKS,
        Thing(NOUNS["bread"], "some"),
        *_SOME_FLOWERS,
        *_SOME_APPLES,
        *all_described("book key chair"),
    ],
    "open": all_described("door window letter"),
}
LASTING = [NOUNS[name] for name in ("house", "boat", "table", "chair")]
_HOME: list[Where] = [
    AT_HOME,
    HERE,
    Place("in", Thing(NOUNS["kitchen"])),
    Place("in", Thing(NOUNS["garden"])),
]
_READING: list[Where] = [
    *_HOME,
    AT_SCHOOL,
    Place("near", Thing(NOUNS["window"])),
    Place("under", Thing(NOUNS["tree"])),
]
_SHOPS: list[Where] = [HERE, Place("at", Thing(NOUNS["market"])), Place("in", Thing(NOUNS["city"]))]
_SHOPS.append(Place("in", Thing(NOUNS["village"])))
PLACES_OF: dict[str, list[Where]] = {
    "eat": _HOME,
    "drink": _HOME,
    "read": _READING,
    "write": _READING,
    "buy": _SHOPS,
}
_COMPANY: list[Where] = [
    Place("with", Thing(NOUNS["child"], plural=True)),
    Place("with", Thing(NOUNS["dog"])),
    Place("with", Thing(NOUNS["friend"], "a")),
]
_OUTSIDE = "house tree river school market"
_HOUSES: list[Where] = [Place("in", thing) for thing in described("house", "a")]
DOING: dict[str, list[Where]] = {
    "sleep": [
        AT_HOME,
        HERE,
        *places("on", "bed mat"),
        *places("in under near", "house garden park tree river"),
    ],
    "work": [
        AT_HOME,
        AT_SCHOOL,
        HERE,
        Place("at", Thing(NOUNS["market"])),
        *places("in"),
        *places("near", _OUTSIDE),
    ],
    "play": [AT_HOME, AT_SCHOOL, HERE, *_COMPANY, *places("in"), *places("near behind", _OUTSIDE)],
    "live": [HERE, *_HOUSES, *places("in", "city village"), *places("near", _OUTSIDE)],
    "go": [
        TO_SCHOOL,
        *(Place("to", thing) for name in ("market", "park", "village") for thing in described(name)),
    ],
}


def acts(
    subject: Subject, verb: str, thing: Thing | None, where: Where | None, when: Adverbial | None, form: str
) -> Iterator[Act]:
    """The statement, its negation and the question; nobody plays with themselves."""
    if isinstance(where, Place) and where.preposition == "with" and where.thing == subject:
        return
    for mood in moods(subject, "question"):
        if (form, mood) != (
            "progressive",
            "not",
        ):  # in French disputed: pas en train de manger du (de) pain
            yield Act(subject, VERBS[verb], thing, where, when, form, mood)


def qualities(subject: Thing, adjective: str) -> Iterator[Frame]:
    graded = adjective in ("small", "big", "old", "hot", "cold")
    for mood, very in product(("statement", "not", "question"), (False, True) if graded else (False,)):
        yield Be(subject, Quality(ADJECTIVES[adjective], very), mood)
