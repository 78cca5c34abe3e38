"""French sentences from frames; elision and contraction (j'aime, du pain, l'école) come last."""

import re

from tools.phrasebook.forms import Adjective, Adverbial
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
    capitalised,
    joined,
)
from tools.phrasebook.lexicon import BEFORE_THE_NOUN
from tools.phrasebook.verbs import VERBS

_PRONOUNS = {"I": "je", "you": "vous", "he": "il", "she": "elle", "we": "nous", "they": "ils"}
_PRONOUNS |= {"who": "qui"}
_PREPOSITIONS = {"on": "sur", "in": "dans", "under": "sous", "near": "près de", "behind": "derrière"}
_PREPOSITIONS |= {"at": "à", "to": "à", "from": "de", "with": "avec", "over": "par-dessus"}
_PREPOSITIONS |= {"in front of": "devant", "next to": "à côté de"}
_WORDS = {"and": "et", "or": "ou", "but": "mais", "because": "parce que"}
_DETERMINERS = {
    "the": ("le", "la", "les"),
    "all": ("le", "la", "les"),
    "a": ("un", "une", "-"),
    "your": ("votre", "votre", "vos"),
}
_DETERMINERS |= {"my": ("mon", "ma", "mes"), "some": ("de le", "de la", "de les"), "no": ("de", "de", "de")}
_DETERMINERS |= {"his": ("son", "sa", "ses"), "her": ("son", "sa", "ses"), "our": ("notre", "notre", "nos")}
_DETERMINERS |= {
    "own": _DETERMINERS["my"],
    "": ("", "", ""),
    "two": ("-", "-", "deux"),
    "three": ("-", "-", "trois"),
    "four": ("-", "-", "quatre"),
    "five": ("-", "-", "cinq"),
    "ten": ("-", "-", "dix"),
    "this": ("ce", "cette", "ces"),
    "their": ("leur", "leur", "leurs"),
}
_OPENINGS = {"statement": "", "who": "", "question": "est-ce que", "what": "que est-ce que"}
_OPENINGS |= {"where": "où est-ce que", "why": "pourquoi est-ce que", "when": "quand est-ce que"}
_VOWEL = "[aeiouhâéêîôûœAEIOUH]"
_BEFORE_A_VOWEL = {"beau": "bel", "nouveau": "nouvel", "vieux": "vieil"}
_BE = ("suis", "est", "sommes", "êtes", "sont")
_SEATED = Adjective("", ("assis", "assise", "assis", "assises"), (), ())
_HAVE = ("ai", "a", "avons", "avez", "ont")
_WAS = ("étais", "était", "étions", "étiez", "étaient")


def sentence(frame: Frame) -> str:
    """The frame in French, with a capital and without final punctuation."""
    return capitalised(_phrase(frame))


def _phrase(frame: Frame) -> str:
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
            agreed, form = agreement(frame.subject, "french"), _form(frame.subject)
            seated = _agreed(_SEATED, agreed)
            finite = _WAS[form] if frame.past else _BE[form]
            text = joined(_subject(frame.subject), finite, seated, _where(frame.where))
        case Saying():
            return frame.french
        case Filled():
            text = joined(*frame.texts[1].format(*map(_gap, frame.things), no0=_without(frame)).split())
        case Two():
            text = joined(_phrase(frame.first), _WORDS[frame.word], _phrase(frame.second))
    return _contracted(text)


def _without(frame: Filled) -> str:
    """The first thing after a negation: pas de pain."""
    thing = frame.things[0] if frame.things else None
    return _thing(Thing(thing.noun, "no", thing.adjective, thing.plural)) if isinstance(thing, Thing) else ""


def _gap(thing: Thing | Pair | Adverbial) -> str:
    return thing.french if isinstance(thing, Adverbial) else _thing(thing)


def _act(act: Act) -> str:
    infinitive, form = act.verb.french[5], _form(act.subject)
    if act.form == "present" or (act.form == "progressive" and infinitive in ("aller", "venir")):
        finite, rest = act.verb.french[form], ""
    elif act.form == "progressive":
        finite, rest = _BE[form], f"en train de {infinitive}"
    elif act.form == "past":
        finite, rest = _past(act)
    elif act.form == "future":
        finite, rest = VERBS["go"].french[form], infinitive
    else:
        finite, rest = VERBS[act.form].french[form], infinitive
    thing = act.thing
    if isinstance(thing, Thing) and thing.determiner == "some" and act.mood == "not":
        thing = Thing(thing.noun, "no", thing.adjective, thing.plural)  # ne mange pas de pain
    tail = joined(_thing(thing), _where(act.where), act.when.french if act.when else "")
    return _clause(act.subject, finite, rest, tail, act.mood)


def _past(act: Act) -> tuple[str, str]:
    """The auxiliary and the participle, which agrees with the subject after être."""
    participle, form = act.verb.french[6], _form(act.subject)
    if not participle.startswith("+"):
        return _HAVE[form], participle
    agreed = agreement(act.subject, "french")
    return _BE[form], participle[1:] + "e" * agreed.feminine + "s" * agreed.plural


def _clause(subject: Subject, finite: str, rest: str, tail: str, mood: str) -> str:
    if mood == "not":
        return joined(_subject(subject), "ne", finite, "pas", rest, tail)
    opening = _OPENINGS[mood]
    return joined(opening, _subject(subject), finite, rest, tail)


def _be(be: Be) -> str:
    agreed, finite = agreement(be.subject, "french"), (_WAS if be.past else _BE)[_form(be.subject)]
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


def _thing(thing: Thing | Pair | None) -> str:
    if thing is None:
        return ""
    if isinstance(thing, Pair):
        return joined(_thing(thing.first), _WORDS[thing.word], _thing(thing.second))
    agreed = agreement(thing, "french")
    noun = thing.noun.french[thing.plural]
    if thing.adjective:
        adjective = _agreed(thing.adjective, agreed)
        before = thing.adjective.english in BEFORE_THE_NOUN
        if before and not agreed.plural and re.match(_VOWEL, noun):
            adjective = _BEFORE_A_VOWEL.get(adjective, adjective)
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
    text = re.sub(rf"\b([ms])a (?={_VOWEL})", r"\1on ", text)
    text = re.sub(rf"\bce (?={_VOWEL})", "cet ", text)
    text = re.sub(rf"\b(j|n|qu|d|l)(?:e|a) (?={_VOWEL})", r"\1'", text)
    for apart, together in (("de le", "du"), ("de les", "des"), ("à le", "au"), ("à les", "aux")):
        text = re.sub(rf"\b{apart}\b", together, text)
    return text
