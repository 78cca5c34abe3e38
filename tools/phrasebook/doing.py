"""What is eaten, read and bought, and where one sleeps, works and goes."""

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
from tools.phrasebook.nouns import MONEY_BANK, NOUNS
from tools.phrasebook.suits import all_described, described, places

_SOME_APPLES = [
    Thing(NOUNS["apple"], "some", adjective, True)
    for adjective in (None, ADJECTIVES["red"], ADJECTIVES["green"])
]
_SOME_FLOWERS = [
    Thing(NOUNS["flower"], "some", adjective, True)
    for adjective in (None, ADJECTIVES["red"], ADJECTIVES["white"])
]
_DRINKS = all_described("tea coffee milk water", "some")
_FOOD = [*all_described("bread rice fish meat cheese chicken chocolate soup", "some"), *_SOME_APPLES]
_FOOD += [Thing(NOUNS[name], "a") for name in ("apple", "orange", "banana", "egg", "pizza", "cake")]
_DRINKS += [Thing(NOUNS[name], "some") for name in ("wine", "juice")]
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
        *(
            Thing(NOUNS[name], "a")
            for name in ("car", "bike", "phone", "computer", "shirt", "hat", "gift", "book")
        ),
        Thing(NOUNS["shoes"], "some", None, True),
    ],
    "see": [
        *all_described("house boat tree river garden city village mountain"),
        *(Thing(NOUNS[name], owner) for name in ("sea", "moon", "sun") for owner in ("the",)),
        *all_described("horse bird star lion", "a"),
    ],
    "look_for": all_described("key book letter boat chair"),
    "bring": [
        *_DRINKS,
        Thing(NOUNS["bread"], "some"),
        *_SOME_FLOWERS,
        *_SOME_APPLES,
        *all_described("book key chair"),
    ],
    "open": all_described("door window letter"),
    "cook": [Thing(NOUNS[name], "some") for name in ("rice", "fish", "meat", "soup", "chicken")],
    "watch": [
        Thing(NOUNS[name], "a", adjective)
        for name in ("film", "movie")
        for adjective in (None, ADJECTIVES["good"])
    ],
    "listen_to": [Thing(NOUNS["music"], "some"), *(Thing(NOUNS["song"], owner) for owner in ("a", "the"))],
    "sing": [Thing(NOUNS["song"], "a", adjective) for adjective in (None, ADJECTIVES["beautiful"])],
    "understand": [Thing(NOUNS[name]) for name in ("question", "answer", "word", "sentence", "problem")],
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
    *places("near", "river sea house"),
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
    "jump": [
        None,
        *places("on", "bed sofa"),
        *(Place("over", Thing(NOUNS[name])) for name in ("dog", "cat", "chair")),
    ],
    "speak": list(LANGUAGES.values()),
    "learn": _LEARNT,
    "understand": _LEARNT,
}
