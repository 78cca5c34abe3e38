"""pellucid evaluate: how good a model's translations are."""

import argparse
import dataclasses
import json
import sys

from pellucid.cli.doubts import Doubts
from pellucid.cli.lines import put, sides, tell
from pellucid.translate.evaluate import evaluate, note_on_short, worst_sentences


def run(arguments: argparse.Namespace) -> None:
    """Translate the sources (or take the translations in --hypothesis), and print three lines: BLEU, chrF,
    exact. With --json, add a line of JSON."""
    compared = "source" if arguments.hypothesis is None else "hypothesis"
    texts, *references = sides(arguments, compared, "reference")
    how = dict(lowercase=arguments.lowercase, tokenize=arguments.tokenize)
    evaluate(["a"], ["a"], **how)  # checks these options before the work
    sources = texts
    if arguments.hypothesis is None:
        texts = _translate(arguments, sources)
    scores = evaluate(texts, references, **how)
    put(str(scores).split("\n"))
    if note := note_on_short(references[0], arguments.tokenize):
        tell(note)
    if arguments.worst:
        _put_worst(arguments, sources, texts, references)
    if arguments.json:
        put([json.dumps(dataclasses.asdict(scores))])


def _put_worst(
    arguments: argparse.Namespace, sources: list[str], texts: list[str], references: list[list[str]]
) -> None:
    """Print the sentences with the lowest chrF: line, chrF, source if known, translation, references."""
    from pellucid.show.probe_text import sentence_table
    from pellucid.show.tables import text_lines

    several = len(references) > 1
    shown = {"source": sources} if arguments.hypothesis is None else {}
    shown |= {"translation": texts}
    shown |= {f"reference {n}" if several else "reference": each for n, each in enumerate(references, 1)}
    for place, chrf in worst_sentences(texts, references, arguments.worst, arguments.lowercase):
        row = {name: lines[place] for name, lines in shown.items()}
        put(text_lines([sentence_table(f"line {place + 1:,}: chrF {chrf:.1f}", **row)], 1000))


def _translate(arguments: argparse.Namespace, sources: list[str]) -> list[str]:
    """Return the translations of the sources. Warn about sources that were cut or have unknown words, and
    about unfinished translations."""
    from rich.console import Console
    from rich.progress import track

    from pellucid.text.preparation import stays_tokenised
    from pellucid.translator import load

    translator = load(arguments.model, arguments.device, "fp32")
    if stays_tokenised(translator.vocabulary.preparation) and arguments.tokenize != "none":
        tell("note: this model writes tokenised text: give it a tokenised reference, and --tokenize none.")
    options = {each: getattr(arguments, each) for each in ("beam", "length_penalty", "max_length")}
    doubts = Doubts(translator.vocabulary, arguments.data or arguments.source, arguments.to)
    translations = translator.translate_each(sources, arguments.to, **options)
    texts, quiet = list[str](), not sys.stderr.isatty()
    for each in track(
        translations,
        "translating",
        len(sources),
        console=Console(stderr=True),
        transient=True,
        disable=quiet,
    ):
        texts.append(each.text)
        doubts.add(each)
    doubts.tell()
    return texts
