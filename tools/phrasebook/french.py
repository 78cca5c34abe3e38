"""French sentences from frames; elision and contraction (j'aime, du pain, l'école) come last."""

import re

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
    capitalised,
    joined,
)
from tools.phrasebook.lexicon import BEFORE_THE_NOUN, VERBS, Adjective

_PRONOUNS = {"I": "je", "you": "vous", "he": "il", "she": "elle", "we": "nous", "they": "ils"}
_PREPOSITIONS = {"on": "sur", "in": "dans", "under": "sous", "near": "près de", "behind": "derrière"}
_PREPOSITIONS |= {"at": "à", "to": "à", "from": "de", "with": "avec"}
_DETERMINERS = {
    "the": ("le", "la", "les"),
    "all": ("le", "la", "les"),
    "a": ("un", "une", "-"),
    "your": ("votre", "votre", "vos"),
}
_DETERMINERS |= {"my": ("mon", "ma", "mes"), "some": ("de le", "de la", "de les"), "no": ("de", "de", "de")}
_BE = ("suis", "est", "sommes", "êtes", "sont")
_WAS = ("étais", "était", "étions", "étiez", "étaient")


def sentence(frame: Frame) -> str:
    """The frame in French, with a capital and without final punctuation."""
    match frame:
        case Act():
            text = _act(frame)
        case Be():
            text = _be(frame)
        case Like():
            verb = VERBS["like"].french[_form(frame.subject)]
            text = _clause(frame.subject, verb, "", _thing(frame.thing), frame.mood)
        case There():
            text = joined("il y a", _thing(frame.thing), _where(frame.where))
        case Sat():
            agreed = agreement(frame.subject, "french")
            seated = "assise" if agreed.feminine else "assis"
            text = joined(_subject(frame.subject), _WAS[_form(frame.subject)], seated, _where(frame.where))
        case Saying():
            return frame.french
    return capitalised(_contracted(text))


def _act(act: Act) -> str:
    infinitive, form = act.verb.french[5], _form(act.subject)
    if act.form == "present":
        finite, rest = act.verb.french[form], ""
    elif act.form == "progressive":
        finite, rest = _BE[form], f"en train de {infinitive}"
    else:
        finite, rest = VERBS[act.form].french[form], infinitive
    thing = act.thing
    if thing and thing.determiner == "some" and act.mood == "not":
        thing = Thing(thing.noun, "no", thing.adjective, thing.plural)  # ne mange pas de pain
    tail = joined(_thing(thing), _where(act.where), act.when.french if act.when else "")
    return _clause(act.subject, finite, rest, tail, act.mood)


def _clause(subject: Subject, finite: str, rest: str, tail: str, mood: str) -> str:
    if mood == "not":
        return joined(_subject(subject), "ne", finite, "pas", rest, tail)
    opening = {"statement": "", "question": "est-ce que", "where": "où est-ce que", "what": "que est-ce que"}[
        mood
    ]
    return joined(opening, _subject(subject), finite, rest, tail)


def _be(be: Be) -> str:
    agreed, finite = agreement(be.subject, "french"), _BE[_form(be.subject)]
    match be.predicate:
        case Quality(adjective, very):
            predicate = joined("très" if very else "", _agreed(adjective, agreed))
        case Profession(noun):
            predicate = _agreed(noun, agreed)
        case None if be.mood == "where":
            return joined("où", finite, _subject(be.subject))
        case None:
            return joined("comment", "vont" if agreed.plural else "va", _subject(be.subject))
        case place:
            predicate = _where(place)
    return _clause(be.subject, finite, "", predicate, be.mood)


def _subject(subject: Subject) -> str:
    return _PRONOUNS[subject.english] if isinstance(subject, Pronoun) else _thing(subject)


def _form(subject: Subject) -> int:
    """The index of the verb form: je, il, nous, vous, ils."""
    agreed = agreement(subject, "french")
    return {(1, False): 0, (3, False): 1, (1, True): 2, (2, False): 3, (3, True): 4}[
        agreed.person, agreed.plural
    ]


def _agreed(adjective: Adjective, agreed: Agreement) -> str:
    return adjective.french[2 * agreed.plural + agreed.feminine]


def _thing(thing: Thing | None) -> str:
    if thing is None:
        return ""
    agreed = agreement(thing, "french")
    noun = thing.noun.french[thing.plural]
    if thing.adjective:
        adjective = _agreed(thing.adjective, agreed)
        before = thing.adjective.english in BEFORE_THE_NOUN
        noun = f"{adjective} {noun}" if before else f"{noun} {adjective}"
    article = _DETERMINERS[thing.determiner][2 if agreed.plural else agreed.feminine]
    of = f"de {'la' if 'french' in thing.of.feminine else 'le'} {thing.of.french[0]}" if thing.of else ""
    return joined(article, noun, of)


def _where(where: Where | None) -> str:
    if isinstance(where, Place):
        return joined(_PREPOSITIONS[where.preposition], _thing(where.thing))
    return where.french if where else ""


def _contracted(text: str) -> str:
    """Elision before a vowel or h (ours are mute), then de + le = du, à + le = au and their plurals."""
    text = re.sub(r"\b(j|n|qu|d|l)(?:e|a) (?=[aeiouhâéêîôû])", r"\1'", text)
    for apart, together in (("de le", "du"), ("de les", "des"), ("à le", "au"), ("à les", "aux")):
        text = re.sub(rf"\b{apart}\b", together, text)
    return text
