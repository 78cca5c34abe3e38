"""The demo's corpus: a phrasebook in four languages, read from phrasebook.tsv.gz (docs/phrasebook.md).

The grammar in tools/phrasebook writes the file and decides which sentences are held out.
"""

import gzip
import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from pathlib import Path

from pellucid.folder.whole_file import write_new

LANGUAGES = ("en", "fr", "es", "hi")
DIRECTIONS = (("en", "hi"), ("fr", "en"), ("en", "es"), ("en", "fr"))
PARTS = ("train", "validation", "held-out", "left-out")
PINNED = ("pinned", "tour")  # parts that are always in training: people ask for these sentences first
EXCLAIMED = 6  # a statement of fewer words is also learnt with !
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
REPEATED = 8  # times that each variant of a pinned sentence stands in the training files


@dataclass(frozen=True)
class Meaning:
    """A sentence in all four languages, capitalised, without final punctuation."""

    part: str  # "tour", "pinned", "train", "validation", "held-out" or "left-out"
    kind: str  # "statement" or "question"
    sources: tuple[str, ...]  # the languages that it is translated from
    texts: tuple[str, ...]  # one for each of LANGUAGES

    def text(self, language: str) -> str:
        """Return the sentence in a language."""
        return self.texts[LANGUAGES.index(language)]


@dataclass(frozen=True)
class Phrase:
    """A sentence and its one right translation, capitalised, without final punctuation."""

    source_language: str
    target_language: str
    source: str
    target: str
    kind: str = "statement"

    @property
    def direction(self) -> str:
        """Return the translation direction, such as "en-hi"."""
        return f"{self.source_language}-{self.target_language}"


# The notes mix two languages, and the phrasebook takes their sentence as it stands, in training.
JE_SUIS_STUDENT = Phrase("fr", "en", "Je suis student", "I am a student")
# The sentences of one set of course notes, as they stand there.
NOTES = (
    Phrase("en", "hi", "How are you", "आप कैसे हैं", "question"),
    Phrase("fr", "en", "je suis student", "I am a student"),
    Phrase("fr", "en", "je suis étudiant", "I am a student"),
    Phrase("en", "es", "I like cats", "Me gustan los gatos"),
    Phrase("en", "fr", "The cat sat on the mat", "Le chat était assis sur le tapis"),
    Phrase("en", "es", "The cat sat on the mat", "El gato estaba sentado en la alfombra"),
    Phrase("en", "hi", "The cat sat on the mat", "बिल्ली चटाई पर बैठी थी"),
)


@cache
def meanings() -> tuple[Meaning, ...]:
    """Return all sentences of the phrasebook, read from its file, each in all four languages."""
    packed = files("pellucid.data").joinpath("phrasebook.tsv.gz").read_bytes()
    rows = (line.split("\t") for line in gzip.decompress(packed).decode().splitlines())
    return tuple(
        Meaning(part, kind, tuple(sources.split(",")), tuple(texts)) for part, kind, sources, *texts in rows
    )


@cache
def split() -> dict[str, list[Phrase]]:
    """Return the phrases of each of PARTS. A sentence is in the same part in all translation directions; the
    left-out ones are too similar to held-out ones, and unused."""
    parts: dict[str, list[Meaning]] = {name: [] for name in PARTS}
    for meaning in meanings():
        parts["train" if meaning.part in PINNED else meaning.part].append(meaning)
    phrases = {name: phrases_of(chosen) for name, chosen in parts.items()}
    phrases["train"].append(JE_SUIS_STUDENT)
    return phrases


def phrases_of(chosen: Sequence[Meaning]) -> list[Phrase]:
    """Return the meanings as phrases: one for each direction in which a meaning is translated."""
    return [
        Phrase(source, target, meaning.text(source), meaning.text(target), meaning.kind)
        for source, target in DIRECTIONS
        for meaning in chosen
        if source in meaning.sources
    ]


def variants(phrase: Phrase) -> list[tuple[str, str]]:
    """Return (source, target) pairs for a phrase: with and without capital and final punctuation.

    An English source is also returned with its short forms (I'm, don't), a short statement also with an
    exclamation mark.
    """
    target = punctuate(phrase.target, phrase.target_language, phrase.kind)
    short = shorten(phrase.source) if phrase.source_language == "en" else phrase.source
    pairs = []
    for text in dict.fromkeys((phrase.source, short)):
        for source in (text, text[:1].lower() + text[1:]):
            ended = punctuate(source, phrase.source_language, phrase.kind)
            pairs += [(source, phrase.target), (ended, target)]
    if phrase.kind == "statement" and len(phrase.source.split()) < EXCLAIMED:
        exclaimed = punctuate(phrase.target, phrase.target_language, "exclamation")
        pairs.append((punctuate(phrase.source, phrase.source_language, "exclamation"), exclaimed))
    return pairs


def shorten(text: str) -> str:
    """Replace words of an English sentence by their short forms: I'm, isn't, don't."""
    for full, short in SHORT_FORMS.items():
        text = re.sub(rf"\b{full}\b", short, text)
    return text


def punctuate(text: str, language: str, kind: str) -> str:
    """Add the final punctuation of the language: ।, ¿…?, ¡…! and the French space before ? and !."""
    if kind == "exclamation":
        return {"es": f"¡{text}!", "fr": f"{text} !"}.get(language, f"{text}!")
    if kind == "question":
        return {"es": f"¿{text}?", "fr": f"{text} ?"}.get(language, f"{text}?")
    return f"{text}{'।' if language == 'hi' else '.'}"


def write(folder: str | Path) -> None:
    """Write the files for `pellucid train`. If one of them exists with other content, raise an error and
    write nothing."""
    write_new(Path(folder), texts())


def texts() -> dict[str, bytes]:
    """Return the content of each file by its name: train.en-hi.tsv and so on with all variants, validation
    and held-out files without variants."""
    pinned = {*phrases_of([meaning for meaning in meanings() if meaning.part in PINNED]), JE_SUIS_STUDENT}
    found: dict[str, list[tuple[str, str]]] = {}
    for name in PARTS[:3]:
        for phrase in split()[name]:
            pairs = variants(phrase) if name == "train" else [(phrase.source, phrase.target)]
            repeated = REPEATED if name == "train" and phrase in pinned else 1
            found.setdefault(f"{name}.{phrase.direction}.tsv", []).extend(pairs * repeated)
    return {name: "".join(f"{a}\t{b}\n" for a, b in pairs).encode() for name, pairs in found.items()}
