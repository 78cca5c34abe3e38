"""What a sentence means, before any language says it: who does what to which thing, where and when."""

from dataclasses import dataclass

from tools.phrasebook.forms import Adjective, Adverbial, Noun, Verb
from tools.phrasebook.nouns import HONOURED


@dataclass(frozen=True)
class Agreement:
    """The person, number and gender that verbs and adjectives agree with."""

    person: int
    plural: bool
    feminine: bool


@dataclass(frozen=True)
class Pronoun:
    """A personal pronoun, named by its English form; I, you, we and they are men (see the conventions)."""

    english: str
    agreement: Agreement


@dataclass(frozen=True)
class Thing:
    """A noun; determiner: "the", "a", "my", …, "some" (du pain), "all" (cats in general), "" of a name."""

    noun: Noun
    determiner: str = "the"
    adjective: Adjective | None = None
    plural: bool = False
    of: Noun | None = None  # the bank of the river


@dataclass(frozen=True)
class Pair:
    """Two things: the cat and the dog, tea or coffee."""

    first: Thing
    second: Thing
    word: str = "and"


@dataclass(frozen=True)
class Place:
    """A preposition, named by its English form, and the thing that it governs."""

    preposition: str
    thing: Thing


Subject = Pronoun | Thing | Pair
Where = Place | Adverbial


@dataclass(frozen=True)
class Act:
    """Somebody does something; form: present, progressive, past, future, want or can."""

    subject: Subject
    verb: Verb
    thing: Thing | Pair | None = None
    where: Where | None = None
    when: Adverbial | None = None
    form: str = "present"
    mood: str = "statement"  # "statement", "not", "question", "where", "what", "why", "when", "who"


@dataclass(frozen=True)
class Quality:
    """An adjective said of the subject."""

    adjective: Adjective
    very: bool = False


@dataclass(frozen=True)
class Profession:
    """What a person is."""

    noun: Adjective


@dataclass(frozen=True)
class Be:
    """Somebody or something is so, is this, or is there; where and how say nothing of the subject."""

    subject: Subject
    predicate: Quality | Profession | Place | Adverbial | None
    mood: str = "statement"  # "statement", "not", "question", "where", "how", "why", "who"
    past: bool = False


@dataclass(frozen=True)
class Like:
    """Somebody likes something in general."""

    subject: Subject
    thing: Thing | Pair
    mood: str = "statement"  # "statement", "not", "question"


@dataclass(frozen=True)
class There:
    """There is something somewhere."""

    thing: Thing
    where: Place


@dataclass(frozen=True)
class Sat:
    """Somebody sat somewhere, or is sitting there: was sitting, not sat down."""

    subject: Subject
    where: Place
    past: bool = True


@dataclass(frozen=True)
class Saying:
    """A whole sentence that no grammar makes."""

    english: str
    french: str
    spanish: str
    hindi: str
    mood: str = "statement"
    sources: tuple[str, ...] = ("en", "fr")  # the languages that it is translated from


@dataclass(frozen=True)
class Filled:
    """A sentence with gaps: {0} is the first thing, {o0} its oblique in Hindi, {is0} the है that agrees."""

    texts: tuple[str, ...]  # one for each language
    things: tuple[Thing | Pair | Adverbial, ...]
    mood: str = "statement"
    sources: tuple[str, ...] = ("en", "fr")


@dataclass(frozen=True)
class Two:
    """Two sentences with "and", "but" or "because" between."""

    first: "Act | Be | Like | Filled"
    second: "Act | Be | Like | Filled"
    word: str

    @property
    def mood(self) -> str:
        return self.first.mood


Frame = Act | Be | Like | There | Sat | Saying | Filled | Two

PRONOUNS = {
    "I": Pronoun("I", Agreement(1, False, False)),
    "you": Pronoun("you", Agreement(2, False, False)),
    "he": Pronoun("he", Agreement(3, False, False)),
    "she": Pronoun("she", Agreement(3, False, True)),
    "we": Pronoun("we", Agreement(1, True, False)),
    "they": Pronoun("they", Agreement(3, True, False)),
}
WHO = Pronoun("who", Agreement(3, False, False))


def agreement(subject: Subject, language: str) -> Agreement:
    """How words agree with a subject in a language: a cat is masculine in French and feminine in Hindi."""
    if isinstance(subject, Pronoun):
        return subject.agreement
    if isinstance(subject, Pair):
        both = (agreement(thing, language).feminine for thing in (subject.first, subject.second))
        return Agreement(3, True, all(both))
    honoured = language == "hindi" and subject.noun.english[0] in HONOURED
    return Agreement(3, subject.plural or honoured, language in subject.noun.feminine)


def is_question(frame: Frame) -> bool:
    """Whether the sentence ends with a question mark."""
    return getattr(frame, "mood", "statement") not in ("statement", "not")


def capitalised(text: str) -> str:
    """The text with a capital first letter, as a sentence begins."""
    return text[:1].upper() + text[1:]


def joined(*parts: str) -> str:
    """The parts that are there, with one space between."""
    return " ".join(part for part in parts if part)
