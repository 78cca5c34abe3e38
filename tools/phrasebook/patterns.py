"""The patterns of the phrasebook: every frame that each makes, and how many of them the corpus takes."""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product

from tools.phrasebook.banks import banks_alone, banks_at, banks_bring, banks_near, banks_of
from tools.phrasebook.doing import DOING, LASTING, OBJECTS, PLACES_OF
from tools.phrasebook.forms import Adverbial
from tools.phrasebook.frames import (
    Act,
    Be,
    Frame,
    Like,
    Place,
    Profession,
    Quality,
    Sat,
    There,
    Thing,
    Where,
)
from tools.phrasebook.gaps import countries, having, hungry, loving, names, this_is, wanting
from tools.phrasebook.lexicon import ADJECTIVES, AT_HOME, AT_SCHOOL, HERE, PROFESSIONS, TIMES
from tools.phrasebook.looks import looking, several_looking
from tools.phrasebook.nouns import COUNTED, NOUNS, SMALL
from tools.phrasebook.suits import (
    HABITUAL,
    NOW,
    PEOPLE,
    YOURS,
    acts,
    all_described,
    asked,
    described,
    moods,
    places,
)
from tools.phrasebook.talk import (
    FEELINGS,
    animals,
    asking_who,
    asking_why,
    at_times,
    by_name,
    characters,
    clauses,
    pairs,
    several_animals,
)
from tools.phrasebook.verbs import PAST, VERBS
from tools.phrasebook.weather import weather


@dataclass(frozen=True)
class Pattern:
    """A kind of sentence: its name, what it shows, and every frame that it makes."""

    name: str
    frames: tuple[Frame, ...]
    take: int  # how many of the frames go into the corpus


def _objects(form: str, times: tuple[Adverbial | None, ...]) -> Iterator[Frame]:
    """Somebody does something to something, with a time or a place but not both."""
    for verb, things in OBJECTS.items():
        if form == "past" and verb not in PAST:
            continue
        for subject, thing in product(PEOPLE, things):
            lasting = (
                verb == "buy" and thing.noun in LASTING
            )  # nobody buys a house every day, or at the market
            for when in (None, NOW) if lasting and form != "present" else (None,) if lasting else times:
                yield from acts(subject, verb, thing, None, when, form)
            for where in () if lasting else PLACES_OF.get(verb, ()):
                yield from acts(subject, verb, thing, where, None, form)


def _doing(form: str, times: tuple[Adverbial | None, ...]) -> Iterator[Frame]:
    """Somebody does something somewhere."""
    for verb, wheres in DOING.items():
        if form == "past" and (verb not in PAST or verb == "learn"):
            continue
        for subject, where, when in product(PEOPLE, wheres, times):
            yield from acts(subject, verb, None, where, None if verb == "live" else when, form)


def _liking() -> Iterator[Frame]:
    names = (
        "bread rice fish tea coffee milk water pizza cheese meat chocolate wine music football tennis chicken"
    )
    things = all_described(names, "all")
    things += all_described("cat dog bird book flower apple horse car", "all", plural=True)
    things += [
        Thing(NOUNS[name], "all") for name in ("rain", "snow", "sugar", "honey", "salad", "beer", "butter")
    ]
    things += [
        Thing(NOUNS[name], "all", plural=True)
        for kind in ("animals", "food", "places", "thoughts", "things")
        for name in COUNTED[kind]
        if name not in ("hand", "country")
    ]
    for subject, thing in product((*PEOPLE, *YOURS), things):
        for mood in moods(subject, "question"):
            yield Like(subject, thing, mood)


