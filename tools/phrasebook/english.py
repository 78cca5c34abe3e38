"""English sentences from frames."""

import re

from tools.phrasebook.forms import Adverbial, Noun
from tools.phrasebook.frames import (
    Act,
    Be,
    Filled,
    Frame,
    Like,
    Pair,
    Place,
    Profession,
    Pronoun,
    Quality,
    Sat,
    Saying,
    Subject,
    There,
    Thing,
    Two,
    Where,
    agreement,
    capitalised,
    joined,
)
from tools.phrasebook.verbs import VERBS

# The short forms of English, each after the words it shortens; in this order.
SHORT_FORMS = {
    r"will not": "won't",
    r"cannot": "can't",
    r"Let us": "Let's",
    r"(do|does|did|is|are|was|were) not": r"\1n't",
    r"I am": "I'm",
    r"(He|She|It|What|Where|Who|he|she|it) is": r"\1's",
    r"(You|We|They|you|we|they) are": r"\1're",
    r"(I|He|She|It|You|We|They|he|she|it|we|they) will": r"\1'll",
    r"(I|We) would": r"\1'd",
}


def sentence(frame: Frame) -> str:
    """The frame in English, with a capital and without final punctuation."""
    return capitalised(_phrase(frame))


def _phrase(frame: Frame) -> str:
    match frame:
        case Act():
            return _act(frame)
        case Be():
            return _be(frame)
        case Like():
            verb, person = VERBS["like"].english, _third(frame.subject)
            return _clause(
                frame.subject, verb[person], _do(frame.subject), verb[0], frame.mood, _thing(frame.thing)
            )
        case There():
            return joined(
                "there are" if frame.thing.plural else "there is", _thing(frame.thing), _where(frame.where)
            )
        case Sat():
            sat = "sat" if frame.past else f"{_is(frame.subject)} sitting"
            return joined(_subject(frame.subject), sat, _where(frame.where))
        case Saying():
            return frame.english
        case Filled():
            return joined(*frame.texts[0].format(*map(_gap, frame.things)).split())
        case Two():
            return joined(_phrase(frame.first), frame.word, _phrase(frame.second))


def _gap(thing: Thing | Pair | Adverbial) -> str:
    return thing.english if isinstance(thing, Adverbial) else _thing(thing)


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
    elif act.form == "past":
        finite, auxiliary = verb[3], "did"
    elif act.form == "future":
        finite, auxiliary = f"will {verb[0]}", "will"
    tail = joined(_thing(act.thing), _where(act.where), act.when.english if act.when else "")
    return _clause(act.subject, finite, auxiliary, rest, act.mood, tail)


def _clause(subject: Subject, finite: str, auxiliary: str, rest: str, mood: str, tail: str) -> str:
    """A statement has the finite verb; "not" and questions have an auxiliary."""
    if mood in ("statement", "who"):
        return joined(_subject(subject), finite, tail)
    if mood == "not":
        negated = "cannot" if auxiliary == "can" else f"{auxiliary} not"
        return joined(_subject(subject), negated, rest, tail)
    return joined("" if mood == "question" else mood, auxiliary, _subject(subject), rest, tail)


def _be(be: Be) -> str:
    match be.predicate:
        case Quality(adjective, very):
            predicate = joined("very" if very else "", adjective.english)
        case Profession(noun):
            plural = agreement(be.subject, "english").plural
            article = "an" if noun.english[0] in "aeiou" else "a"
            predicate = f"{noun.english}s" if plural else f"{article} {noun.english}"
        case None:
            return joined(be.mood, _is(be.subject), _subject(be.subject))
        case place:
            predicate = _where(place)
    finite = _was(be.subject) if be.past else _is(be.subject)
    return _clause(be.subject, f"{finite} {predicate}", finite, predicate, be.mood, "")


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


def _was(subject: Subject) -> str:
    return "was" if _is(subject) in ("am", "is") else "were"


def _thing(thing: Thing | Pair | None) -> str:
    if thing is None:
        return ""
    if isinstance(thing, Pair):
        return joined(_thing(thing.first), thing.word, _thing(thing.second))
    adjective = thing.adjective.english if thing.adjective else ""
    noun = thing.noun.english[thing.plural]
    said = {"some": "", "all": "", "own": "my", "this": "these" if thing.plural else "this"}
    determiner = said.get(thing.determiner, thing.determiner)
    if determiner == "a" and (adjective or noun)[0] in "aeiou":
        determiner = "an"
    return joined(determiner, adjective, noun, _of(thing.of))


def _of(noun: Noun | None) -> str:
    return f"of the {noun.english[0]}" if noun else ""


def _where(where: Where | None) -> str:
    if isinstance(where, Place):
        return joined(where.preposition, _thing(where.thing))
    return where.english if where else ""


def shorten(text: str) -> str:
    """Replace words of an English sentence by their short forms: I'm, isn't, don't."""
    for full, short in SHORT_FORMS.items():
        text = re.sub(rf"\b{full}\b", short, text)
    return text
