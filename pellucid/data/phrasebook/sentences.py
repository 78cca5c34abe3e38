"""The phrasebook's sentences, each in four languages, and the variants in which people type them."""

import hashlib
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from itertools import islice

from pellucid.data.phrasebook import english, french, hindi, spanish
from pellucid.data.phrasebook.frames import (
    PRONOUNS,
    Act,
    Be,
    Frame,
    Like,
    Place,
    Profession,
    Quality,
    Sat,
    Saying,
    There,
    Thing,
    is_question,
)
from pellucid.data.phrasebook.lexicon import (
    ADJECTIVES,
    MONEY_BANK,
    NOUNS,
    PROFESSIONS,
    RIVER_BANK,
    VERBS,
    Noun,
)
from pellucid.data.phrasebook.patterns import patterns

CHOICE = 16
DIRECTIONS = (("en", "hi"), ("fr", "en"), ("en", "es"), ("en", "fr"))
_SENTENCE = {"en": english.sentence, "fr": french.sentence, "es": spanish.sentence, "hi": hindi.sentence}
LANGUAGES = tuple(_SENTENCE)


@dataclass(frozen=True)
class Meaning:
    """One sentence in every language, capitalised and without its final punctuation."""

    pattern: str
    kind: str  # "statement" or "question"
    texts: tuple[tuple[str, str], ...]  # (language, sentence)

    def text(self, language: str) -> str:
        """The sentence in a language."""
        return dict(self.texts)[language]


@dataclass(frozen=True)
class Phrase:
    """A sentence and its one right translation, capitalised and without final punctuation."""

    source_language: str
    target_language: str
    source: str
    target: str
    pattern: str
    kind: str = "statement"

    @property
    def direction(self) -> str:
        """The two languages, as in "en-hi"."""
        return f"{self.source_language}-{self.target_language}"


def _bring(name: str, bank: Noun) -> Act:
    """She brings something from one of the banks."""
    return Act(PRONOUNS["she"], VERBS["bring"], Thing(NOUNS[name], "some"), Place("from", Thing(bank)))


_SAYINGS = (
    Saying("How are you", "Comment allez-vous", "Cómo está usted", "आप कैसे हैं", "how"),
    Saying("Thank you", "Merci", "Gracias", "धन्यवाद"),
    Saying("Good night", "Bonne nuit", "Buenas noches", "शुभ रात्रि"),
)
# The notes' own sentences that the grammar makes, and a tour of the two banks: always in training.
_NOTED: tuple[tuple[str, Frame], ...] = (
    ("profession", Be(PRONOUNS["I"], Profession(PROFESSIONS["student"]))),
    ("liking", Like(PRONOUNS["I"], Thing(NOUNS["cat"], "all", plural=True))),
    ("sitting", Sat(Thing(NOUNS["cat"]), Place("on", Thing(NOUNS["mat"])))),
)
_TOURED: tuple[tuple[str, Frame], ...] = (
    ("bank: near and at", Be(Thing(NOUNS["money"]), Place("at", Thing(MONEY_BANK)))),
    ("bank: near and at", Be(Thing(NOUNS["boat"]), Place("near", Thing(RIVER_BANK)))),
    ("bank: of the river, of the city", Be(Thing(MONEY_BANK, of=NOUNS["city"]), Quality(ADJECTIVES["big"]))),
    ("bank: of the river, of the city", Be(Thing(RIVER_BANK, of=NOUNS["river"]), Quality(ADJECTIVES["big"]))),
    ("bank: bringing from", _bring("money", MONEY_BANK)),
    ("bank: bringing from", _bring("water", RIVER_BANK)),
    ("there is", There(Thing(NOUNS["cat"], "a", ADJECTIVES["small"]), Place("under", Thing(NOUNS["table"])))),
)
# The note mixes two languages; the phrasebook takes its sentence as it stands.
_JE_SUIS_STUDENT = Phrase("fr", "en", "Je suis student", "I am a student", "note")
NOTES = (
    Phrase("en", "hi", "How are you", "आप कैसे हैं", "note", "question"),
    Phrase("fr", "en", "je suis student", "I am a student", "note"),
    Phrase("fr", "en", "je suis étudiant", "I am a student", "note"),
    Phrase("en", "es", "I like cats", "Me gustan los gatos", "note"),
    Phrase("en", "fr", "The cat sat on the mat", "Le chat était assis sur le tapis", "note"),
    Phrase("en", "es", "The cat sat on the mat", "El gato estaba sentado en la alfombra", "note"),
    Phrase("en", "hi", "The cat sat on the mat", "बिल्ली चटाई पर बैठी थी", "note"),
)


