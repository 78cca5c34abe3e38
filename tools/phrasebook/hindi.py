"""Hindi sentences from frames: subject, time, place, object, verb; no past participles with ने."""

from tools.phrasebook.frames import (
    Act,
    Agreement,
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
    joined,
)
from tools.phrasebook.lexicon import VERBS

_PRONOUNS = {"I": "मैं", "you": "आप", "he": "वह", "she": "वह", "we": "हम", "they": "वे"}
_DATIVE = {"I": "मुझे", "you": "आपको", "he": "उसे", "she": "उसे", "we": "हमें", "they": "उन्हें"}
_POSTPOSITIONS = {"on": "पर", "in": "में", "under": "के नीचे", "near": "के पास", "behind": "के पीछे"}
_POSTPOSITIONS |= {"at": "में", "to": "", "from": "से", "with": "के साथ"}
_POSSESSIVES = {"my": ("मेरा", "मेरी", "मेरे"), "your": ("आपका", "आपकी", "आपके")}


def sentence(frame: Frame) -> str:
    """The frame in Hindi, without final punctuation."""
    match frame:
        case Act():
            text = _act(frame)
        case Be():
            text = _be(frame)
        case Like():
            liked = _is(agreement(frame.thing, "hindi"))
            negation = "नहीं" if frame.mood == "not" else ""
            text = joined(_dative(frame.subject), _thing(frame.thing), "पसंद", negation, liked)
        case There():
            text = joined(_where(frame.where), _thing(frame.thing), _is(agreement(frame.thing, "hindi")))
        case Sat():
            agreed = agreement(frame.subject, "hindi")
            seated, was = _ending(agreed, "बैठा", "बैठी", "बैठे"), _ending(agreed, "था", "थी", "थे")
            text = joined(_subject(frame.subject), _where(frame.where), seated, was)
        case Saying():
            return frame.hindi
    return f"क्या {text}" if frame.__dict__.get("mood") == "question" else text


def _act(act: Act) -> str:
    where = "कहाँ" if act.mood == "where" else _where(act.where)
    thing = "क्या" if act.mood == "what" else _thing(act.thing)
    when = act.when.hindi if act.when else ""
    return joined(_subject(act.subject), when, where, thing, _verb(act))


def _verb(act: Act) -> str:
    """The verb with its negation; the habitual, can and want drop है after नहीं, the progressive keeps it."""
    agreed = agreement(act.subject, "hindi")
    *before, stem = act.verb.hindi.split()
    no = "नहीं" if act.mood == "not" else ""
    auxiliary = "" if no and act.form != "progressive" else _is(agreed)
    parts: tuple[str, ...]
    if act.form == "present":
        parts = (no, stem + _ending(agreed, "ता", "ती", "ते"))
    elif act.form == "progressive":
        parts = (no, stem, _ending(agreed, "रहा", "रही", "रहे"))
    elif act.form == "can":
        parts = (no, stem, VERBS["can"].hindi + _ending(agreed, "ता", "ती", "ते"))
    else:
        parts = (stem + "ना", no, VERBS["want"].hindi + _ending(agreed, "ता", "ती", "ते"))
    return joined(*before, *parts, auxiliary)


def _be(be: Be) -> str:
    agreed = agreement(be.subject, "hindi")
    match be.predicate:
        case Quality(adjective, very):
            predicate = joined("बहुत" if very else "", _ending(agreed, *adjective.hindi))
        case Profession(noun):
            predicate = noun.hindi[agreed.feminine]
        case None if be.mood == "where":
            predicate = "कहाँ"
        case None:
            predicate = _ending(agreed, "कैसा", "कैसी", "कैसे")
        case place:
            predicate = _where(place)
    return joined(_subject(be.subject), predicate, "नहीं" if be.mood == "not" else "", _is(agreed))


def _ending(agreed: Agreement, masculine: str, feminine: str, plural: str) -> str:
    """The form that agrees; आप counts as a masculine plural, the feminine is one form for both numbers."""
    if agreed.feminine:
        return feminine
    return plural if agreed.plural or agreed.person == 2 else masculine


def _is(agreed: Agreement) -> str:
    if agreed.plural or agreed.person == 2:
        return "हैं"
    return "हूँ" if agreed.person == 1 else "है"


def _subject(subject: Subject) -> str:
    return _PRONOUNS[subject.english] if isinstance(subject, Pronoun) else _thing(subject)


def _dative(subject: Subject) -> str:
    return (
        _DATIVE[subject.english]
        if isinstance(subject, Pronoun)
        else joined(_thing(subject, oblique=True), "को")
    )


def _thing(thing: Thing | None, oblique: bool = False) -> str:
    """A noun phrase; before a postposition it is oblique, and so are its adjective and its possessive."""
    if thing is None:
        return ""
    feminine = "hindi" in thing.noun.feminine
    agreed = Agreement(
        3, thing.plural or oblique, feminine
    )  # the masculine oblique looks like the plural: छोटे
    of = joined(thing.of.hindi[1], _ending(agreed, "का", "की", "के")) if thing.of else ""
    possessive = _ending(agreed, *_POSSESSIVES[thing.determiner]) if thing.determiner in _POSSESSIVES else ""
    adjective = _ending(agreed, *thing.adjective.hindi) if thing.adjective else ""
    noun = thing.noun.hindi[2 * thing.plural + oblique]
    return joined("एक" if thing.determiner == "a" else "", possessive, of, adjective, noun)


def _where(where: Where | None) -> str:
    if isinstance(where, Place):
        return joined(_thing(where.thing, oblique=True), _POSTPOSITIONS[where.preposition])
    return where.hindi if where else ""
