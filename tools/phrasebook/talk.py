"""What people say beside it: what animals do, who, why and when, how somebody is, two sentences in one."""

from collections.abc import Iterator
from itertools import product

from tools.phrasebook.doing import DOING, OBJECTS
from tools.phrasebook.frames import (
    PRONOUNS,
    WHO,
    Act,
    Be,
    Filled,
    Frame,
    Profession,
    Quality,
    Subject,
    Thing,
    Two,
    Where,
)
from tools.phrasebook.lexicon import ADJECTIVES, AT_HOME, HERE, PROFESSIONS, TIMES
from tools.phrasebook.nouns import COUNTED, CREATURES, NAMES, NOUNS
from tools.phrasebook.suits import (
    PAIRS,
    PEOPLE,
    YOURS,
    acts,
    asked,
    moods,
    places,
    qualities,
)
from tools.phrasebook.verbs import VERBS

FEELINGS = ("happy", "sad", "ill", "sick", "tired", "angry", "busy", "nervous", "worried", "alone", "lost")
_CHARACTERS = (
    "kind",
    "intelligent",
    "smart",
    "strong",
    "rich",
    "poor",
    "lazy",
    "young",
    "tall",
    "old",
    "beautiful",
    "brave",
    "shy",
    "honest",
    "polite",
    "famous",
    "funny",
    "calm",
    "strange",
)
_OUTSIDE = [
    None,
    HERE,
    AT_HOME,
    *places("in", "garden park forest street house"),
    *places("near", "river tree"),
]
_SHORT = (
    "sleep",
    "run",
    "play",
    "walk",
    "jump",
    "swim",
    "laugh",
    "cry",
    "dance",
    "work",
    "smile",
    "wait",
    "travel",
)


def animals() -> Iterator[Frame]:
    """A dog runs, the cat is sleeping in the garden, the bird eats bread, the horse is fast."""
    creatures = [Thing(NOUNS[name], owner) for name, owner in product(CREATURES, ("the", "a", "this"))]
    creatures += [Thing(NOUNS[name], "my") for name in ("cat", "dog", "horse")]
    creatures += [
        Thing(NOUNS[name], owner, plural=True)
        for name, owner in product(COUNTED["animals"], ("the", "this", "two"))
    ]
    creatures.append(Thing(NOUNS["baby"]))
    food = [("eat", Thing(NOUNS[name], "some")) for name in ("bread", "fish", "meat", "cheese")]
    food += [("drink", Thing(NOUNS[name], "some")) for name in ("water", "milk")]
    for creature, form in product(creatures, ("present", "progressive", "past", "can")):
        for verb, where in product(("sleep", "run", "play", "walk", "jump"), _OUTSIDE):
            if form != "past" or verb != "jump":
                yield from acts(creature, verb, None, where, None, form)
        for verb, thing in food:
            yield from acts(creature, verb, thing, None, None, form)
    for creature, form in product(creatures, ("present", "progressive")):
        if creature.noun == NOUNS["bird"] and not creature.plural:
            yield from acts(creature, "fly", None, None, None, form)
        for beaten in ("mouse", "bird"):
            if creature.noun != NOUNS[beaten]:
                yield from acts(creature, "see", Thing(NOUNS[beaten], "a"), None, None, "present")


def several_animals() -> Iterator[Frame]:
    """The cats sleep, these dogs are running, two birds play in the garden."""
    for name, owner in product(
        ("cat", "dog", "bird", "horse", "girl", "boy"), ("the", "this", "two", "three")
    ):
        for verb, where, form in product(_SHORT[:5], (None, *_OUTSIDE[1:4]), ("present", "progressive")):
            yield from acts(Thing(NOUNS[name], owner, plural=True), verb, None, where, None, form)


def by_name() -> Iterator[Frame]:
    """Peter eats an apple: whatever the names pattern says, names also act."""
    said = [Thing(noun, "") for noun in NAMES.values()] + [
        Thing(NOUNS[name], "my") for name in ("friend", "son")
    ]
    for subject, form in product(said, ("present", "progressive", "past", "future")):
        for verb in ("eat", "read", "drink", "write"):
            for thing in OBJECTS[verb][:8]:
                yield from acts(subject, verb, thing, None, None, form)
        for verb, where in product(("sleep", "work", "play", "go"), (HERE, AT_HOME, *DOING["go"][-3:])):
            if (verb == "go") == (where in DOING["go"]):
                yield from acts(subject, verb, None, where, None, form)
        for name in FEELINGS:
            yield Be(subject, Quality(ADJECTIVES[name]), past=form == "past")


