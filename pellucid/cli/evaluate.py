"""pellucid evaluate: how good a model's translations are."""

import argparse
import json
import warnings
from dataclasses import asdict, astuple
from pathlib import Path
from typing import Any

from pellucid.cli.doubts import Doubts
from pellucid.cli.lines import all_lines, put, sides, tell, tracked
from pellucid.errors import PellucidError, UsageError
from pellucid.translate.evaluate import chrf_of_each, comet_of, evaluate, load_comet, note_on_short
from pellucid.translate.significance import LEVEL, Difference, significance


def run(arguments: argparse.Namespace) -> None:
    """Translate the sources (or take the translations in --hypothesis), and print three lines: BLEU, chrF,
    exact; then what --comet, --against and --worst ask for. With --json, add a line of JSON."""
    how = dict(lowercase=arguments.lowercase, tokenize=arguments.tokenize)
    evaluate(["a"], ["a"], **how)  # checks these options before the work
    sources, texts, references = _read(arguments)
    others = _read_others(arguments, sources, len(references[0]))
    comet = arguments.comet and load_comet(arguments.comet)
    texts = texts if arguments.hypothesis else _translate(arguments, arguments.model, sources)
    scores = evaluate(texts, references, **how)
    figures = asdict(scores)
    put(str(scores).split("\n"))
    if note := note_on_short(references[0], arguments.tokenize):
        tell(note)
    if comet:
        figures["comet"] = comet_of(comet, sources, texts, references[0])
        put([f"COMET {figures['comet']:.4f} ({arguments.comet}, the first reference)"])
    if arguments.against:
        others = others or _translate(arguments, [arguments.against], sources)
        figures["against"] = _put_differences(arguments, significance(texts, others, references, **how))
    if arguments.worst:
        _put_worst(arguments, sources, texts, others, references)
    if arguments.json:
        put([json.dumps(figures)])


def _read(arguments: argparse.Namespace) -> tuple[list[str], list[str], list[list[str]]]:
    """Return the sources, the translations of --hypothesis, and the references; [] for what is not given."""
    if arguments.hypothesis is None:
        sources, *references = sides(arguments, "source", "reference")
        return sources, [], references
    texts, *references = sides(arguments, "hypothesis", "reference")
    if arguments.comet and arguments.source is None:
        raise UsageError("--comet looks at the sources too. Give them with --source.")
    return _lines(arguments, arguments.source, len(texts)) if arguments.source else [], texts, references


def _read_others(arguments: argparse.Namespace, sources: list[str], count: int) -> list[str]:
    """Return the translations in the file that --against names; [] if it names a model, or nothing."""
    other = arguments.against
    if other is None or other == "demo" or other.startswith("hf://") or Path(other).is_dir():
        if other is not None and not sources:
            raise UsageError(f"--against {other} is a model, which needs sources. Give them with --source.")
        return []
    if not Path(other).exists():
        raise PellucidError(f"--against {other}: there is no such model folder, and no such file.")
    return _lines(arguments, other, count)


def _lines(arguments: argparse.Namespace, file: str, count: int) -> list[str]:
    """Return the lines of a file; raise an error unless it has as many as there are references."""
    lines = all_lines(file, arguments.bad_utf8)
    if len(lines) != count:
        raise PellucidError(f"{file} has {len(lines):,} lines, for {count:,} references. Give one for each.")
    return lines


def _put_differences(arguments: argparse.Namespace, found: list[Difference]) -> list[dict[str, Any]]:
    """Print a table of two sets of translations, and return its figures."""
    from pellucid.show.tables import Table, text_lines

    header = ["", "this", "other", "difference", "bootstrap", "randomisation", "so this is"]
    form = ["", ".2f", ".2f", "", ".4f", ".4f", ""]
    rows = [[*astuple(one)[:3], f"{one.difference:+.2f}", *astuple(one)[3:5], one.verdict] for one in found]
    ours = arguments.hypothesis or ", ".join(arguments.model)
    notes = [
        f"this: {ours}; other: {arguments.against}. TER counts edits: less is better.",
        "bootstrap, randomisation: how often chance alone makes a difference as large (p), by two tests. "
        f"Both below {LEVEL}: this is better or worse on text of this kind.",
    ]
    put(["", *text_lines([Table(header, rows, form=form)], 1000), *notes])
    put(f"{each.metric} {each.signature}" for each in found)
    return [asdict(each) | {"difference": each.difference} for each in found]


def _put_worst(
    arguments: argparse.Namespace,
    sources: list[str],
    texts: list[str],
    others: list[str],
    references: list[list[str]],
) -> None:
    """Print the sentences with the lowest chrF and, with --against, those whose chrF differs most: line,
    chrF, source if known, translations, references."""
    from pellucid.show.probe_text import sentence_table
    from pellucid.show.tables import text_lines

    several = len(references) > 1
    shown = {"source": sources, "translation": texts, "other": others}
    shown |= {f"reference {n}" if several else "reference": each for n, each in enumerate(references, 1)}
    chrf = chrf_of_each(texts, references, arguments.lowercase)
    places = sorted(range(len(texts)), key=chrf.__getitem__)
    listed = [(place, f"chrF {chrf[place]:.1f}") for place in places[: arguments.worst]]
    if others:
        each = zip(chrf, chrf_of_each(others, references, arguments.lowercase), strict=True)
        more = [ours - theirs for ours, theirs in each]
        places.sort(key=lambda place: -abs(more[place]))
        changed = [place for place in places[: arguments.worst] if more[place]]
        listed += [(place, f"chrF {more[place]:+.1f} against other") for place in changed]
    shares = _source_shares(arguments, [sources[place] if sources else "" for place, _ in listed])
    for (place, title), share in zip(listed, shares, strict=True):
        row = {name: lines[place] for name, lines in shown.items() if lines}
        title += "" if share is None else f", source share {share:.2f}"
        put(text_lines([sentence_table(f"line {place + 1:,}: {title}", **row)], 1000))


def _source_shares(arguments: argparse.Namespace, sources: list[str]) -> list[float | None]:
    """Return how much of each translation comes from its source; None where no single model translated."""
    if len(arguments.model) != 1:
        return [None] * len(sources)
    from pellucid.translate.sentences import TruncationWarning
    from pellucid.translator import load

    translator = load(arguments.model, arguments.device, "fp32")
    with warnings.catch_warnings():  # of lines that are cut, by their numbers among these; they were told
        warnings.simplefilter("ignore", TruncationWarning)
        said = translator.translate(sources, arguments.to, source_share=True, **_options(arguments))
    return [each.source_share for each in said]


def _options(arguments: argparse.Namespace) -> Any:
    return {each: getattr(arguments, each) for each in ("beam", "length_penalty", "max_length")}


def _translate(arguments: argparse.Namespace, models: list[str], sources: list[str]) -> list[str]:
    """Return the translations of the sources by these models. Warn about sources that were cut or have
    unknown words, and about unfinished translations."""
    from pellucid.text.preparation import stays_tokenised
    from pellucid.translator import load

    translator = load(models, arguments.device, "fp32")
    if stays_tokenised(translator.vocabulary.preparation) and arguments.tokenize != "none":
        tell("note: this model writes tokenised text: give it a tokenised reference, and --tokenize none.")
    doubts = Doubts(translator.vocabulary, arguments.data or arguments.source, arguments.to)
    translations = translator.translate_each(sources, arguments.to, **_options(arguments))
    texts = list[str]()
    for each in tracked(translations, "translating", len(sources)):
        texts.append(each.text)
        doubts.add(each)
    doubts.tell()
    return texts
