"""pellucid translate: translate standard input, or a file into another one, line by line."""

import argparse
import json
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from pellucid.cli.bulk import translate_file, translated
from pellucid.cli.doubts import Doubts
from pellucid.cli.lines import put, standard_input
from pellucid.data.corpus import STANDARD_INPUT
from pellucid.errors import UsageError
from pellucid.search.options import TranslationOptions, check_values

if TYPE_CHECKING:
    from pellucid.translate.translation import Translation
    from pellucid.translator import Translator


def run(arguments: argparse.Namespace) -> None:
    """Read, translate and write lines as they arrive, until the input ends."""
    options = {name: getattr(arguments, name, None) for name in TranslationOptions.__annotations__}
    if arguments.mbr:
        check_values({"n_best": options["n_best"]})  # of what is printed
        samples = 32 if arguments.samples is None else arguments.samples
        if not 1 <= samples <= 1000:
            raise UsageError(f"--samples {samples} must be a whole number from 1 to 1000.")
        options |= {"sample": True, "n_best": samples}
    elif arguments.samples is not None:
        raise UsageError(f"--samples {arguments.samples} is for --mbr. Give that too, or leave it out.")
    check_values(options)  # before torch is imported, which takes a while
    if arguments.source is not None or arguments.out is not None or arguments.resume:
        translate_file(arguments, options, _rows)
        return
    from pellucid.translator import load

    translator = load(arguments.model, arguments.device, arguments.precision)
    translations = translated(translator, standard_input(arguments.bad_utf8), arguments, options)
    doubts = Doubts(translator.vocabulary, STANDARD_INPUT, arguments.to)
    for number, translation in enumerate(translations):
        put(_rows(translator, number, translation, arguments))
        doubts.add(translation)
    doubts.tell()


def _rows(
    translator: "Translator", number: int, translation: "Translation", arguments: argparse.Namespace
) -> Iterable[str]:
    """Return the lines that are written for a line of the input. number: its index."""
    if arguments.json:
        return [_as_json(translator, translation, arguments)]
    if arguments.n_best:
        best = translation.hypotheses[: arguments.n_best]
        return [f"{number} ||| {one.text} ||| {one.score:.4f}" for one in best]
    return [translation.text]


def _as_json(translator: "Translator", translation: "Translation", arguments: argparse.Namespace) -> str:
    """Return a translation as a JSON object. An ensemble has no alignment: no single model looked."""
    from pellucid.folder.manifest import jsonable
    from pellucid.reading.looking import align_translation

    alignment: dict[str, Any] | None = None
    if len(arguments.model) == 1:
        found = align_translation(translator, translation, arguments.to)
        links = [[link.source, link.target] for link in found.links]
        alignment = {"links": links} | {
            name: getattr(found, name) for name in ("source_words", "target_words")
        }
    best = translation.hypotheses[0]
    table = {"text": best.text, "score": best.score, "finished": best.finished}
    table |= {
        "truncated": translation.truncated,
        "unknown": list(translation.unknown),
        "alignment": alignment,
    }
    if arguments.n_best:
        table["hypotheses"] = [
            {name: getattr(one, name) for name in ("text", "score", "finished")}
            for one in translation.hypotheses[: arguments.n_best]
        ]
    return json.dumps(jsonable(table), ensure_ascii=False, allow_nan=False)
