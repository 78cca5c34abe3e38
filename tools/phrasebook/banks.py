"""The two banks: sentences whose other words tell which one is meant."""

from collections.abc import Iterator
from itertools import product

from tools.phrasebook.frames import Be, Frame, Place, Sat, There, Thing
from tools.phrasebook.nouns import MONEY_BANK, NOUNS, RIVER_BANK
from tools.phrasebook.suits import HABITUAL, NOW, PEOPLE, acts, described, qualities


def bank_of(name: str) -> Thing:
    return Thing(RIVER_BANK if name == "river" else MONEY_BANK, of=NOUNS[name])


_NEIGHBOURS = ("school", "station", "hotel", "museum", "church", "shop", "house", "market")


def banks_near() -> Iterator[Frame]:
    """The other words tell which bank: boats and water are at the river's, money is at the other."""
    near = Place("near", Thing(RIVER_BANK))
    at = Place("at", Thing(MONEY_BANK))
    for mood, owner in product(("statement", "not", "question"), ("the", "my", "your")):
        yield from (Be(thing, near, mood) for thing in described("boat", owner))
        yield Be(Thing(NOUNS["money"], owner), at, mood)
    yield from (There(thing, near) for thing in described("boat", "a"))
    yield There(Thing(NOUNS["money"], "some"), at)
    yield There(Thing(NOUNS["money"], "some"), Place("at", Thing(MONEY_BANK, of=NOUNS["city"])))


def banks_alone() -> Iterator[Frame]:
    """With no other word to tell, a bank is the one that keeps money: the bank is closed."""
    near = [Place(how, Thing(NOUNS[name])) for how in ("near", "next to") for name in _NEIGHBOURS]
    for owner in ("the", "my", "this"):
        bank = Thing(MONEY_BANK, owner)
        for adjective in ("open", "closed", "big", "small", "old", "good", "famous"):
            yield from qualities(bank, adjective)
        yield from (Be(bank, place, mood) for place in near for mood in ("statement", "not", "question"))
    yield from (There(Thing(MONEY_BANK, "a"), place) for place in near)
    yield from (Be(Thing(MONEY_BANK, owner), None, "where") for owner in ("the", "my", "your"))
    for subject, (verb, owner), form in product(
        PEOPLE,
        (("see", "the"), ("see", "a"), ("look_for", "the"), ("look_for", "a")),
        ("present", "past", "want"),
    ):
        yield from acts(subject, verb, Thing(MONEY_BANK, owner), None, None, form)


def banks_bring() -> Iterator[Frame]:
    carried = [(Thing(NOUNS["money"], owner), MONEY_BANK) for owner in ("some", "the")]
    carried += [(Thing(NOUNS[name], "some"), RIVER_BANK) for name in ("water", "fish")]
    carried += [(Thing(NOUNS[name]), RIVER_BANK) for name in ("water", "fish")]
    for subject, (thing, bank), when in product(PEOPLE, carried, (None, *HABITUAL)):
        for form in ("present", "want", "can"):
            yield from acts(subject, "bring", thing, Place("from", Thing(bank)), when, form)


def banks_of() -> Iterator[Frame]:
    """The bank of the river, the bank of the city."""
    suits = {
        "river": "small big green",
        "city": "small big old open closed",
        "village": "small big old open closed",
    }
    for name, adjectives in suits.items():
        for adjective in adjectives.split():
            yield from qualities(bank_of(name), adjective)
        yield Be(bank_of(name), None, "where")
    for subject, name in product(PEOPLE, ("river", "city", "village")):
        for verb, form in product(("see", "look_for"), ("present", "want", "can")):
            yield from acts(subject, verb, bank_of(name), None, None, form)
        for when, form in product((None, *HABITUAL), ("present", "want", "can")):
            yield from acts(subject, "go", None, Place("to", bank_of(name)), when, form)


def banks_at() -> Iterator[Frame]:
    """What people do on the bank of the river and at the bank."""
    on = Place("on", bank_of("river"))
    for subject in PEOPLE:
        yield Sat(subject, on)
        for when, form in [
            *product((None, *HABITUAL), ("present", "want", "can")),
            (None, "progressive"),
            (NOW, "progressive"),
        ]:
            for verb in ("play", "sleep"):
                yield from acts(subject, verb, None, on, when, form)
            for bank in (Thing(MONEY_BANK), bank_of("city"), bank_of("village")):
                yield from acts(subject, "work", None, Place("at", bank), when, form)
    animals = [thing for name in ("cat", "dog", "bird") for thing in described(name)]
    yield from (Sat(animal, on) for animal in animals)
