"""Doubts about lines that a model read or wrote: each is told once, with the numbers of its lines."""

import re
from collections import defaultdict
from collections.abc import Sequence
from typing import TYPE_CHECKING

from pellucid.cli.lines import tell

if TYPE_CHECKING:
    from pellucid.text.vocabulary import Vocabulary
    from pellucid.translate.translation import Translation

LISTED = 10  # numbers of lines that a warning lists
AS_TEXT = "{} was read as text, because --to {} counts. Leave one out."
TAG = re.compile(r"\s*>>([^<>\s]+)<<")


class Doubts:
    """A collector of lines whose translation or score may be wrong, with the reasons."""

    def __init__(self, vocabulary: "Vocabulary", name: str, to: str | None) -> None:
        self.vocabulary, self.name, self.to = vocabulary, name, to
        self.lines = 0  # read so far
        self._found = defaultdict[str, list[int]](list)  # a reason, and the numbers of its lines
        self._unknown: dict[int, Sequence[str]] = {}

    def add(self, translation: "Translation") -> None:
        """Look at the translation of the next line, and remember what may be wrong with it."""
        number, unknown, tag = self.lines + 1, translation.unknown, TAG.match(translation.source)
        if tag and self.to not in (None, tag[1]) and tag[1] in self.vocabulary.target_languages:
            written = f">>{tag[1]}<<"
            self._found[AS_TEXT.format(written, self.to)].append(number)
            unknown = [word for word in unknown if word != written]
        for doubt in translation.doubts:
            self._found[doubt.replace("max_length", "--max-length")].append(number)
        self.add_unknown(unknown)

    def add_unknown(self, unknown: Sequence[str]) -> None:
        """Remember the words or characters of the next line that the vocabulary does not have."""
        self.lines += 1
        if unknown:
            self._unknown[self.lines] = unknown

    def tell(self) -> None:
        """Print one warning for each kind of doubt, with the numbers of its lines."""
        from pellucid.reading.words import advice, unknown_characters

        if self._unknown:
            each = list(dict.fromkeys(word for words in self._unknown.values() for word in words))
            message = unknown_characters(each)
            if self.vocabulary.kind == "word":
                near = advice(each[0], self.to, "sentence", self.vocabulary)
                message = f"the model has no word {each[0]!r}. {near}"
            self._found[message] = list(self._unknown)
        for doubt, numbers in self._found.items():
            listed = ", ".join(map(str, numbers[:LISTED]))
            others = f" and {len(numbers) - LISTED:,} more" if len(numbers) > LISTED else ""
            tell(f"pellucid: warning: {self.name}:{listed}{others}: {doubt}")
