"""pellucid evaluate: how good a model's translations are."""

import argparse
import dataclasses
import json
import sys
from collections.abc import Iterator

from pellucid.cli.arguments import Verbs, add_bad_utf8, add_model, add_to, verb

EXAMPLES = """
pellucid evaluate runs/es --source test.en --reference test.es
pellucid evaluate runs/m30k --source test.en --reference test.lc.norm.tok.de --tokenize none
"""
NOTES = """
The reference is compared as it is. A model whose [data] preparation is "moses" or "moses-lowercase" says
tokenised text: give it a reference that is tokenised the same way, and --tokenize none.
"""
TOGETHER = 500  # lines between two movements of the progress bar


def add(verbs: Verbs) -> None:
    """The verb and its arguments."""
    about = "translate a file and compare it with a reference: BLEU, chrF, and how many are exactly right"
    parser = verb(verbs, "evaluate", about, run, EXAMPLES, NOTES)
    add_model(parser)
    option = parser.add_argument
    option("--source", metavar="FILE", required=True, help="what to translate, a sentence a line; .gz too")
    option("--reference", metavar="FILE", required=True, help="its translation by people, line by line")
    option("--lowercase", action="store_true", help="compare without regard to capitals")
    option(
        "--tokenize", metavar="NAME", default="13a", help="sacreBLEU's: 13a (default), none, intl, char, zh"
    )
    add_to(parser)
    option("--beam", metavar="N", type=int, help="hypotheses that are followed at once; 1 is greedy")
    option("--json", action="store_true", help="add a last line with all figures as a JSON object")
    add_bad_utf8(parser)


def run(arguments: argparse.Namespace) -> None:
    """Three lines: BLEU, chrF, exact."""
    from pellucid.cli.lines import check_same_count, file_lines, put, tell
    from pellucid.cli.translate import tell_unfinished, translated, unfinished
    from pellucid.preparation import stays_tokenised
    from pellucid.translate.evaluate import evaluate, note_on_short
    from pellucid.translate.translator import load

    sources = file_lines(arguments.source, arguments.bad_utf8)
    references = file_lines(arguments.reference, arguments.bad_utf8)
    check_same_count(arguments.source, arguments.reference, (len(sources), len(references)))
    how = dict(lowercase=arguments.lowercase, tokenize=arguments.tokenize)
    evaluate(["a"], ["a"], **how)  # what is wrong with these shows before the work
    translator = load(arguments.model, arguments.device, precision="fp32")
    if stays_tokenised(translator.vocabulary.preparation) and arguments.tokenize != "none":
        tell("note: this model says tokenised text: give it a tokenised reference, and --tokenize none.")
    texts, cut_off = list[str](), list[int]()
    for start in _with_progress(range(0, len(sources), TOGETHER)):
        some, options = sources[start : start + TOGETHER], {"beam": arguments.beam}
        found = translated(translator, some, arguments.to, options, arguments.source, start)
        texts += [translation.text for translation in found]
        cut_off += unfinished(found, start)
    tell_unfinished(cut_off, arguments.source)
    scores = evaluate(texts, references, **how)
    put(str(scores).split("\n"))
    if note := note_on_short(references, arguments.tokenize):
        tell(note)
    if arguments.json:
        put([json.dumps({**dataclasses.asdict(scores), "sentences": len(texts)})])


def _with_progress(starts: range) -> Iterator[int]:
    if not sys.stderr.isatty():
        yield from starts
        return
    from rich.console import Console
    from rich.progress import track

    yield from track(starts, "translating", console=Console(stderr=True), transient=True)
