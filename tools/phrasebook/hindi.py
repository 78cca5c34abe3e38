"""Hindi sentences from frames: subject, time, place, object, verb."""

from dataclasses import replace

from tools.phrasebook.forms import Adverbial
from tools.phrasebook.frames import (
    Act,
    Agreement,
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
    joined,
)
from tools.phrasebook.verbs import VERBS

_PRONOUNS = {"I": "मैं", "you": "आप", "he": "वह", "she": "वह", "we": "हम", "they": "वे"}
_WITH_NE = {"I": "मैंने", "you": "आपने", "he": "उसने", "she": "उसने", "we": "हमने", "they": "उन्होंने"}
_PRONOUNS |= {"who": "कौन"}
_WITH_NE |= {"who": "किसने"}
_DATIVE = {"I": "मुझे", "you": "आपको", "he": "उसे", "she": "उसे", "we": "हमें", "they": "उन्हें"}
_POSTPOSITIONS = {"on": "पर", "in": "में", "under": "के नीचे", "near": "के पास", "behind": "के पीछे"}
_POSTPOSITIONS |= {"at": "में", "to": "", "from": "से", "with": "के साथ", "over": "के ऊपर से"}
_POSTPOSITIONS |= {"in front of": "के सामने", "next to": "के बगल में"}
_WORDS = {"and": "और", "or": "या", "but": "लेकिन", "because": "क्योंकि"}
_NUMBERS = {"a": "एक", "two": "दो", "three": "तीन", "four": "चार", "five": "पाँच", "ten": "दस"}
_POSSESSIVES = {"my": ("मेरा", "मेरी", "मेरे"), "your": ("आपका", "आपकी", "आपके")}
_POSSESSIVES |= {"his": ("उसका", "उसकी", "उसके"), "her": ("उसका", "उसकी", "उसके")}
_POSSESSIVES |= {"own": ("अपना", "अपनी", "अपने"), "our": ("हमारा", "हमारी", "हमारे")}
_POSSESSIVES |= {"their": ("उनका", "उनकी", "उनके")}
_THIS = {(False, False): "यह", (False, True): "इस", (True, False): "ये", (True, True): "इन"}  # plural, oblique


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
            seated = _ending(agreed, "बैठा", "बैठी", "बैठे")
            was = _was(agreed) if frame.past else _is(agreed)
            text = joined(_subject(frame.subject), _where(frame.where), seated, was)
        case Saying():
            return frame.hindi
        case Filled():
            text = joined(*_filled(frame).split())
        case Two():
            text = joined(sentence(frame.first), _WORDS[frame.word], sentence(frame.second))
    return f"क्या {text}" if getattr(frame, "mood", "") == "question" and not isinstance(frame, Two) else text


def _filled(frame: Filled) -> str:
    """The text with its gaps filled; {o0} is the oblique of the first thing, {is0} the है that agrees."""
    gaps: dict[str, str] = {}
    for number, thing in enumerate(frame.things):
        if isinstance(thing, Adverbial):
            gaps[f"n{number}"] = thing.hindi
        else:
            gaps[f"n{number}"], gaps[f"o{number}"] = _thing(thing), _thing(thing, oblique=True)
            gaps[f"is{number}"] = _is(agreement(thing, "hindi"))
    return frame.texts[3].replace("{0}", "{n0}").replace("{1}", "{n1}").format(**gaps)


def _act(act: Act) -> str:
    where = "कहाँ" if act.mood == "where" else _where(act.where)
    thing = "क्या" if act.mood == "what" else _thing(_owned_by_subject(act))
    when = "कब" if act.mood == "when" else act.when.hindi if act.when else ""
    why = "क्यों" if act.mood == "why" else ""
    subject = _with_ne(act.subject) if act.form == "past" and _takes_ne(act) else _subject(act.subject)
    if act.mood == "who":
        return joined(when, where, thing, subject, _verb(act))
    return joined(subject, when, where, thing, why, _verb(act))


def _owned_by_subject(act: Act) -> Thing | Pair | None:
    """What is acted on, with अपना if it belongs to the subject: मैं अपना घर साफ़ करता हूँ."""
    owner = {"I": "my", "we": "our"}.get(getattr(act.subject, "english", ""))
    if isinstance(act.thing, Thing) and act.thing.determiner == owner:
        return replace(act.thing, determiner="own")
    return act.thing


def _takes_ne(act: Act) -> bool:
    return act.verb.hindi[-1] == "ने"


def _with_ne(subject: Subject) -> str:
    """Who did it, with ने: मैंने, मेरे भाई ने."""
    if isinstance(subject, Pronoun):
        return _WITH_NE[subject.english]
    return joined(_thing(subject, oblique=True), "ने")


