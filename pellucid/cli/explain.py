"""pellucid explain: a translation, and every matrix of the pass that made it."""

import argparse
import os
from pathlib import Path
from typing import TYPE_CHECKING

from pellucid.cli.arguments import DEVICE, MODEL, TO, Option, folder, text

if TYPE_CHECKING:
    from pellucid.explanation import Explanation

EXAMPLES = """
pellucid explain demo "How are you" --to hi
pellucid explain demo "I like cats" --to es --html cats.html
pellucid explain demo "I like cats" --to es --against "Me gustan los perros"
pellucid explain demo "I like cats" --to es --alignment
pellucid explain demo "I like cats" --to es --tensor "decoder.layers.0.*.weights" --head 0
pellucid explain demo "je suis étudiant" --to en --target "I am a student" --json steps.json
"""
NOTES = "A TEXT that begins with - is taken for an option, unless -- stands before it, after all options."


ABOUT = "translate a sentence and show every step: input, expected, probability, where it looked"
AGAINST = "why not this one? the two targets step by step, and where they part"
PAIRS = 'only the word alignment, a line of Pharaoh pairs such as "0-0 1-2"'
MORE = "also the search, the heads, the words, and the steps with a cache and without"
MATRIX = "a matrix, by name, or all that match a glob; pellucid inspect MODEL --tensors names them"
BESIDE = "with --html: also another model, such as a checkpoint, with the same sentence and target"
PICTURES = "draw pictures, NAME.png: each attention, entropy, the mask, positions, …"
OPTIONS = (
    MODEL,
    DEVICE,
    Option("TEXT", "the sentence, in quotes", type=text),
    TO,
    Option("--target TEXT", "explain this translation, not the model's own", type=text),
    Option("--against TEXT", AGAINST, alone=True, type=text),
    Option("--alignment", PAIRS, alone=True),
    Option("--more", MORE, alone=True),
    Option("--tensor NAME", MATRIX, alone=True, type=text),
    Option("--head N", "with --tensor: only this head, counted from 0", type=int),
    Option("--html FILE", "write a page, one file, with every matrix"),
    Option("--beside MODEL", BESIDE),
    Option("--json FILE", "write the steps and every matrix"),
    Option("--npz FILE", "write every matrix, for numpy.load"),
    Option("--png DIR", PICTURES, type=folder),
)


def run(arguments: argparse.Namespace) -> None:
    """Write the files that were asked for, and print the rest to standard output."""
    from pellucid.cli.lines import put, tell
    from pellucid.translator import load

    put([])  # raises at once if there is no standard output
    files = _files(arguments)
    _check(arguments)
    translator = load(arguments.model, arguments.device, precision="fp32")
    explanation = translator.explain(arguments.text, to=arguments.to, target=arguments.target)
    if "html" in files:
        if arguments.beside is None:
            explanation.to_html(files["html"])
        else:
            names = labels(arguments.model, arguments.beside)
            explanation.to_html(files["html"], _beside(arguments, explanation), names)
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
        explanation.show(more=arguments.more, tensor=arguments.tensor, head=arguments.head)


def _files(arguments: argparse.Namespace) -> dict[str, Path]:
    """Return the files to write; raise if one cannot be written, or two are the same."""
    from pellucid.errors import PellucidError, UsageError
    from pellucid.folder.whole_file import place

    files: dict[str, Path] = {}
    for name in ("html", "json", "npz"):
        if getattr(arguments, name) is None:
            continue
        try:
            path = place(getattr(arguments, name))
        except PellucidError as error:
            raise type(error)(f"--{name}: {error}") from None
        for other in (other for other in files if os.path.realpath(files[other]) == os.path.realpath(path)):
            raise UsageError(
                f"--{other} and --{name} both name {path}: the second would replace the first. Give each a "
                "file of its own."
            )
        files[name] = path
    return files


def _check(arguments: argparse.Namespace) -> None:
    """Raise for an option that needs another one."""
    from pellucid.errors import UsageError

    if arguments.beside is not None and arguments.html is None:
        raise UsageError("--beside puts another model into a page. Say with --html which file the page is.")
    if arguments.head is not None and arguments.tensor is None:
        raise UsageError(
            f"--head {arguments.head}: it is a head of a matrix. Say with --tensor of which, such as "
            "decoder.layers.0.self_attention.weights."
        )


def _beside(arguments: argparse.Namespace, explanation: "Explanation") -> "Explanation":
    """Explain the same sentence and target by the other model."""
    from pellucid.errors import PellucidError, UsageError
    from pellucid.translator import load

    try:
        other = load(arguments.beside, arguments.device, precision="fp32")
        return other.explain(arguments.text, to=arguments.to, target=explanation.translation.text)
    except PellucidError as error:
        kind = UsageError if isinstance(error, UsageError) else PellucidError
        raise kind(f"--beside {arguments.beside}: {error}") from None


def labels(one: str, other: str) -> tuple[str, str]:
    """Name two models in a page: the last folders of their paths, as many as tell them apart.

    A whole path would tell every reader of the page how somebody's folders are called.
    """
    ours, theirs = (
        (path,) if path == "demo" else Path(os.path.realpath(path)).parts[1:] or (path,)
        for path in (one, other)
    )
    if ours == theirs:
        return ours[-1], theirs[-1]
    count = next(n for n in range(1, 1 + max(len(ours), len(theirs))) if ours[-n:] != theirs[-n:])
    return "/".join(ours[-count:]), "/".join(theirs[-count:])


def _draw(explanation: "Explanation", folder: Path) -> None:
    """Draw the whole set of pictures, each by its name; replace only files that Pellucid wrote."""
    from pellucid.cli.lines import tell
    from pellucid.folder.whole_file import refuse_foreign
    from pellucid.show.pictures import whole_set

    pictures = {name: folder / f"{name}.png" for name in whole_set(explanation)}
    refuse_foreign(pictures.values())
    folder.mkdir(parents=True, exist_ok=True)
    for name, path in pictures.items():
        explanation.plot(name, path)
    tell(f"written: {len(pictures)} pictures, in {folder}")
