"""The phrasebook's sentences, each in four languages, and the variants in which people type them."""

import hashlib
import math
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cache
from itertools import islice

from pellucid.data.phrasebook import DIRECTIONS, JE_SUIS_STUDENT, Phrase
from tools.phrasebook import english, french, hindi, spanish
from tools.phrasebook.forms import Noun
from tools.phrasebook.frames import (
    PRONOUNS,
    Act,
    Be,
    Filled,
    Frame,
    Like,
    Place,
    Profession,
    Quality,
    Sat,
    There,
    Thing,
    is_question,
)
from tools.phrasebook.lexicon import ADJECTIVES, ENGLISH_ONLY, PROFESSIONS
from tools.phrasebook.nouns import MONEY_BANK, NOUNS, RIVER_BANK
from tools.phrasebook.patterns import patterns
from tools.phrasebook.sayings import SAYINGS
from tools.phrasebook.verbs import VERBS

CHOICE = 32
_SENTENCE = {"en": english.sentence, "fr": french.sentence, "es": spanish.sentence, "hi": hindi.sentence}


@dataclass(frozen=True)
class Meaning:
    """One sentence in every language, capitalised and without its final punctuation."""

    pattern: str
    kind: str  # "statement" or "question"
    texts: tuple[tuple[str, str], ...]  # (language, sentence)
    sources: tuple[str, ...] = ("en", "fr")  # the languages that it is translated from

    def text(self, language: str) -> str:
        """The sentence in a language."""
        return dict(self.texts)[language]


def _bring(name: str, bank: Noun) -> Act:
    """She brings something from one of the banks."""
    return Act(PRONOUNS["she"], VERBS["bring"], Thing(NOUNS[name], "some"), Place("from", Thing(bank)))


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


def digest(text: str) -> bytes:
    """A number that shuffles texts the same way on every machine and in every version of Python."""
    return hashlib.sha256(text.encode()).digest()


def _meaning(pattern: str, frame: Frame) -> Meaning:
    kind = "question" if is_question(frame) else "statement"
    texts = tuple((language, say(frame)) for language, say in _SENTENCE.items())
    sources = getattr(frame, "sources", ("en", "fr"))
    if not isinstance(frame, Filled) and ENGLISH_ONLY & set(texts[0][1].split()):
        sources = ("en",)
    return Meaning(pattern, kind, texts, sources)


@cache
def meanings() -> tuple[Meaning, ...]:
    """Every sentence of the phrasebook, those that are always in training first, in a fixed order.

    Of every CHOICE sentences that a pattern offers, the one with the rarest words is taken.
    """
    kept = {_key(meaning): meaning for meaning in always()}
    french = {meaning.text("fr") for meaning in kept.values() if "fr" in meaning.sources}
    met = Counter(word for meaning in kept.values() for word in word_forms(meaning))
    for pattern in patterns():
        order = sorted(range(len(pattern.frames)), key=lambda index: digest(f"{pattern.name} {index}"))
        offered = (_meaning(pattern.name, pattern.frames[index]) for index in order)
        new = (meaning for meaning in offered if _key(meaning) not in kept)
        choice = max(1, min(CHOICE, len(order) // pattern.take))
        for _ in range(pattern.take):
            some = list(islice(new, choice))
            if not some:
                break
            best = max(some, key=lambda meaning: _rarity(meaning, met))
            if (
                best.text("fr") in french
            ):  # two English sentences are one in French: the first is its translation
                best = replace(best, sources=("en",))
            kept[_key(best)] = best
            french.add(best.text("fr"))
            met.update(word_forms(best))
    return tuple(kept.values())


def _rarity(meaning: Meaning, met: Counter[tuple[str, str]]) -> float:
    """How rare its words are so far; an exact sum, the same in whatever order a set gives them."""
    return math.fsum(1 / (1 + met[word]) ** 2 for word in word_forms(meaning))


def _key(meaning: Meaning) -> str:
    return meaning.text("en" if "en" in meaning.sources else "fr")


def word_forms(meaning: Meaning) -> set[tuple[str, str]]:
    """The different words of a sentence, each with its language."""
    return {(language, word) for language, text in meaning.texts for word in words(text)}


@cache
def always() -> tuple[Meaning, ...]:
    """The sentences that are in training whatever the seed: sayings, the notes' own, the tour."""
    named = [*(("saying", frame) for frame in SAYINGS), *_NOTED]
    return (*(_meaning(name, frame) for name, frame in named), *toured())


@cache
def toured() -> tuple[Meaning, ...]:
    """Sentences for a demonstration: the two banks, and word order that differs."""
    return tuple(_meaning(name, frame) for name, frame in _TOURED)


def phrases_of(chosen: Sequence[Meaning]) -> list[Phrase]:
    """The meanings in every direction, one direction after the other."""
    return [
        Phrase(source, target, meaning.text(source), meaning.text(target), meaning.kind)
        for source, target in DIRECTIONS
        for meaning in chosen
        if source in meaning.sources
    ]


def phrases() -> list[Phrase]:
    """Every phrase in every direction; no source comes twice in a direction, so each has one right answer."""
    return [*phrases_of(meanings()), JE_SUIS_STUDENT]


def words(text: str) -> list[str]:
    """The words of a sentence, as the preparation "words" sets them apart: j'aime is j' and aime."""
    return re.findall(r"[^\s'.,!¡?¿।]+'?|[.,!¡?¿।]", text)
