"""pellucid translate: translate standard input line by line."""

import argparse
import sys
import warnings
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from pellucid.cli.lines import STANDARD_INPUT, put, standard_input, tell
from pellucid.translate.options import TranslationOptions, check_values

if TYPE_CHECKING:
    from pellucid.translate.translation import Translation
    from pellucid.translator import Translator


def run(arguments: argparse.Namespace) -> None:
    """Read, translate and write lines as they arrive, until the input ends."""
    options = {name: getattr(arguments, name) for name in TranslationOptions.__annotations__}
    check_values(options)  # before torch is imported, which takes a while
    from pellucid.translate.sentences import TruncationWarning
    from pellucid.translator import load

    translator = load(arguments.model, arguments.device, arguments.precision)
    translator.translate([], arguments.to, **options)  # checks the options before any line is read
    if sys.stdin is not None and sys.stdin.isatty():
        tell("Type a sentence and Enter; Ctrl-D (on Windows Ctrl-Z and Enter) ends.")
    doubts = Doubts(translator, STANDARD_INPUT, arguments.to)
    warnings.simplefilter("ignore", TruncationWarning)  # it would number the lines that arrived together
    for lines in standard_input(arguments.bad_utf8):
        translations = translator.translate(lines, arguments.to, **options)
        put(_n_best(translations, doubts.lines) if arguments.n_best else (each.text for each in translations))
        doubts.add(lines, translations)
    doubts.tell()


def _n_best(translations: "Sequence[Translation]", first: int) -> Iterator[str]:
    for index, translation in enumerate(translations, first):
        for hypothesis in translation.hypotheses:
            yield f"{index} ||| {hypothesis.text} ||| {hypothesis.score:.4f}"


class Doubts:
    """A collector of input lines whose translation may be wrong: the line was cut or has an unknown word, or
    the translation is unfinished."""

    def __init__(self, translator: "Translator", name: str, to: str | None) -> None:
        self.translator, self.name, self.to = translator, name, to
        self.lines = 0  # read so far
        self._found: dict[str, list[int]] = {}  # an advice, and the numbers of its lines
        self._unknown: dict[int, str] = {}

    def add(self, lines: Sequence[str], translations: "Sequence[Translation]") -> None:
        """Check the next lines and their translations, and remember what may be wrong with them."""
        from pellucid.reading.words import unknown_words
        from pellucid.translate.sentences import TOKENS, read_source

        vocabulary = self.translator.vocabulary
        for number, (line, translation) in enumerate(zip(lines, translations, strict=True), self.lines + 1):
            if translation.truncated:
                advice = "too long, only its beginning was translated. Split it into sentences."
                self._found.setdefault(advice, []).append(number)
            if not translation.hypotheses[0].finished:
                advice = (
                    "the translation reached its limit of tokens and is not finished. Split the line into "
                    "sentences, or raise the limit with --max-length."
                )
                self._found.setdefault(advice, []).append(number)
            if vocabulary.kind == "word":
                source = read_source(line, self.to, vocabulary, TOKENS)
                if words := unknown_words(source, "sentence", vocabulary):
                    self._unknown[number] = words[0]
        self.lines += len(lines)

    def tell(self) -> None:
        """Print one warning for each kind of doubt, with the number of the first line that has it."""
        from pellucid.reading.words import advice

        if self._unknown:
            word = next(iter(self._unknown.values()))
            near = advice(word, self.to, "sentence", self.translator.vocabulary)
            self._found[f"the model has no word {word!r}. {near}"] = list(self._unknown)
        for doubt, numbers in self._found.items():
            others = f" and {len(numbers) - 1:,} more" if len(numbers) > 1 else ""
            tell(f"pellucid: warning: {self.name}:{numbers[0]}{others}: {doubt}")