def _located() -> Iterator[Frame]:
    owned = [
        thing for owner in ("the", "my", "your") for thing in all_described("book key letter cat dog", owner)
    ]
    owned += [
        thing for owner in ("the", "my") for thing in all_described("book key cat dog", owner, plural=True)
    ]
    owned += all_described("newspaper bird bread milk flower apple")
    for name, owner in product(
        (*SMALL, *COUNTED["animals"], *COUNTED["food"]), ("the", "my", "this", "their")
    ):
        owned += [Thing(NOUNS[name], owner), Thing(NOUNS[name], owner, plural=True)]
    around = places(names="table chair bed mat house kitchen garden tree door window wall box lamp")
    around += [Place("in", thing) for name in ("bag", "box") for thing in described(name)]
    for thing, place, mood in product(owned, around, ("statement", "not", "question")):
        yield Be(thing, place, mood)


def _existing() -> Iterator[Frame]:
    there = all_described("cat dog bird book letter key flower apple newspaper", "a")
    for name in (*SMALL, *COUNTED["animals"], *COUNTED["food"]):
        there += [
            Thing(NOUNS[name], number, plural=True) for number in ("two", "three", "four", "five", "ten")
        ]
        there.append(Thing(NOUNS[name], "a"))
    inside = [Place("in", Thing(NOUNS[name], owner)) for name in ("bag", "box") for owner in ("the", "my")]
    for thing, place in product(there, [*places(), *inside]):
        if place.thing.noun not in (NOUNS["city"], NOUNS["village"]):
            yield There(thing, place)


def _being_somewhere() -> Iterator[Frame]:
    wheres: list[Where] = [AT_HOME, AT_SCHOOL, HERE, *places("in near behind in_front_of next_to")]
    for subject, where in product((*PEOPLE, *YOURS), wheres):
        for mood in moods(subject, "question"):
            yield Be(subject, where, mood)


def _feeling() -> Iterator[Frame]:
    for subject, name, very in product((*PEOPLE, *YOURS), FEELINGS, (False, True)):
        for mood in moods(subject, "question", "why"):
            if not (very and mood == "why"):
                yield Be(subject, Quality(ADJECTIVES[name], very), mood)


def _having_felt() -> Iterator[Frame]:
    wheres: list[Where] = [AT_HOME, AT_SCHOOL, HERE, *places("in", "kitchen garden park")]
    for subject in (*PEOPLE, *YOURS):
        for mood in moods(subject, "question"):
            yield from (Be(subject, Quality(ADJECTIVES[name]), mood, past=True) for name in FEELINGS)
            yield from (Be(subject, where, mood, past=True) for where in wheres)


def _professions() -> Iterator[Frame]:
    for subject, name in product((*PEOPLE, *YOURS), PROFESSIONS):
        young = isinstance(subject, Thing) and subject.noun in (NOUNS["boy"], NOUNS["girl"], NOUNS["child"])
        if name == "student" or not young:
            for mood in moods(subject, "question"):
                yield Be(subject, Profession(PROFESSIONS[name]), mood)


def _sitting() -> Iterator[Frame]:
    animals = [thing for name in ("cat", "dog", "bird") for thing in described(name)]
    animals += [
        thing for owner in ("my", "your") for name in ("cat", "dog") for thing in described(name, owner)
    ]
    around = places("on near behind", "table chair bed mat sofa door window house tree river")
    yield from (
        Sat(subject, place, past)
        for subject, place, past in product(PEOPLE, [*around, *places("under", "tree")], (True, False))
    )
    yield from (
        Sat(subject, place, past)
        for subject, place, past in product(animals, [*around, *places("under")], (True, False))
    )


