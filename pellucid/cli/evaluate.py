"""pellucid evaluate: how good a model's translations are."""

import argparse
import dataclasses
import json
import sys
from collections.abc import Iterator

from pellucid.cli.arguments import Verbs, add_bad_utf8, add_data, add_models, add_to, verb

EXAMPLES = """
pellucid evaluate runs/es --source test.en --reference test.es
pellucid evaluate runs/es --data test.tsv --beam 8 --length-penalty 0.8
pellucid evaluate runs/m30k --source test.en --reference test.lc.norm.tok.de --tokenize none
pellucid evaluate --hypothesis said.es --reference test.es --reference other.es
"""
NOTES = """
The reference is compared as it is. A model whose [data] preparation is "moses" or "moses-lowercase" says
tokenised text: give it a reference that is tokenised the same way, and --tokenize none.
"""
TOGETHER = 500  # lines between two movements of the progress bar
OF_A_MODEL = ("data", "source", "to", "beam", "length_penalty", "max_length")


def add(verbs: Verbs) -> None:
    """The verb and its arguments."""
    about = "translate a file and compare it with a reference: BLEU, chrF, and how many are exactly right"
    parser = verb(verbs, "evaluate", about, run, EXAMPLES, NOTES)
    add_models(parser, optional=True)
    option = parser.add_argument
    add_data(parser)
    option("--source", metavar="FILE", help="what to translate, a sentence a line; .gz too")
    option(
        "--reference",
        metavar="FILE",
        action="append",
        help="its translation by people, line by line; give the option again for a second one",
    )
    option("--hypothesis", metavar="FILE", help="translations to compare, instead of MODEL and --source")
    option("--lowercase", action="store_true", help="compare without regard to capitals")
    option(
        "--tokenize", metavar="NAME", default="13a", help="sacreBLEU's: 13a (default), none, intl, char, zh"
    )
    add_to(parser)
    option("--beam", metavar="N", type=int, help="hypotheses that are followed at once; 1 is greedy")
    option("--length-penalty", metavar="X", type=float, help="scores are divided by length^X")
    option("--max-length", metavar="N", type=int, help="tokens at most, the end token counted")
    option("--json", action="store_true", help="add a last line with all figures as a JSON object")
    add_bad_utf8(parser)


def run(arguments: argparse.Namespace) -> None:
    """Three lines: BLEU, chrF, exact."""
    from pellucid.cli.lines import put, sides, tell
    from pellucid.translate.evaluate import evaluate, note_on_short

    _check(arguments)
    compared = "source" if arguments.hypothesis is None else "hypothesis"
    texts, *references = sides(arguments, compared, "reference")
    how = dict(lowercase=arguments.lowercase, tokenize=arguments.tokenize)
    evaluate(["a"], ["a"], **how)  # what is wrong with these shows before the work
    if arguments.hypothesis is None:
        texts = _translations(arguments, texts)
    scores = evaluate(texts, references, **how)
    put(str(scores).split("\n"))
    if note := note_on_short(references[0], arguments.tokenize):
        tell(note)
    if arguments.json:
        put([json.dumps(dataclasses.asdict(scores))])


def _check(arguments: argparse.Namespace) -> None:
    """Refuse a call with neither a model nor a file of translations, or with both."""
    from pellucid.errors import UsageError

    if arguments.hypothesis is None:
        if not arguments.model:
            raise UsageError(
                "nothing to evaluate. Name a MODEL, or give a file of translations, --hypothesis."
            )
        return
    given = [f"--{name.replace('_', '-')}" for name in OF_A_MODEL if getattr(arguments, name) is not None]
    if unused := ["MODEL"] * bool(arguments.model) + given:
        raise UsageError(
            f"--hypothesis {arguments.hypothesis} holds the translations, so nothing is translated. "
            f"Leave {' and '.join(unused)} out, or --hypothesis."
        )


def _translations(arguments: argparse.Namespace, sources: list[str]) -> list[str]:
    """What the model says to each source, with warnings for what nobody would expect."""
    from pellucid.cli.lines import tell
    from pellucid.cli.translate import tell_unfinished, tell_unknown, translated, unfinished, unknown_words
    from pellucid.text.preparation import stays_tokenised
    from pellucid.translator import load

    translator, name = load(arguments.model, arguments.device, "fp32"), arguments.data or arguments.source
    if stays_tokenised(translator.vocabulary.preparation) and arguments.tokenize != "none":
        tell("note: this model says tokenised text: give it a tokenised reference, and --tokenize none.")
    options = {each: getattr(arguments, each) for each in ("beam", "length_penalty", "max_length")}
    texts, cut_off, unknown = list[str](), list[int](), dict[int, str]()
    for start in _with_progress(range(0, len(sources), TOGETHER)):
        some = sources[start : start + TOGETHER]
        found = translated(translator, some, arguments.to, options, name, start)
        texts += [translation.text for translation in found]
        cut_off += unfinished(found, start)
        unknown |= unknown_words(translator, some, arguments.to, start)
    tell_unfinished(cut_off, name)
    tell_unknown(unknown, name, translator)
    return texts


def _with_progress(starts: range) -> Iterator[int]:
    if not sys.stderr.isatty():
        yield from starts
        return
    from rich.console import Console
    from rich.progress import track

    yield from track(starts, "translating", console=Console(stderr=True), transient=True)
