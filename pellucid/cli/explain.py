"""pellucid explain: a translation, and every matrix of the pass that made it."""

import argparse
import os
from pathlib import Path
from typing import Any

from pellucid.cli.lines import put, tell
from pellucid.config.toml_file import short_names
from pellucid.errors import UsageError
from pellucid.explanation import Explanation, Movie
from pellucid.folder.whole_file import place, refuse_foreign
from pellucid.reading.causal_map import CausalMap
from pellucid.reading.ledger import Ledger
from pellucid.show.panels import require_matplotlib
from pellucid.show.pictures import whole_set
from pellucid.translator import load, movie


def run(arguments: argparse.Namespace) -> None:
    """Explain a translation: write the files that the options name, then print tables on standard output."""
    put([])  # raises at once if there is no standard output
    names = [name for name in ("html", "json", "npz", "movie") if getattr(arguments, name) is not None]
    files = {name: place(getattr(arguments, name)) for name in names}
    if arguments.beside is not None and arguments.html is None:
        raise UsageError("--beside adds another model to a page. Name the file of the page with --html.")
    if arguments.ledger is None and (arguments.word is not None or arguments.minus is not None):
        raise UsageError("--word and --minus say of which words --ledger is. Add --ledger STEP.")
    if arguments.head is not None and arguments.tensor is None:
        raise UsageError("--head says which head of --tensor is printed. Add --tensor NAME.")
    if len({file.resolve() for file in files.values()}) < len(files):
        raise UsageError("two of --html, --json, --npz and --movie name the same file. Name another for one.")
    if arguments.png:
        require_matplotlib()
    translator = load(arguments.model, arguments.device, precision="fp32")
    explanation = translator.explain(arguments.text, to=arguments.to, target=arguments.target)
    ledger = None if arguments.ledger is None else _ledger(arguments, explanation)
    causal = None if arguments.map is None else _map(arguments.map, explanation)
    learned = None if arguments.movie is None else _movie(arguments)
    for name, file in files.items():
        more = _beside(arguments, explanation) if name == "html" and arguments.beside else {}
        more |= {"ledger": ledger, "causal_map": causal} if name == "json" else {}
        write = learned.to_html if learned and name == "movie" else getattr(explanation, f"to_{name}")
        write(file, **more)
        tell(f"written: {file}")
    if arguments.png:
        _draw(explanation, arguments.png)
    # Printing comes last: the reader of a pipe may close it.
    if arguments.alignment:
        put([str(explanation.alignment())])
    elif found := ledger or causal or learned:
        found.show()
    elif arguments.against is not None:
        other = translator.explain(arguments.text, to=arguments.to, target=arguments.against)
        explanation.against(other).show()
    else:
        wanted = {"more": arguments.more, "tensor": arguments.tensor, "head": arguments.head}
        explanation.show(**wanted, steps=arguments.steps)


def _ledger(arguments: argparse.Namespace, explanation: Explanation) -> Ledger:
    """Return the ledger of a step, which the command line counts from 1, as the table of steps does."""
    count = len(explanation.steps)
    if not 1 <= arguments.ledger <= count:
        raise UsageError(f"--ledger {arguments.ledger}: there are {count} steps, counted from 1.")
    return explanation.ledger(arguments.ledger - 1, arguments.word, arguments.minus)


def _map(word: str, explanation: Explanation) -> CausalMap:
    """Return the causal map of a source word, for the step that needs it most."""
    tokens = explanation.source_tokens
    places = [place for place, token in enumerate(tokens) if word in (token, token.removeprefix("▁"))]
    if len(places) != 1:
        listed = ", ".join(f"{place} {token}" for place, token in enumerate(tokens))
        if word.isdecimal() and int(word) < len(tokens):
            return explanation.causal_map(None, int(word))
        raise UsageError(
            f"--map {word}: the sentence has it {len(places)} times. Name one of its tokens, or the token's "
            f"number: {listed}."
        )
    return explanation.causal_map(None, places[0])


def _movie(arguments: argparse.Namespace) -> Movie:
    return movie(arguments.model, arguments.text, arguments.to, arguments.target, arguments.device)


def _beside(arguments: argparse.Namespace, explanation: Explanation) -> dict[str, Any]:
    """Explain the same sentence and target with the model of --beside. Return its explanation and the short
    names of both models."""
    other = load(arguments.beside, arguments.device, precision="fp32")
    # Their last folders: a whole path would tell every reader how somebody's folders are called.
    models = [os.path.realpath(each) for each in (arguments.model, arguments.beside)]
    short = short_names(models)
    is_same = other.vocabulary.same_as(explanation.vocabulary)  # then the same ids: text may be cut otherwise
    target = explanation.target_ids if is_same else explanation.translation.text
    beside = other.explain(arguments.text, to=arguments.to, target=target)
    return {"beside": beside, "names": (short[models[0]], short[models[1]])}


def _draw(explanation: Explanation, folder: Path) -> None:
    """Draw the most useful pictures, each in its own file; replace only files that Pellucid wrote."""
    pictures = {name: folder / f"{name}.png" for name in whole_set(explanation)}
    refuse_foreign(pictures.values())
    folder.mkdir(parents=True, exist_ok=True)
    for name, path in pictures.items():
        explanation.plot(name, path)
    tell(f"written: {len(pictures)} pictures, in {folder}")
