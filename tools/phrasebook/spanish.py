"""Spanish sentences from frames; yo and nosotros are left unsaid, questions keep the order."""

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
from tools.phrasebook.lexicon import PASSING
from tools.phrasebook.verbs import VERBS

_PRONOUNS = {"I": "", "you": "usted", "he": "él", "she": "ella", "we": "", "they": "ellos"}
_PRONOUNS |= {"who": "quién"}
_PREPOSITIONS = {"on": "en", "in": "en", "under": "debajo de", "near": "cerca de", "behind": "detrás de"}
_PREPOSITIONS |= {"at": "en", "to": "a", "from": "de", "with": "con", "over": "sobre"}
_PREPOSITIONS |= {"in front of": "delante de", "next to": "al lado de"}
_WORDS = {"and": "y", "or": "o", "but": "pero", "because": "porque"}
_ASKED = {"where": "dónde", "what": "qué", "how": "cómo", "why": "por qué", "when": "cuándo"}
_DETERMINERS = {
    "the": ("el", "la", "los", "las"),
    "all": ("el", "la", "los", "las"),
    "a": ("un", "una", "-", "-"),
}
_DETERMINERS |= {
    "my": ("mi", "mi", "mis", "mis"),
    "your": ("su", "su", "sus", "sus"),
    "some": ("", "", "", ""),
    "": ("", "", "", ""),
    "own": ("mi", "mi", "mis", "mis"),
    "his": ("su", "su", "sus", "sus"),
    "her": ("su", "su", "sus", "sus"),
    "our": ("nuestro", "nuestra", "nuestros", "nuestras"),
    "two": ("-", "-", "dos", "dos"),
    "three": ("-", "-", "tres", "tres"),
    "four": ("-", "-", "cuatro", "cuatro"),
    "five": ("-", "-", "cinco", "cinco"),
    "ten": ("-", "-", "diez", "diez"),
    "this": ("este", "esta", "estos", "estas"),
    "their": ("su", "su", "sus", "sus"),
}
_SER = ("soy", "es", "somos", "son")
_ERA = ("era", "era", "éramos", "eran")
_ESTAR = ("estoy", "está", "estamos", "están")
_WAS = ("estaba", "estaba", "estábamos", "estaban")
_SEATED = ("sentado", "sentada", "sentados", "sentadas")


def sentence(frame: Frame) -> str:
    """The frame in Spanish, with a capital and without final punctuation."""
    return capitalised(_phrase(frame))


def _phrase(frame: Frame) -> str:
    match frame:
        case Act():
            text = _act(frame)
        case Be():
            text = _be(frame)
        case Like():
            text = _like(frame)
        case There():
            text = joined("hay", _thing(frame.thing), _where(frame.where))
        case Sat():
            agreed = agreement(frame.subject, "spanish")
            finite = (_WAS if frame.past else _ESTAR)[_form(frame.subject)]
            seated = _SEATED[2 * agreed.plural + agreed.feminine]
            text = joined(_subject(frame.subject), finite, seated, _where(frame.where))
        case Saying():
            return frame.spanish
        case Filled():
            text = joined(*frame.texts[2].format(*map(_gap, frame.things)).split())
        case Two():
            text = joined(_phrase(frame.first), _WORDS[frame.word], _phrase(frame.second))
    return _contracted(text)


def _gap(thing: Thing | Pair | Adverbial) -> str:
    return thing.spanish if isinstance(thing, Adverbial) else _thing(thing)


def _act(act: Act) -> str:
    form = _form(act.subject)
    if act.form == "present" or (act.form == "progressive" and act.verb.spanish[5] == "-"):
        finite, rest = act.verb.spanish[form], ""
    elif act.form == "past":
        finite, rest = act.verb.spanish[6 + form], ""
    elif act.form == "future":
        finite, rest = f"{VERBS['go'].spanish[form]} a", act.verb.spanish[4]
    elif act.form == "progressive":
        finite, rest = _ESTAR[form], act.verb.spanish[5]
    else:
        finite, rest = VERBS[act.form].spanish[form], act.verb.spanish[4]
    tail = joined(_thing(act.thing), _where(act.where), act.when.spanish if act.when else "")
    if act.mood in _ASKED:  # the question word draws the verb before its subject
        return joined(_ASKED[act.mood], finite, rest, _subject(act.subject), tail)
    return joined(_subject(act.subject), "no" if act.mood == "not" else "", finite, rest, tail)


def _be(be: Be) -> str:
    agreed, form = agreement(be.subject, "spanish"), _form(be.subject)
    ser, estar = (_ERA, _WAS) if be.past else (_SER, _ESTAR)
    finite = estar[form]
    match be.predicate:
        case Quality(adjective, very):
            finite = finite if adjective.english in PASSING else ser[form]
            predicate = joined("muy" if very else "", _agreed(adjective, agreed))
        case Profession(noun):
            finite, predicate = ser[form], _agreed(noun, agreed)
        case None:
            return joined(_ASKED[be.mood], finite, _subject(be.subject))
        case place:
            predicate = _where(place)
    if be.mood in _ASKED:
        return joined(_ASKED[be.mood], finite, _subject(be.subject), predicate)
    return joined(_subject(be.subject), "no" if be.mood == "not" else "", finite, predicate)


def _like(like: Like) -> str:
    """Me gustan los gatos: the thing is the subject, whoever likes it the indirect object."""
    agreed = agreement(like.subject, "spanish")
    pleases = "gustan" if agreement(like.thing, "spanish").plural else "gusta"
    to = f"a {_subject(like.subject)}" if _subject(like.subject) else ""
    whom = ("nos" if agreed.plural else "me") if agreed.person == 1 else ("les" if agreed.plural else "le")
    return joined(to, "no" if like.mood == "not" else "", whom, pleases, _thing(like.thing))


def _subject(subject: Subject) -> str:
    return _PRONOUNS[subject.english] if isinstance(subject, Pronoun) else _thing(subject)


def _form(subject: Subject) -> int:
    """The index of the verb form: yo, él (and usted), nosotros, ellos."""
    agreed = agreement(subject, "spanish")
    return 2 * agreed.plural + (agreed.person != 1)


def _agreed(adjective: Adjective, agreed: Agreement) -> str:
    return adjective.spanish[2 * agreed.plural + agreed.feminine]


def _thing(thing: Thing | Pair | None) -> str:
    if thing is None:
        return ""
    if isinstance(thing, Pair):
        return joined(_thing(thing.first), _WORDS[thing.word], _thing(thing.second))
    agreed = agreement(thing, "spanish")
    noun = thing.noun.spanish[thing.plural]
    determiner = _DETERMINERS[thing.determiner][2 * agreed.plural + agreed.feminine]
    if noun == "agua" and determiner == "la":
        determiner = "el"  # feminine, but with el before its stressed a: el agua fría
    adjective = _agreed(thing.adjective, agreed) if thing.adjective else ""
    of = f"de {'la' if 'spanish' in thing.of.feminine else 'el'} {thing.of.spanish[0]}" if thing.of else ""
    return joined(determiner, noun, adjective, of)


def _where(where: Where | None) -> str:
    if isinstance(where, Place):
        return joined(_PREPOSITIONS[where.preposition], _thing(where.thing))
    return where.spanish if where else ""


def _contracted(text: str) -> str:
    """a + el = al and de + el = del (a él, with its accent, stays)."""
    return re.sub(r"\bde el\b", "del", re.sub(r"\ba el\b", "al", text))
