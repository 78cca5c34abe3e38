"""English sentences from frames."""

from tools.phrasebook.frames import (
    Act,
    Be,
    Frame,
    Like,
    Place,
    Profession,
    Pronoun,
    Quality,
    Sat,
    Saying,
    Subject,
    There,
    Thing,
    Where,
    agreement,
    capitalised,
    joined,
)
from tools.phrasebook.lexicon import VERBS, Noun


def sentence(frame: Frame) -> str:
    """The frame in English, with a capital and without final punctuation."""
    match frame:
        case Act():
            return capitalised(_act(frame))
        case Be():
            return capitalised(_be(frame))
        case Like():
            verb, person = VERBS["like"].english, _third(frame.subject)
            return capitalised(
                _clause(
                    frame.subject, verb[person], _do(frame.subject), verb[0], frame.mood, _thing(frame.thing)
                )
            )
        case There():
            return joined("There is", _thing(frame.thing), _where(frame.where))
        case Sat():
            return capitalised(joined(_subject(frame.subject), "sat", _where(frame.where)))
        case Saying():
            return frame.english


def _act(act: Act) -> str:
    verb, do = act.verb.english, _do(act.subject)
    finite, auxiliary, rest = verb[_third(act.subject)], do, verb[0]
    if act.form == "want":
        rest = f"want to {verb[0]}"
        finite = f"{VERBS['want'].english[_third(act.subject)]} to {verb[0]}"
    elif act.form == "can":
        finite, auxiliary = f"can {verb[0]}", "can"
    elif act.form == "progressive":
        finite, auxiliary, rest = f"{_is(act.subject)} {verb[2]}", _is(act.subject), verb[2]
    tail = joined(_thing(act.thing), _where(act.where), act.when.english if act.when else "")
    return _clause(act.subject, finite, auxiliary, rest, act.mood, tail)


def _clause(subject: Subject, finite: str, auxiliary: str, rest: str, mood: str, tail: str) -> str:
    """A statement has the finite verb; "not" and questions have an auxiliary."""
    if mood == "statement":
        return joined(_subject(subject), finite, tail)
    if mood == "not":
        negated = "cannot" if auxiliary == "can" else f"{auxiliary} not"
        return joined(_subject(subject), negated, rest, tail)
    return joined(mood if mood in ("where", "what") else "", auxiliary, _subject(subject), rest, tail)


def _be(be: Be) -> str:
    match be.predicate:
        case Quality(adjective, very):
            predicate = joined("very" if very else "", adjective.english)
        case Profession(noun):
            plural = agreement(be.subject, "english").plural
            predicate = f"{noun.english}s" if plural else f"a {noun.english}"
        case None:
            return joined(be.mood, _is(be.subject), _subject(be.subject))
        case place:
            predicate = _where(place)
    return _clause(be.subject, f"{_is(be.subject)} {predicate}", _is(be.subject), predicate, be.mood, "")


def _subject(subject: Subject) -> str:
    return subject.english if isinstance(subject, Pronoun) else _thing(subject)


def _third(subject: Subject) -> int:
    """The index of the verb form: 1 for the third person singular, else 0."""
    agreed = agreement(subject, "english")
    return int(agreed.person == 3 and not agreed.plural)


def _do(subject: Subject) -> str:
    return ("do", "does")[_third(subject)]


def _is(subject: Subject) -> str:
    if subject == Pronoun("I", agreement(subject, "english")):
        return "am"
    return ("are", "is")[_third(subject)]


def _thing(thing: Thing | None) -> str:
    if thing is None:
        return ""
    adjective = thing.adjective.english if thing.adjective else ""
    noun = thing.noun.english[thing.plural]
    determiner = "" if thing.determiner in ("some", "all") else thing.determiner
    if determiner == "a" and (adjective or noun)[0] in "aeiou":
        determiner = "an"
    return joined(determiner, adjective, noun, _of(thing.of))


def _of(noun: Noun | None) -> str:
    return f"of the {noun.english[0]}" if noun else ""


def _where(where: Where | None) -> str:
    if isinstance(where, Place):
        return joined(where.preposition, _thing(where.thing))
    return where.english if where else ""
