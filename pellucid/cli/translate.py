"""pellucid translate: one line out for every line in."""

import argparse
import sys
import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from pellucid.cli.arguments import Verbs, add_bad_utf8, add_models, add_to, text, verb

if TYPE_CHECKING:
    from pellucid.translate.translation import Translation
    from pellucid.translator import Translator

EXAMPLES = """
echo "How are you" | pellucid translate demo --to hi
pellucid translate runs/m30k --beam 5 < test.en > test.de
pellucid translate runs/m30k --n-best 3 < test.en
pellucid translate runs/m30k --sample --top-p 0.9 --seed 7 < test.en
"""
NOTES = """
One line out for every line in, in UTF-8 and in order; an empty line stays empty. With --n-best each
hypothesis is a line, `index ||| text ||| score`, the index counting the lines in from 0. Lines are
translated as they arrive, so it can stand in a pipe.
"""


def add(verbs: Verbs) -> None:
    """The verb and its arguments."""
    about = "translate standard input, a sentence a line, to standard output"
    parser = verb(verbs, "translate", about, run, EXAMPLES, NOTES)
    add_models(parser)
    option = parser.add_argument
    add_to(parser)
    option("--beam", metavar="N", type=int, help="hypotheses that are followed at once; 1 is greedy")
    option("--n-best", metavar="N", type=int, help="give the N best translations of each line")
    option("--length-penalty", metavar="X", type=float, help="scores are divided by length^X")
    option("--min-length", metavar="N", type=int, help="tokens at least, the end token not counted")
    option("--max-length", metavar="N", type=int, help="tokens at most, the end token counted")
    option("--prefix", metavar="TEXT", type=text, help="what every translation must begin with")
    option("--sample", action="store_true", default=None, help="draw translations at random")
    option("--temperature", metavar="X", type=float, help="with --sample: below 1 tamer, above 1 wilder")
    option("--top-k", metavar="N", type=int, help="with --sample: from the N likeliest tokens only")
    option("--top-p", metavar="X", type=float, help="with --sample: from the likeliest tokens that make up X")
    option("--seed", metavar="N", type=int, help="with --sample: another one draws other translations")
    option("--batch-tokens", metavar="N", type=int, help="source tokens that are decoded together")
    option("--precision", default="auto", help="auto, fp32, bf16 or int8")
    add_bad_utf8(parser)


def run(arguments: argparse.Namespace) -> None:
    """Reads, translates and writes what has arrived, again and again."""
    from pellucid.cli.lines import STANDARD_INPUT, put, standard_input, tell
    from pellucid.translate.options import TranslationOptions
    from pellucid.translate.sample import Seeds
    from pellucid.translator import load

    translator = load(arguments.model, arguments.device, arguments.precision)
    options = {name: getattr(arguments, name) for name in TranslationOptions.__annotations__}
    options["seed"] = Seeds(arguments.seed or 0)  # of all lines, however they arrive
    translator.translate([], arguments.to, **options)  # what is wrong with the options shows before any line
    if sys.stdin is not None and sys.stdin.isatty():
        tell("Type a sentence and Enter; Ctrl-D (on Windows Ctrl-Z and Enter) ends.")
    done, cut_off, unknown = 0, list[int](), dict[int, str]()
    for sentences in standard_input(arguments.bad_utf8, translator._characters):
        translations = translated(translator, sentences, arguments.to, options, STANDARD_INPUT, done)
        put(_n_best(translations, done) if arguments.n_best else (each.text for each in translations))
        cut_off += unfinished(translations, done)
        unknown |= unknown_words(translator, sentences, arguments.to, done)
        done += len(sentences)
    tell_unfinished(cut_off, STANDARD_INPUT)
    tell_unknown(unknown, STANDARD_INPUT, translator)


def translated(
    translator: "Translator",
    sentences: list[str],
    to: str | None,
    options: Mapping[str, Any],
    name: str,
    before: int,
) -> "list[Translation]":
    """The translations of some lines of `name`, with a warning for each that was cut, by its number there."""
    from pellucid.translate.sentences import TruncationWarning

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", TruncationWarning)  # it would count from these lines' first
        translations = translator.translate(sentences, to, **options)
    for number, translation in enumerate(translations, before + 1):
        if translation.truncated:
            advice = "too long, only its beginning was translated. Split it into sentences."
            warnings.warn(f"{name}:{number}: {advice}", TruncationWarning, stacklevel=2)
    return translations


def unfinished(translations: "Iterable[Translation]", before: int) -> list[int]:
    """The numbers of the lines whose translation reached its limit before its end token."""
    each = enumerate(translations, before + 1)
    return [number for number, translation in each if not translation.hypotheses[0].finished]


def tell_unfinished(numbers: Sequence[int], name: str) -> None:
    """One warning for all of them."""
    from pellucid.cli.lines import tell

    if numbers:
        which = f"{name}:{numbers[0]}"
        others = f" and {len(numbers) - 1:,} more" if len(numbers) > 1 else ""
        tell(
            f"pellucid: warning: {which}{others}: the translation reached its limit of tokens and is not "
            "finished. Split the line into sentences, or raise the limit with --max-length."
        )


def unknown_words(
    translator: "Translator", sentences: Sequence[str], to: str | None, before: int
) -> dict[int, str]:
    """Where each word is one token: the numbers of the lines with a word that the model does not have, and
    the first such word of each."""
    from pellucid.reading.words import unknown_word
    from pellucid.translate.sentences import TOKENS, read_source

    vocabulary, found = translator.vocabulary, {}
    for number, line in enumerate(sentences if vocabulary.kind == "word" else (), before + 1):
        sentence = read_source(line, to, vocabulary, TOKENS)
        if word := unknown_word(sentence.untagged, sentence.ids, sentence.to, vocabulary):
            found[number] = word
    return found


def tell_unknown(words: Mapping[int, str], name: str, translator: "Translator") -> None:
    """One warning for all of them."""
    from pellucid.cli.lines import tell
    from pellucid.reading.words import advice

    if words:
        number, word = next(iter(words.items()))
        others = f" and {len(words) - 1:,} more" if len(words) > 1 else ""
        near = advice(word, translator.vocabulary)
        tell(f"pellucid: warning: {name}:{number}{others}: the model has no word {word!r}. {near}")


def _n_best(translations: "Iterable[Translation]", before: int) -> Iterator[str]:
    for index, translation in enumerate(translations, before):
        for hypothesis in translation.hypotheses:
            yield f"{index} ||| {hypothesis.text} ||| {hypothesis.score:.4f}"
