"""pellucid explain: a translation, and every matrix of the pass that made it."""

import argparse
import os
from pathlib import Path

from pellucid.cli.lines import put, tell
from pellucid.config.file_names import short_names
from pellucid.errors import PellucidError, UsageError
from pellucid.explanation import Explanation
from pellucid.folder.whole_file import place, refuse_foreign
from pellucid.show.pictures import whole_set
from pellucid.translator import load


def run(arguments: argparse.Namespace) -> None:
    """Write the files that were asked for, and print the rest to standard output."""
    put([])  # raises at once if there is no standard output
    files = _files(arguments)
    if arguments.beside is not None and arguments.html is None:
        raise UsageError("--beside puts another model into a page. Say with --html which file the page is.")
    translator = load(arguments.model, arguments.device, precision="fp32")
    explanation = translator.explain(arguments.text, to=arguments.to, target=arguments.target)
    if "html" in files:
        if arguments.beside is None:
            explanation.to_html(files["html"])
        else:
            # Their last folders: a whole path would tell every reader how somebody's folders are called.
            models = [os.path.realpath(each) for each in (arguments.model, arguments.beside)]
            names = short_names(models)
            beside = _beside(arguments, explanation)
            explanation.to_html(files["html"], beside, (names[models[0]], names[models[1]]))
        tell(f"written: {files['html']}")
    for name in [name for name in files if name != "html"]:
        getattr(explanation, f"to_{name}")(files[name])
        tell(f"written: {files[name]}")
    if arguments.png:
        _draw(explanation, arguments.png)
    # Printing comes last: the reader of a pipe may close it.
    if arguments.alignment:
        put([str(explanation.alignment())])
    elif arguments.against is not None:
        other = translator.explain(arguments.text, to=arguments.to, target=arguments.against)
        explanation.against(other).show()
    else:
        wanted = {"more": arguments.more, "tensor": arguments.tensor, "head": arguments.head}
        explanation.show(**wanted, steps=arguments.steps)


def _files(arguments: argparse.Namespace) -> dict[str, Path]:
    """Return the files to write; raise if one cannot be written."""
    files: dict[str, Path] = {}
    for name in ("html", "json", "npz"):
        if getattr(arguments, name) is None:
            continue
        try:
            path = place(getattr(arguments, name))
        except PellucidError as error:
            raise type(error)(f"--{name}: {error}") from None
        files[name] = path
    return files


def _beside(arguments: argparse.Namespace, explanation: Explanation) -> Explanation:
    """Explain the same sentence and target by the other model."""
    try:
        other = load(arguments.beside, arguments.device, precision="fp32")
        return other.explain(arguments.text, to=arguments.to, target=explanation.translation.text)
    except PellucidError as error:
        kind = UsageError if isinstance(error, UsageError) else PellucidError
        raise kind(f"--beside {arguments.beside}: {error}") from None


def _draw(explanation: Explanation, folder: Path) -> None:
    """Draw the whole set of pictures, each by its name; replace only files that Pellucid wrote."""
    pictures = {name: folder / f"{name}.png" for name in whole_set(explanation)}
    refuse_foreign(pictures.values())
    folder.mkdir(parents=True, exist_ok=True)
    for name, path in pictures.items():
        explanation.plot(name, path)
    tell(f"written: {len(pictures)} pictures, in {folder}")
