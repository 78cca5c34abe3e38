"""Which words go together: who acts, what is eaten, what is read, where one sleeps, what a noun can be."""

from collections.abc import Iterator
from itertools import product

from tools.phrasebook.forms import Adverbial
from tools.phrasebook.frames import PRONOUNS, Act, Be, Frame, Pair, Place, Quality, Subject, Thing, Where
from tools.phrasebook.lexicon import (
    ADJECTIVES,
    TIMES,
    VERBS,
)
from tools.phrasebook.nouns import NAMES, NOUNS

# The pronouns twice, since people say I and you more often than my sister.
PEOPLE: tuple[Subject, ...] = (
    *(*PRONOUNS.values(), PRONOUNS["I"], PRONOUNS["we"], PRONOUNS["I"], *PRONOUNS.values()),
    *(Thing(NOUNS[name], "my") for name in ("brother", "sister", "mother", "father")),
    *(Thing(NAMES[name], "") for name in ("Ana", "Maria", "Tom")),
    *(Thing(NOUNS[name]) for name in ("boy", "girl", "man", "woman")),
    Thing(NOUNS["child"], plural=True),
)
PAIRS: tuple[Subject, ...] = tuple(
    Pair(Thing(NOUNS[first], owner), Thing(NOUNS[second], owner))
    for first, second, owner in (
        ("boy", "girl", "the"),
        ("man", "woman", "the"),
        ("king", "queen", "the"),
        ("cat", "dog", "the"),
        ("brother", "sister", "my"),
        ("mother", "father", "my"),
    )
)
ANIMALS = "cat dog bird horse cow elephant lion mouse fox rabbit monkey animal"
YOURS: tuple[Subject, ...] = tuple(Thing(NOUNS[name], "your") for name in ("brother", "sister"))
# Which adjectives a noun takes, by the adjectives' English names.
SUITS = {
    "cat": "small big black white brown cute lazy beautiful",
    "dog": "small big black white brown cute lazy fast",
    "bird": "small black white blue beautiful",
    "book": "small big new old red black green blue good interesting",
    "letter": "new old",
    "key": "small big new old",
    "newspaper": "new old",
    "flower": "small red white blue yellow beautiful",
    "apple": "small red green",
    "boat": "small big new old white green",
    "door": "small big new old white red green",
    "window": "small big new old white green",
    "table": "small big new old white black red",
    "chair": "small big new old white black red",
    "bed": "small big new old",
    "mat": "small new old red green",
    "house": "small big new old white red blue beautiful clean dirty",
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
    "city": "small big old beautiful",
    "horse": "small big black white brown fast beautiful strong",
    "cow": "big brown white",
    "elephant": "big strong",
    "lion": "big strong beautiful",
    "mouse": "small cute fast",
    "fox": "small brown fast cute",
    "rabbit": "small white brown cute",
    "monkey": "small brown cute",
    "baby": "small cute beautiful",
    "friend": "good old new",
    "car": "small big new old red blue black white fast slow expensive good dirty",
    "bike": "small new old red yellow good",
    "train": "long fast slow",
    "bus": "slow big red",
    "phone": "new old expensive good",
    "computer": "new old fast slow expensive",
    "film": "long new old good bad interesting",
    "movie": "long new old good bad interesting",
    "song": "long new old beautiful good",
    "question": "easy difficult good important interesting",
    "answer": "long easy good bad",
    "word": "long difficult easy new",
    "sentence": "long easy difficult",
    "problem": "big small difficult easy important",
    "idea": "good bad new interesting",
    "model": "big small new good",
    "sky": "blue black white beautiful",
    "sun": "yellow red big hot",
    "moon": "big white yellow beautiful",
    "snow": "white cold beautiful",
    "sea": "blue green beautiful cold",
    "mountain": "big beautiful",
    "star": "small beautiful",
    "ball": "small red yellow blue",
    "shirt": "white blue red clean dirty expensive",
    "hat": "small black yellow",
    "sofa": "old big green",
    "bag": "small big black",
    "gift": "small beautiful expensive",
    "room": "small big clean dirty",
    "hotel": "small big good expensive clean",
    "restaurant": "small good bad expensive new",
    "street": "long small",
    "museum": "big old interesting",
    "pizza": "hot cold good",
    "soup": "hot cold good",
    "cheese": "good old",
    "cake": "good small",
    "world": "big small beautiful",
    "country": "big beautiful rich",
    "village": "small old",
    "market": "small big new old",
}
GOVERNED = {
    "on": "table chair bed mat sofa",
    "in": "house kitchen garden park school city village hotel street room car forest",
    "under": "table chair bed tree",
    "near": "door window house tree river school market station sea",
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


def acts(
    subject: Subject, verb: str, thing: Thing | None, where: Where | None, when: Adverbial | None, form: str
) -> Iterator[Act]:
    """The statement, its negation and the question; nobody plays with themselves."""
    if isinstance(where, Place) and where.preposition == "with" and where.thing == subject:
        return
    if form == "progressive" and VERBS[verb].english[2] == "-":
        return
    for mood in moods(subject, "question"):
        if (form, mood) != (
            "progressive",
            "not",
        ):  # in French disputed: pas en train de manger du (de) pain
            yield Act(subject, VERBS[verb], thing, where, when, form, mood)


def qualities(subject: Thing, adjective: str) -> Iterator[Frame]:
    graded = adjective in [
        "small",
        "big",
        "old",
        "hot",
        "cold",
        "beautiful",
        "good",
        "fast",
        "slow",
        "long",
        "cute",
        "easy",
        "difficult",
    ]
    for mood, very in product(("statement", "not", "question"), (False, True) if graded else (False,)):
        yield Be(subject, Quality(ADJECTIVES[adjective], very), mood)
