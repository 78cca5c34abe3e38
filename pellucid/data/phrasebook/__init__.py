"""The demo's corpus: a phrasebook in four languages, made by a grammar (docs/phrasebook.md)."""

from pellucid.data.phrasebook.parts import Split, split, texts, write
from pellucid.data.phrasebook.sentences import (
    DIRECTIONS,
    NOTES,
    Meaning,
    Phrase,
    meanings,
    phrases,
    tour,
    variants,
    words,
)

__all__ = [
    "DIRECTIONS",
    "NOTES",
    "Meaning",
    "Phrase",
    "Split",
    "meanings",
    "phrases",
    "split",
    "texts",
    "tour",
    "variants",
    "words",
    "write",
]
