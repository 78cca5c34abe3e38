"""Which words go together: who acts, what is eaten, what is read, where one sleeps, what a noun can be."""

from collections.abc import Iterator
from itertools import product

from tools.phrasebook.forms import Adverbial
from tools.phrasebook.frames import PRONOUNS, Act, Be, Frame, Pair, Place, Quality, Subject, Thing, Where
from tools.phrasebook.lexicon import ADJECTIVES, TIMES
from tools.phrasebook.nouns import NAMES, NOUNS
from tools.phrasebook.verbs import VERBS

# The pronouns twice, since people say I and you more often than my sister.
PEOPLE: tuple[Subject, ...] = (
    *(*PRONOUNS.values(), PRONOUNS["I"], PRONOUNS["we"], PRONOUNS["I"], *PRONOUNS.values()),
    *(
        Thing(NOUNS[name], "my")
        for name in ("brother", "sister", "mother", "father", "uncle", "aunt", "grandmother", "daughter")
    ),
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
    "flower": "small red white blue yellow pink purple beautiful",
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
    "answer": "long easy good bad short correct wrong",
    "word": "long difficult easy new short strange",
    "sentence": "long short easy difficult correct simple",
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
    "ball": "small round red yellow blue pink",
    "shirt": "white blue red clean dirty expensive",
    "hat": "small black yellow",
    "sofa": "old big green",
    "bag": "small big black heavy empty",
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
    "village": "small old calm",
    "market": "small big new old",
    "tiger": "big strong beautiful dangerous",
    "bear": "big brown strong dangerous",
    "wolf": "grey big dangerous",
    "sheep": "white small",
    "goat": "small white brown",
    "duck": "small yellow white cute",
    "pig": "pink big dirty",
    "snake": "long green dangerous",
    "camel": "big brown strange",
    "teacher": "good kind old famous",
    "doctor": "good kind tired young",
    "student": "good new lazy shy",
    "neighbour": "good kind old strange",
    "boy": "small tall brave shy",
    "girl": "small tall brave kind",
    "man": "tall old rich poor strange",
    "woman": "tall young rich famous kind",
    "son": "small tall brave",
    "daughter": "small intelligent shy",
    "plane": "big white fast new",
    "machine": "big new old simple useful dangerous",
    "photo": "old beautiful funny famous",
    "story": "long short old funny strange interesting",
    "toy": "small red broken",
    "dress": "long short red pink purple beautiful expensive",
    "coat": "long black grey heavy wet",
    "umbrella": "big black wet broken",
    "box": "big small heavy empty full",
    "pen": "black blue red new",
    "pencil": "short long yellow",
    "cup": "small white full empty broken",
    "glass": "big small full empty clean",
    "plate": "round white clean broken",
    "knife": "long small clean dangerous",
    "spoon": "small clean dirty",
    "bottle": "full empty green big",
    "clock": "round old broken",
    "lamp": "small yellow old",
    "guitar": "old new beautiful expensive",
    "ticket": "expensive",
    "map": "big old useful",
    "hand": "small big clean dirty cold",
    "eye": "blue green brown beautiful",
    "orange": "sweet round",
    "banana": "yellow sweet long",
    "mango": "sweet yellow",
    "lemon": "yellow small",
    "tomato": "red round",
    "onion": "white red",
    "egg": "white round small",
    "sandwich": "big good",
    "salad": "green cold good",
    "honey": "sweet good",
    "church": "old big white beautiful",
    "temple": "old famous calm",
    "castle": "old big famous",
    "bridge": "long old new dangerous",
    "building": "big new old grey",
    "wall": "long white old",
    "lake": "big small blue calm",
    "island": "small beautiful calm",
    "farm": "big small old",
    "cinema": "new big",
    "beach": "long white beautiful clean",
    "station": "big new old",
    "hospital": "big new clean",
    "forest": "big green old dangerous",
    "shop": "small new expensive",
    "library": "big old calm",
    "office": "new small empty",
    "language": "easy difficult beautiful useful",
    "translation": "good bad correct wrong",
    "number": "big small correct wrong",
    "matrix": "big small simple",
    "lesson": "long short easy difficult useful",
    "game": "long easy difficult new",
    "party": "good long",
    "dream": "strange beautiful bad",
    "day": "long short hot cold beautiful",
    "cloud": "white grey black big",
    "wind": "cold strong hot",
    "fire": "hot dangerous",
}
GOVERNED = {
    "on": "table chair bed mat sofa wall box",
    "in": "house kitchen garden park school city village hotel street room car forest castle building",
    "under": "table chair bed tree",
    "near": "door window house tree river school market station sea lake bridge church temple",
    "behind": "house door tree school wall",
    "in front of": "house door school church shop hotel",
    "next to": "table bed tree house museum lamp",
}
HABITUAL = tuple(
    TIMES[name]
    for name in (
        "every day",
        "in the morning",
        "at night",
        "on Sundays",
        "on Mondays",
        "on Fridays",
        "on Saturdays",
    )
)
NOW = TIMES["now"]


def described(name: str, determiner: str = "the", plural: bool = False) -> list[Thing]:
    """The noun alone and with each adjective that suits it."""
    adjectives = [None, *(ADJECTIVES[adjective] for adjective in SUITS.get(name, "").split())]
    return [Thing(NOUNS[name], determiner, adjective, plural) for adjective in adjectives]


def all_described(names: str, determiner: str = "the", plural: bool = False) -> list[Thing]:
    return [thing for name in names.split() for thing in described(name, determiner, plural)]


def places(prepositions: str = "on in under near behind in_front_of next_to", names: str = "") -> list[Place]:
    """Every place that the prepositions make, or only those with the names."""
    return [
        Place(preposition, thing)
        for preposition in (each.replace("_", " ") for each in prepositions.split())
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
        "tall",
        "heavy",
        "short",
        "sweet",
        "famous",
        "strange",
        "funny",
        "calm",
        "useful",
        "dangerous",
        "simple",
    ]
    for mood, very in product(("statement", "not", "question"), (False, True) if graded else (False,)):
        yield Be(subject, Quality(ADJECTIVES[adjective], very), mood)