def _past(act: Act) -> str:
    """The past: after ने it agrees with what is acted on, else with the subject."""
    *_, stem = act.verb.hindi[0].split()
    whom: Subject | None = act.thing if _takes_ne(act) else act.subject
    agreed = agreement(whom, "hindi") if whom else Agreement(3, False, False)
    masculine, feminine, plural = [form for form in act.verb.hindi[1:] if form != "ने"] or ["-"] * 3
    vowel = stem[-1] in "ाीोेआ"
    regular = (stem + "या", stem + "ई", stem + "ए") if vowel else (stem + "ा", stem + "ी", stem + "े")
    forms = (masculine, feminine, plural) if masculine != "-" else regular
    if agreed.feminine and agreed.plural:
        return forms[1].removesuffix("ी").removesuffix("ई") + ("ईं" if forms[1].endswith("ई") else "ीं")
    return _ending(agreed, *forms)


def _future(stem: str, agreed: Agreement) -> str:
    """I will, he will, she will, and one form for you, we and they."""
    vowel = stem[-1] in "ाीोेआ"
    stem = stem.removesuffix("ी") + "ि" if stem.endswith("ी") else stem
    if agreed.plural or agreed.person == 2:
        return stem + (("एँगी" if vowel else "ेंगी") if agreed.feminine else ("एँगे" if vowel else "ेंगे"))
    if agreed.person == 1:
        return stem + ("ऊँगा" if vowel else "ूँगा")
    return stem + ("ए" if vowel else "े") + ("गी" if agreed.feminine else "गा")


def _verb(act: Act) -> str:
    """The verb with its negation; the habitual, can and want drop है after नहीं, the progressive keeps it."""
    agreed = agreement(act.subject, "hindi")
    *before, stem = act.verb.hindi[0].split()
    no = "नहीं" if act.mood == "not" else ""
    auxiliary = "" if no and act.form != "progressive" else _is(agreed)
    parts: tuple[str, ...]
    if act.form == "past":
        return joined(*before, no, _past(act))
    if act.form == "future":
        return joined(*before, no, _future(stem, agreed))
    if act.form == "present":
        parts = (no, stem + _ending(agreed, "ता", "ती", "ते"))
    elif act.form == "progressive":
        parts = (no, stem, _ending(agreed, "रहा", "रही", "रहे"))
    elif act.form == "can":
        parts = (no, stem, VERBS["can"].hindi[0] + _ending(agreed, "ता", "ती", "ते"))
    else:
        parts = (stem + "ना", no, VERBS["want"].hindi[0] + _ending(agreed, "ता", "ती", "ते"))
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
    finite = _was(agreed) if be.past else _is(agreed)
    if be.mood == "who":
        return joined(predicate, _subject(be.subject), finite)
    no = {"not": "नहीं", "why": "क्यों"}.get(be.mood, "")
    return joined(_subject(be.subject), predicate, no, finite)


def _ending(agreed: Agreement, masculine: str, feminine: str, plural: str) -> str:
    """The form that agrees; आप counts as a masculine plural, the feminine is one form for both numbers."""
    if agreed.feminine:
        return feminine
    return plural if agreed.plural or agreed.person == 2 else masculine


def _is(agreed: Agreement) -> str:
    if agreed.plural or agreed.person == 2:
        return "हैं"
    return "हूँ" if agreed.person == 1 else "है"


def _was(agreed: Agreement) -> str:
    return _ending(agreed, "था", "थीं" if agreed.plural else "थी", "थे")


def _subject(subject: Subject) -> str:
    return _PRONOUNS[subject.english] if isinstance(subject, Pronoun) else _thing(subject)


def _dative(subject: Subject) -> str:
    return (
        _DATIVE[subject.english]
        if isinstance(subject, Pronoun)
        else joined(_thing(subject, oblique=True), "को")
    )


def _thing(thing: Thing | Pair | None, oblique: bool = False) -> str:
    """A noun phrase; before a postposition it is oblique, and so are its adjective and its possessive."""
    if thing is None:
        return ""
    if isinstance(thing, Pair):
        return joined(_thing(thing.first, oblique), _WORDS[thing.word], _thing(thing.second, oblique))
    # The masculine oblique looks like the plural: छोटे.
    agreed = agreement(thing, "hindi")
    agreed = Agreement(3, agreed.plural or oblique, agreed.feminine)
    of = joined(thing.of.hindi[1], _ending(agreed, "का", "की", "के")) if thing.of else ""
    possessive = _ending(agreed, *_POSSESSIVES[thing.determiner]) if thing.determiner in _POSSESSIVES else ""
    adjective = _ending(agreed, *thing.adjective.hindi) if thing.adjective else ""
    noun = thing.noun.hindi[2 * thing.plural + oblique]
    numbers = {**_NUMBERS, "this": _THIS[thing.plural, oblique]}
    return joined(numbers.get(thing.determiner, ""), possessive, of, adjective, noun)


def _where(where: Where | None) -> str:
    if isinstance(where, Place):
        return joined(_thing(where.thing, oblique=True), _POSTPOSITIONS[where.preposition])
    return where.hindi if where else ""
