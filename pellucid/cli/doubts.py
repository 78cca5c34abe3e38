"""Doubts about lines that a model read or wrote: each is told once, with the numbers of its lines."""

import re
from collections import Counter, defaultdict
from collections.abc import Sequence
from typing import TYPE_CHECKING

from pellucid.cli.lines import tell

if TYPE_CHECKING:
    from pellucid.text.vocabulary import Vocabulary
    from pellucid.translate.translation import Translation

LISTED = 10  # numbers of lines that a warning lists
WORDS = 1000  # unknown words of which a warning counts the different ones
AS_TEXT = "{} was read as text, because --to {} counts. Leave one out."
TAG = re.compile(r"\s*>>([^<>\s]+)<<")


class Doubts:
    """A collector of lines whose translation or score may be wrong, with the reasons. However many there
    are, they take no more memory."""

    def __init__(
        self, vocabulary: "Vocabulary", name: str, to: str | None, lines: int = 0, hints: bool = True
    ) -> None:
        self.vocabulary, self.name, self.to = vocabulary, name, to
        self.lines = lines  # read so far
        self.hints = hints  # words near an unknown one, in the language of the source
        self._found = defaultdict[str, list[int]](list)  # a reason, and the numbers of its first lines
        self._counts = Counter[str]()
        self._unknown: dict[str, None] = {}  # the first words

    def add(self, translation: "Translation") -> None:
        """Look at the translation of the next line, and remember what may be wrong with it."""
        number, unknown, tag = self.lines + 1, translation.unknown, TAG.match(translation.source)
        if tag and self.to not in (None, tag[1]) and tag[1] in self.vocabulary.target_languages:
            written = f">>{tag[1]}<<"
            self._note(AS_TEXT.format(written, self.to), number)
            unknown = [word for word in unknown if word != written]
        for doubt in translation.doubts:
            reason = re.sub(r"^\d+ sentences in, \d+ out", "fewer sentences out than in", doubt)
            self._note(reason.replace("max_length", "--max-length"), number)
        self.add_unknown(unknown)

    def add_unknown(self, unknown: Sequence[str]) -> None:
        """Remember the words or characters of the next line that the vocabulary does not have."""
        self.lines += 1
        if unknown:
            self._note("", self.lines)
            self._unknown |= dict.fromkeys(unknown[: WORDS - len(self._unknown)])

    def _note(self, reason: str, number: int) -> None:
        self._counts[reason] += 1
        if self._counts[reason] <= LISTED:
            self._found[reason].append(number)

    def tell(self) -> None:
        """Print one warning for each kind of doubt, with the numbers of its lines."""
        from pellucid.reading.words import advice, unknown_characters

        unknown, message = [*self._unknown], ""
        if unknown:
            message = unknown_characters(unknown)
            if self.vocabulary.kind == "word":
                near = advice(unknown[0], self.to, "sentence", self.vocabulary) if self.hints else ""
                message = f"the model has no word {unknown[0]!r}. {near}".rstrip()
        for doubt, numbers in sorted(self._found.items(), key=lambda each: not each[0]):  # unknown words last
            listed, more = ", ".join(map(str, numbers)), self._counts[doubt] - len(numbers)
            others = f" and {more:,} more" if more else ""
            tell(f"pellucid: warning: {self.name}:{listed}{others}: {doubt or message}")
