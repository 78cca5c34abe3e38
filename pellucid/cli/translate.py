"""pellucid translate: translate standard input line by line."""

import argparse
import json
import sys
import warnings
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from pellucid.cli.doubts import Doubts
from pellucid.cli.lines import STANDARD_INPUT, put, standard_input, tell
from pellucid.translate.options import TranslationOptions, check_values

if TYPE_CHECKING:
    from pellucid.translate.translation import Translation
    from pellucid.translator import Translator


def run(arguments: argparse.Namespace) -> None:
    """Read, translate and write lines as they arrive, until the input ends."""
    options = {name: getattr(arguments, name, None) for name in TranslationOptions.__annotations__}
    check_values(options)  # before torch is imported, which takes a while
    from pellucid.translate.sentences import TruncationWarning
    from pellucid.translator import load

    translator = load(arguments.model, arguments.device, arguments.precision)
    translator.translate([], arguments.to, **options)  # checks the options before any line is read
    if sys.stdin is not None and sys.stdin.isatty():
        tell("Type a sentence and Enter; Ctrl-D (on Windows Ctrl-Z and Enter) ends.")
    doubts = Doubts(translator.vocabulary, STANDARD_INPUT, arguments.to)
    warnings.simplefilter("ignore", TruncationWarning)  # it would number the lines that arrived together
    for lines in standard_input(arguments.bad_utf8):
        translations = translator.translate(lines, arguments.to, **options)
        if arguments.json:
            put(_as_json(translator, translations, arguments))
        elif arguments.n_best:
            put(_n_best(translations, doubts.lines))
        else:
            put(each.text for each in translations)
        doubts.add(translations)
    doubts.tell()


def _n_best(translations: "Sequence[Translation]", first: int) -> Iterator[str]:
    for index, translation in enumerate(translations, first):
        for hypothesis in translation.hypotheses:
            yield f"{index} ||| {hypothesis.text} ||| {hypothesis.score:.4f}"


def _as_json(
    translator: "Translator", translations: "Sequence[Translation]", arguments: argparse.Namespace
) -> Iterator[str]:
    """Yield a JSON object for each translation. An ensemble has no alignment: no single model looked."""
    from pellucid.folder.manifest import jsonable
    from pellucid.reading.looking import align_translations

    alignments: list[Any] = [None] * len(translations)
    if len(arguments.model) == 1:
        found = align_translations(translator.model, translator.vocabulary, translations, arguments.to)
        shown = ("source_words", "target_words")
        for place, one in enumerate(found):
            links = [[link.source, link.target] for link in one.links]
            alignments[place] = {"links": links} | {name: getattr(one, name) for name in shown}
    for each, alignment in zip(translations, alignments, strict=True):
        table = {"text": each.text, "score": each.score, "finished": each.hypotheses[0].finished}
        table |= {"truncated": each.truncated, "unknown": list(each.unknown), "alignment": alignment}
        if arguments.n_best:
            table["hypotheses"] = [
                {name: getattr(one, name) for name in ("text", "score", "finished")}
                for one in each.hypotheses
            ]
        yield json.dumps(jsonable(table), ensure_ascii=False, allow_nan=False)