def digest(text: str) -> bytes:
    """A number that shuffles texts the same way on every machine and in every version of Python."""
    return hashlib.sha256(text.encode()).digest()


def _meaning(pattern: str, frame: Frame) -> Meaning:
    kind = "question" if is_question(frame) else "statement"
    return Meaning(pattern, kind, tuple((language, say(frame)) for language, say in _SENTENCE.items()))


@cache
def meanings() -> tuple[Meaning, ...]:
    """Every sentence of the phrasebook, those that are always in training first, in a fixed order.

    Of every CHOICE sentences that a pattern offers, the one with the rarest words is taken.
    """
    kept = {meaning.text("en"): meaning for meaning in always()}
    met = Counter(word for meaning in kept.values() for word in word_forms(meaning))
    for pattern in patterns():
        order = sorted(range(len(pattern.frames)), key=lambda index: digest(f"{pattern.name} {index}"))
        offered = (_meaning(pattern.name, pattern.frames[index]) for index in order)
        new = (meaning for meaning in offered if meaning.text("en") not in kept)
        choice = min(CHOICE, len(order) // pattern.take)
        for _ in range(pattern.take):
            some = list(islice(new, choice))
            if not some:
                break
            best = max(some, key=lambda meaning: sum(1 / (1 + met[word]) for word in word_forms(meaning)))
            kept[best.text("en")] = best
            met.update(word_forms(best))
    return tuple(kept.values())


def word_forms(meaning: Meaning) -> set[tuple[str, str]]:
    """The different words of a sentence, each with its language."""
    return {(language, word) for language, text in meaning.texts for word in words(text)}


@cache
def always() -> tuple[Meaning, ...]:
    """The sentences that are in training whatever the seed: sayings, the notes' own, the tour."""
    named = [*(("saying", frame) for frame in _SAYINGS), *_NOTED, *_TOURED]
    return tuple(_meaning(name, frame) for name, frame in named)


def phrases_of(chosen: Sequence[Meaning]) -> list[Phrase]:
    """The meanings in every direction, one direction after the other."""
    return [
        Phrase(source, target, meaning.text(source), meaning.text(target), meaning.pattern, meaning.kind)
        for source, target in DIRECTIONS
        for meaning in chosen
    ]


def phrases() -> list[Phrase]:
    """Every phrase in every direction; no source comes twice in a direction, so each has one right answer."""
    return [*phrases_of(meanings()), _JE_SUIS_STUDENT]


def tour() -> list[Phrase]:
    """Sentences for a demonstration: the two banks, and word order that differs, in every direction."""
    texts = {meaning.text("en"): meaning for meaning in always()}
    return phrases_of(tuple(texts[english.sentence(frame)] for _, frame in _TOURED))


def extra() -> list[Phrase]:
    """Phrases of one direction only, always in training."""
    return [_JE_SUIS_STUDENT]


def punctuated(text: str, language: str, kind: str) -> str:
    """The sentence with its language's punctuation: ।, ¿…? and the French space before a question mark."""
    if kind == "question":
        return {"es": f"¿{text}?", "fr": f"{text} ?"}.get(language, f"{text}?")
    return f"{text}{'।' if language == 'hi' else '.'}"


def variants(phrase: Phrase) -> list[tuple[str, str]]:
    """The source with or without capital and final punctuation; the target has its capital, ends alike."""
    pairs = []
    for source in (phrase.source, phrase.source[:1].lower() + phrase.source[1:]):
        pairs.append((source, phrase.target))
        ended = punctuated(source, phrase.source_language, phrase.kind)
        pairs.append((ended, punctuated(phrase.target, phrase.target_language, phrase.kind)))
    return pairs


def words(text: str) -> list[str]:
    """The words of a sentence, as the preparation "words" sets them apart: j'aime is j' and aime."""
    return re.findall(r"[^\s'.?¿।]+'?|[.?¿।]", text)
