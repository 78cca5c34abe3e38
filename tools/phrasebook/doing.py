"""What is eaten, read and bought, and where one sleeps, works and goes."""

from itertools import product

from tools.phrasebook.forms import Adverbial
from tools.phrasebook.frames import Place, Thing, Where
from tools.phrasebook.lexicon import (
    ADJECTIVES,
    AT_HOME,
    AT_SCHOOL,
    CITIES,
    HERE,
    LANGUAGES,
    TO_SCHOOL,
    city,
)
from tools.phrasebook.nouns import COUNTED, MONEY_BANK, NOUNS, SMALL
from tools.phrasebook.suits import all_described, described, places

_SOME_APPLES = [
    Thing(NOUNS["apple"], "some", adjective, True)
    for adjective in (None, ADJECTIVES["red"], ADJECTIVES["green"])
]
_SOME_FLOWERS = [
    Thing(NOUNS["flower"], "some", adjective, True)
    for adjective in (None, ADJECTIVES["red"], ADJECTIVES["white"])
]
_WASHED = ("shirt", "dress", "coat", "hat", "cup", "plate", "glass", "spoon", "hand", "car", "apple")
_FRAGILE = ("cup", "plate", "glass", "bottle", "window", "chair", "lamp", "clock", "toy", "guitar", "phone")
_CLEANED = ("house", "kitchen", "room", "table", "window", "car", "knife", "bike")
_DRINKS = all_described("tea coffee milk water", "some")
_FOOD = [*all_described("bread rice fish meat cheese chicken chocolate soup", "some"), *_SOME_APPLES]
_FOOD += [Thing(NOUNS[name], "some") for name in ("salad", "butter", "honey", "sugar")]
_FOOD += [Thing(NOUNS[name], owner) for name, owner in product(COUNTED["food"], ("a", "the"))]
_FOOD += [
    Thing(NOUNS[name], owner, None, True)
    for name, owner in product(COUNTED["food"], ("some", "the", "two", "three"))
]
_DRINKS += [Thing(NOUNS[name], "some") for name in ("wine", "juice", "beer")]
_BOUGHT = tuple(name for name in COUNTED["things"] if name not in ("hand", "eye", "door", "window"))
_SEEN = [name for kind in ("people", "animals", "places") for name in COUNTED[kind]] + ["star", "cloud"]
OBJECTS: dict[str, list[Thing]] = {
    "eat": _FOOD,
    "drink": _DRINKS,
    "read": [*all_described("book letter newspaper"), *all_described("book", "a")],
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
        *(Thing(NOUNS[name], "a") for name in _BOUGHT),
        *(Thing(NOUNS[name], "some", None, True) for name in _BOUGHT),
        Thing(NOUNS["shoes"], "some", None, True),
    ],
    "see": [
        *all_described("house boat tree river garden city village mountain"),
        *(Thing(NOUNS[name], owner) for name in ("sea", "moon", "sun") for owner in ("the",)),
        *all_described("horse bird star lion", "a"),
        *(Thing(NOUNS[name], owner) for name, owner in product(_SEEN, ("the", "a", "this"))),
        *(
            Thing(NOUNS[name], owner, None, True)
            for name, owner in product(_SEEN, ("the", "this", "two", "four"))
        ),
    ],
    "look_for": [
        *all_described("key book letter boat chair"),
        *(Thing(NOUNS[name], owner) for name, owner in product(_BOUGHT, ("the", "my", "a"))),
        *(Thing(NOUNS[name], "my", None, True) for name in _BOUGHT),
    ],
    "bring": [
        *_DRINKS,
        Thing(NOUNS["bread"], "some"),
        *_SOME_FLOWERS,
        *_SOME_APPLES,
        *all_described("book key chair"),
        *(Thing(NOUNS[name], owner) for name, owner in product(SMALL, ("the", "a"))),
    ],
    "open": [
        *all_described("door window letter box bottle umbrella"),
        *(Thing(NOUNS[name], "the", None, True) for name in ("door", "window", "box", "gift")),
    ],
    "cook": [Thing(NOUNS[name], "some") for name in ("rice", "fish", "meat", "soup", "chicken")],
    "watch": [
        Thing(NOUNS[name], "a", adjective)
        for name in ("film", "movie")
        for adjective in (None, ADJECTIVES["good"])
    ],
    "listen_to": [Thing(NOUNS["music"], "some"), *(Thing(NOUNS["song"], owner) for owner in ("a", "the"))],
    "sing": [Thing(NOUNS["song"], "a", adjective) for adjective in (None, ADJECTIVES["beautiful"])],
    "sell": [
        *(Thing(NOUNS[name], owner) for name, owner in product(_BOUGHT, ("the", "a", "my"))),
        *(Thing(NOUNS[name], "some", None, True) for name in (*_BOUGHT, *COUNTED["food"])),
        *(Thing(NOUNS[name], "the") for name in ("house", "farm", "horse", "cow")),
    ],
    "wash": [
        *(Thing(NOUNS[name], owner) for name, owner in product(_WASHED, ("the", "my"))),
        *(Thing(NOUNS[name], "the", None, True) for name in _WASHED),
    ],
    "close": [
        *all_described("door window box bag umbrella"),
        *(Thing(NOUNS[name], "the", None, True) for name in ("door", "window", "box", "book")),
    ],
    "break": [Thing(NOUNS[name], owner) for name, owner in product(_FRAGILE, ("the", "a", "my"))],
    "clean": [
        *(Thing(NOUNS[name], owner) for name, owner in product(_CLEANED, ("the", "my"))),
        *(Thing(NOUNS[name], "the", None, True) for name in _CLEANED if name != "kitchen"),
    ],
    "count": [
        Thing(NOUNS[name], "the", None, True)
        for kind in ("people", "animals", "things", "food")
        for name in COUNTED[kind]
    ]
    + [Thing(NOUNS[name], "the", None, True) for name in ("star", "word", "number", "day", "cloud")],
    "carry": [
        *all_described("box bag bottle coat umbrella"),
        *(Thing(NOUNS[name], "some", None, True) for name in ("box", "bag", "bottle", "book")),
    ],
    "drive": all_described("car bus train"),
    "finish": [Thing(NOUNS[name]) for name in ("book", "letter", "lesson", "game", "story", "cake", "soup")],
    "hear": [*all_described("music", "some"), *(Thing(NOUNS[name]) for name in ("song", "story", "question"))]
    + [Thing(NOUNS[name]) for name in ("rain", "wind", "answer", "guitar")],
    "choose": [
        Thing(NOUNS[name], owner)
        for name, owner in product(
            ("book", "shirt", "dress", "gift", "word", "film", "game", "hat"), ("a", "the")
        )
    ],
    "send": [
        *(Thing(NOUNS[name], owner) for name, owner in product(("letter", "gift", "photo"), ("a", "the"))),
        Thing(NOUNS["money"], "some"),
        *_SOME_FLOWERS,
        Thing(NOUNS["letter"], "some", None, True),
    ],
    "throw": [*all_described("ball"), Thing(NOUNS["ball"], "a"), Thing(NOUNS["hat"], "my")],
    "build": [
        *all_described("house boat wall bridge", "a"),
        *(Thing(NOUNS[name]) for name in ("house", "school", "church", "temple", "castle", "machine")),
    ],
    "visit": all_described("museum castle temple church island city"),
    "understand": [
        Thing(NOUNS[name])
        for name in ("question", "answer", "word", "sentence", "problem", "lesson", "matrix", "model")
    ],
}
LASTING = [NOUNS[name] for name in ("house", "boat", "table", "chair", "car", "bike", "phone", "computer")]
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
_ABROAD: list[Where] = [city(name, "in") for name in CITIES]
_TOWN = "hotel station airport beach restaurant hospital museum shop forest library office university"
_BALL_GAMES: list[Where] = [
    Adverbial("football", "au football", "al fútbol", "फ़ुटबॉल"),
    Adverbial("tennis", "au tennis", "al tenis", "टेनिस"),
]
_LEARNT: list[Where | None] = [  # learnt and understood with the article in French, spoken without
    Adverbial(name, f"le {said.french}", said.spanish, said.hindi) for name, said in LANGUAGES.items()
]
_OUT: list[Where | None] = [
    None,
    HERE,
    *places("in", "garden park forest street"),
    *places("near", "river sea house lake bridge"),
]
DOING: dict[str, list[Where | None]] = {
    "sleep": [
        None,
        AT_HOME,
        HERE,
        *places("on", "bed mat sofa"),
        *places("in under near", "house garden park tree river room hotel"),
    ],
    "work": [
        None,
        AT_HOME,
        AT_SCHOOL,
        HERE,
        *(
            Place("at", Thing(NOUNS[name]))
            for name in ("market", "hospital", "library", "university", "restaurant")
        ),
        *places("in"),
        *places("near", _OUTSIDE),
        *_ABROAD,
    ],
    "play": [
        None,
        AT_HOME,
        AT_SCHOOL,
        HERE,
        *_COMPANY,
        *_BALL_GAMES,
        *places("in"),
        *places("near behind", _OUTSIDE),
    ],
    "live": [HERE, *_HOUSES, *places("in", "city village"), *places("near", _OUTSIDE), *_ABROAD],
    "go": [
        TO_SCHOOL,
        Place("to", Thing(MONEY_BANK)),
        *(Place("to", thing) for name in ("market", "park", "village") for thing in described(name)),
        *(Place("to", Thing(NOUNS[name])) for name in _TOWN.split()),
        *(city(name, "to") for name in CITIES),
    ],
    "come": [
        HERE,
        TO_SCHOOL,
        *(Place("from", Thing(NOUNS[name])) for name in ("station", "market", "office")),
    ],
    "run": _OUT,
    "walk": _OUT,
    "swim": [None, HERE, *(Place("in", Thing(NOUNS[name])) for name in ("sea", "river"))],
    "dance": [None, HERE, AT_HOME, *_COMPANY],
    "laugh": [None],
    "cry": [None],
    "smile": [None, HERE],
    "think": [None, HERE, AT_HOME],
    "win": [None],
    "lose": [None],
    "fall": [None, HERE, *places("in", "garden street")],
    "arrive": [None, HERE],
    "wait": [
        *(None, HERE, AT_HOME),
        *places("in", "house street park car"),
        *places("in_front_of next_to near", "house church shop station hotel museum"),
    ],
    "travel": [None, *_COMPANY],
    "teach": _LEARNT,
    "study": [None, HERE, AT_HOME, AT_SCHOOL, *_LEARNT],
    "jump": [
        None,
        *places("on", "bed sofa"),
        *(Place("over", Thing(NOUNS[name])) for name in ("dog", "cat", "chair")),
    ],
    "speak": list(LANGUAGES.values()),
    "learn": _LEARNT,
    "understand": _LEARNT,
}