def asking_who() -> Iterator[Frame]:
    """Who reads the book? Who is tired?"""

    for form in ("present", "past", "future", "progressive"):
        for verb, things in OBJECTS.items():
            if (form != "past" or VERBS[verb].english[3] != "-") and (
                form != "progressive" or VERBS[verb].english[2] != "-"
            ):
                yield from (Act(WHO, VERBS[verb], thing, form=form, mood="who") for thing in things)
    for verb, where in product(_SHORT, (None, HERE)):
        yield Act(WHO, VERBS[verb], where=where, mood="who")
        yield Act(WHO, VERBS[verb], where=where, form="progressive", mood="who")
    yield from (Be(WHO, Quality(ADJECTIVES[name]), "who") for name in FEELINGS)
    yield from (Be(WHO, Profession(PROFESSIONS[name]), "who") for name in PROFESSIONS)
    rooms: list[Where] = [HERE, AT_HOME, *places("in", "house kitchen garden room")]
    yield from (Be(WHO, room, "who") for room in rooms)


def asking_why() -> Iterator[Frame]:
    """Why are you sad? Why is the sky blue? Why does she cry? When do you sleep?"""
    for subject in (*PEOPLE, *YOURS):
        if asked(subject):
            for verb in (*_SHORT, "go", "come", "learn"):
                where = DOING[verb][-1] if verb in ("go", "learn") else None
                yield Act(subject, VERBS[verb], where=where, mood="why")
                yield Act(subject, VERBS[verb], where=where, mood="when")
                if VERBS[verb].english[2] not in ("-", "going", "coming"):
                    yield Act(subject, VERBS[verb], form="progressive", mood="why")
                    yield Act(subject, VERBS[verb], form="progressive", mood="where")
            for verb in ("eat", "drink", "read", "write", "buy", "cook"):
                yield Act(subject, VERBS[verb], form="progressive", mood="what")
                yield Act(subject, VERBS[verb], form="future", mood="what")
            for verb, form in product(
                ("go", "sleep", "work", "live", "play"), ("future", "progressive", "past")
            ):
                if form != "progressive" or verb != "live":
                    yield Act(subject, VERBS[verb], form=form, mood="where")
    for name, adjectives in {
        "sky": "blue black",
        "snow": "white",
        "sea": "blue green",
        "sun": "hot yellow",
    }.items():
        for adjective in adjectives.split():
            yield Be(Thing(NOUNS[name]), Quality(ADJECTIVES[adjective]), "why")
    for name, adjective in (
        ("question", "difficult"),
        ("hotel", "expensive"),
        ("train", "slow"),
        ("tea", "cold"),
    ):
        yield Be(Thing(NOUNS[name]), Quality(ADJECTIVES[adjective]), "why")


def characters() -> Iterator[Frame]:
    """She is kind, my father is tall."""
    subjects: list[Subject] = [*PEOPLE, *YOURS, *PAIRS[:3]]
    for subject, name in product(subjects, _CHARACTERS):
        if not (name in ("young", "lazy") and getattr(subject, "plural", False)):
            for mood in moods(subject, "question"):
                yield Be(subject, Quality(ADJECTIVES[name]), mood)
    yield from qualities(Thing(NOUNS["baby"]), "cute")


def pairs() -> Iterator[Frame]:
    """The cat and the dog sleep."""
    for pair, form in product(PAIRS, ("present", "progressive", "past", "future")):
        for verb, where in product(
            ("sleep", "play", "walk", "run"), (None, HERE, *places("in", "garden park house"))
        ):
            yield from acts(pair, verb, None, where, None, form)
        for verb, name in (("eat", "bread"), ("drink", "milk"), ("drink", "water"), ("eat", "fish")):
            yield from acts(pair, verb, Thing(NOUNS[name], "some"), None, None, form)
    for pair, name in product(PAIRS, FEELINGS[:5]):
        yield Be(pair, Quality(ADJECTIVES[name]))
        yield Be(pair, HERE)