def _asking() -> Iterator[Frame]:
    for subject in (*PEOPLE, *YOURS):
        if not asked(subject):
            continue
        for verb, when in product(("sleep", "work", "play", "live", "go"), (None, *HABITUAL)):
            if verb != "live" or when is None:
                yield Act(subject, VERBS[verb], when=when, mood="where")
        for verb, when in product(
            ("eat", "drink", "read", "write", "buy", "see", "look_for", "bring"), (None, *HABITUAL)
        ):
            yield Act(subject, VERBS[verb], when=when, mood="what")
        if isinstance(subject, Thing):
            yield from (Be(subject, None, "where"), Be(subject, None, "how"))
    for owner in ("the", "my", "your"):
        for thing in all_described("book key letter cat dog boat house", owner):
            yield Be(thing, None, "where")
    for thing in all_described("river school market park newspaper hotel restaurant"):
        yield Be(thing, None, "where")
    places = (
        "station airport beach hospital museum shop library office university phone car train bus sea king "
        "church temple castle bridge lake island farm cinema"
    )
    for name, owner in product(SMALL, ("the", "my", "your", "their", "his")):
        yield Be(Thing(NOUNS[name], owner), None, "where")
        yield Be(Thing(NOUNS[name], owner, plural=True), None, "where")
    for name in places.split():
        yield Be(Thing(NOUNS[name]), None, "where")


def patterns() -> list[Pattern]:
    """Every pattern with all its frames, always in the same order."""
    modal_times = (None, NOW, TIMES["in the morning"], TIMES["at night"])
    return [
        Pattern("present, object", tuple(_objects("present", (None, *HABITUAL))), 1050),
        Pattern("progressive, object", tuple(_objects("progressive", (None, NOW))), 360),
        Pattern("past, object", tuple(_objects("past", (None,))), 630),
        Pattern("future, object", tuple(_objects("future", (None, TIMES["tomorrow"]))), 440),
        Pattern("want, object", tuple(_objects("want", modal_times)), 330),
        Pattern("can, object", tuple(_objects("can", modal_times)), 320),
        Pattern("present, place", tuple(_doing("present", (None, *HABITUAL))), 640),
        Pattern("progressive, place", tuple(_doing("progressive", (None, NOW))), 380),
        Pattern("past, place", tuple(_doing("past", (None,))), 360),
        Pattern("future, place", tuple(_doing("future", (None,))), 330),
        Pattern("want, place", tuple(_doing("want", modal_times)), 270),
        Pattern("can, place", tuple(_doing("can", modal_times)), 280),
        Pattern("today, tomorrow, yesterday", tuple(at_times()), 390),
        Pattern("by name", tuple(by_name()), 390),
        Pattern("animals", tuple(animals()), 500),
        Pattern("several animals", tuple(several_animals()), 200),
        Pattern("liking", tuple(_liking()), 500),
        Pattern("loving", tuple(loving()), 80),
        Pattern("having", tuple(having()), 540),
        Pattern("wanting and needing", tuple(wanting()), 480),
        Pattern("hungry and cold", tuple(hungry()), 110),
        Pattern("weather", tuple(weather()), 150),
        Pattern("names", tuple(names()), 230),
        Pattern("countries", tuple(countries()), 180),
        Pattern("this is", tuple(this_is()), 500),
        Pattern("a thing's place", tuple(_located()), 500),
        Pattern("there is", tuple(_existing()), 450),
        Pattern("a person's place", tuple(_being_somewhere()), 240),
        Pattern("a thing's quality", tuple(looking()), 930),
        Pattern("the quality of several", tuple(several_looking()), 400),
        Pattern("feeling", tuple(_feeling()), 260),
        Pattern("being before", tuple(_having_felt()), 130),
        Pattern("character", tuple(characters()), 250),
        Pattern("profession", tuple(_professions()), 240),
        Pattern("sitting", tuple(_sitting()), 260),
        Pattern("where, what, how", tuple(_asking()), 450),
        Pattern("who", tuple(asking_who()), 160),
        Pattern("why and when", tuple(asking_why()), 300),
        Pattern("two subjects", tuple(pairs()), 150),
        Pattern("two sentences", tuple(clauses()), 390),
        Pattern("bank: alone", tuple(banks_alone()), 100),
        Pattern("bank: near and at", tuple(banks_near()), 60),
        Pattern("bank: bringing from", tuple(banks_bring()), 150),
        Pattern("bank: of the river, of the city", tuple(banks_of()), 200),
        Pattern("bank: on and at", tuple(banks_at()), 180),
    ]
