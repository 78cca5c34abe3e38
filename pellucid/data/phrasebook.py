"""The demo's corpus: a phrasebook in four languages, read from phrasebook.tsv.gz (docs/phrasebook.md).

The grammar in tools/phrasebook writes the file and decides which sentences are held out.
"""

import gzip
from dataclasses import dataclass, field
from functools import cache
from importlib.resources import files
from pathlib import Path

from pellucid.folder.whole_file import write_new

LANGUAGES = ("en", "fr", "es", "hi")
DIRECTIONS = (("en", "hi"), ("fr", "en"), ("en", "es"), ("en", "fr"))
PARTS = ("train", "validation", "held-out", "left-out")
PINNED = ("pinned", "tour")  # what the file calls the parts whose sentences are always in training
EXCLAIMED = 6  # a statement of fewer words is also learnt with !
REPEATED = 8  # times that each variant of a pinned sentence stands in the training files


@dataclass(frozen=True)
class Phrase:
    """A sentence and its one right translation, capitalised, without final punctuation."""

    source_language: str
    target_language: str
    source: str
    target: str
    kind: str = "statement"  # or "question"
    short: str = field(default="", compare=False)  # an English source with short forms (I'm, don't), if any
    pinned: bool = field(default=False, compare=False)  # always in training: people ask for it first

    @property
    def direction(self) -> str:
        """Return the translation direction, such as "en-hi"."""
        return f"{self.source_language}-{self.target_language}"


# The notes mix two languages, and the phrasebook takes their sentence as it stands, in training.
JE_SUIS_STUDENT = Phrase("fr", "en", "Je suis student", "I am a student", pinned=True)
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
def split() -> dict[str, list[Phrase]]:
    """Return the phrases of each of PARTS, one translation direction after the other. A sentence is in the
    same part in all of them; the left-out ones are too similar to held-out ones, and unused."""
    packed = files("pellucid.data").joinpath("phrasebook.tsv.gz").read_bytes()
    rows = [line.split("\t") for line in gzip.decompress(packed).decode().splitlines()]
    phrases: dict[str, list[Phrase]] = {name: [] for name in PARTS}
    for source, target in DIRECTIONS:
        for part, kind, sources, short, *texts in rows:
            if source in sources.split(","):  # the languages that the sentence is translated from
                text, right = (texts[LANGUAGES.index(language)] for language in (source, target))
                short_form = short if source == "en" else ""
                phrase = Phrase(source, target, text, right, kind, short_form, part in PINNED)
                phrases["train" if phrase.pinned else part].append(phrase)
    phrases["train"].append(JE_SUIS_STUDENT)
    return phrases


def variants(phrase: Phrase) -> list[tuple[str, str]]:
    """Return (source, target) pairs for a phrase: with and without capital and final punctuation.

    An English source is also returned with its short forms, a short statement also with an exclamation mark.
    """
    target = punctuate(phrase.target, phrase.target_language, phrase.kind)
    pairs = []
    for text in filter(None, (phrase.source, phrase.short)):
        for source in (text, text[:1].lower() + text[1:]):
            ended = punctuate(source, phrase.source_language, phrase.kind)
            pairs += [(source, phrase.target), (ended, target)]
    if phrase.kind == "statement" and len(phrase.source.split()) < EXCLAIMED:
        exclaimed = punctuate(phrase.target, phrase.target_language, "exclamation")
        pairs.append((punctuate(phrase.source, phrase.source_language, "exclamation"), exclaimed))
    return pairs


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
    found: dict[str, list[tuple[str, str]]] = {}
    for name in PARTS[:3]:
        for phrase in split()[name]:
            pairs = variants(phrase) if name == "train" else [(phrase.source, phrase.target)]
            repeated = REPEATED if phrase.pinned else 1
            found.setdefault(f"{name}.{phrase.direction}.tsv", []).extend(pairs * repeated)
    return {name: "".join(f"{a}\t{b}\n" for a, b in pairs).encode() for name, pairs in found.items()}