def _short(subject: Subject) -> list[Act]:
    """Short things that somebody does."""
    some = [("read", Thing(NOUNS["book"], "a")), ("drink", Thing(NOUNS["tea"], "some"))]
    some += [("eat", Thing(NOUNS["apple"], "a")), ("eat", Thing(NOUNS["bread"], "some"))]
    some += [("write", Thing(NOUNS["letter"])), ("sing", Thing(NOUNS["song"], "a"))]
    said = [
        Act(subject, VERBS[verb], thing, form=form)
        for verb, thing in some
        for form in ("present", "progressive")
    ]
    alone = ("sleep", "work", "play", "cry", "laugh", "run")
    return said + [
        Act(subject, VERBS[verb], form=form) for verb in alone for form in ("present", "progressive")
    ]


def clauses() -> Iterator[Frame]:
    """She is reading and he is sleeping; I am tired but I am happy; he sleeps because he is tired."""
    who: list[Subject] = [PRONOUNS[name] for name in ("I", "he", "she", "they", "we", "you")]
    who += [Thing(NOUNS["boy"]), Thing(NOUNS["girl"])]
    who += [Thing(NOUNS["brother"], "my"), Thing(NOUNS["sister"], "my")]
    who += [Thing(NOUNS["cat"]), Thing(NOUNS["dog"])]
    for one, other in product(who, who):
        if one == other:
            continue
        for number, (first, second) in enumerate(product(_short(one), _short(other))):
            if first.form == second.form and first.verb != second.verb and number % 7 == 0:
                yield Two(first, second, "and")
        for feeling, another in product(FEELINGS[:5], FEELINGS[:5]):
            if feeling != another:
                yield Two(_feels(one, feeling), _feels(other, another), "and")
    pronoun = [(one, one) for one in who[:5]] + [(who[6], PRONOUNS["he"]), (who[7], PRONOUNS["she"])]
    for (one, again), feeling in product(pronoun, FEELINGS):
        for act in _short(one):
            yield Two(act, _feels(again, feeling), "because")
            yield Two(_negated(act), _feels(again, feeling), "because")
        for another in FEELINGS:
            if another != feeling:
                yield Two(_feels(one, feeling), _feels(again, another), "but")
                yield Two(_feels(one, feeling, "not"), _feels(again, another), "because")
    raining = Filled(("it is raining", "il pleut", "está lloviendo", "बारिश हो रही है"), ())
    for one, feeling in product(who, FEELINGS[:3]):
        yield Two(_feels(one, feeling), raining, "because")
        yield Two(raining, _feels(one, feeling), "and")


def _feels(subject: Subject, name: str, mood: str = "statement") -> Be:
    return Be(subject, Quality(ADJECTIVES[name]), mood)


def _negated(act: Act) -> Act:
    """Not in the progressive, of which French makes another sentence."""
    form = "present" if act.form == "progressive" else act.form
    return Act(act.subject, act.verb, act.thing, act.where, act.when, form, "not")


def at_times() -> Iterator[Frame]:
    """I will go to Paris tomorrow, she slept here yesterday, he works today."""
    for form, time in (
        ("future", TIMES["tomorrow"]),
        ("past", TIMES["yesterday"]),
        ("present", TIMES["today"]),
        ("future", TIMES["next week"]),
        ("future", TIMES["this evening"]),
        ("future", TIMES["next year"]),
        ("past", TIMES["last week"]),
        ("past", TIMES["last year"]),
        ("past", TIMES["this morning"]),
    ):
        for subject in PEOPLE:
            for verb in (
                "sleep",
                "work",
                "play",
                "go",
                "come",
                "dance",
                "sing",
                "swim",
                "read",
                "eat",
                "cry",
                "arrive",
                "travel",
                "wait",
                "win",
            ):
                if form == "past" and VERBS[verb].english[3] == "-":
                    continue
                for where in DOING.get(verb, [None])[:30]:
                    yield from acts(subject, verb, None, where, time, form)
