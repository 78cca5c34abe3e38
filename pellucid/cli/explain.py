"""pellucid explain: a translation, and every matrix of the pass that made it."""

import argparse
import os
from pathlib import Path
from typing import TYPE_CHECKING

from pellucid.cli.arguments import Verbs, add_model, add_to, folder, text, verb

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


def add(verbs: Verbs) -> None:
    """Add the verb and its arguments."""
    about = "translate a sentence and show every step: input, expected, probability, where it looked"
    parser = verb(verbs, "explain", about, run, EXAMPLES, NOTES)
    add_model(parser)
    option = parser.add_argument
    option("text", metavar="TEXT", type=text, help="the sentence, in quotes")
    add_to(parser)
    option("--target", metavar="TEXT", type=text, help="explain this translation, not the model's own")
    shown = parser.add_mutually_exclusive_group()
    against = "why not this one? the two targets step by step, and where they part"
    shown.add_argument("--against", metavar="TEXT", type=text, help=against)
    pairs = 'only the word alignment, a line of Pharaoh pairs such as "0-0 1-2"'
    shown.add_argument("--alignment", action="store_true", help=pairs)
    few = "only the steps, and in a line where each looked"
    shown.add_argument("--steps", action="store_true", help=few)
    more = "also the search, the heads, the words, and the steps with a cache and without"
    shown.add_argument("--more", action="store_true", help=more)
    matrix = "a matrix, by name, or all that match a glob; pellucid inspect MODEL --tensors names them"
    shown.add_argument("--tensor", metavar="NAME", type=text, help=matrix)
    option("--head", metavar="N", type=int, help="with --tensor: only this head, counted from 0")
    option("--html", metavar="FILE", help="write a page, one file, with every matrix")
    beside = "with --html: also another model, such as a checkpoint, with the same sentence and target"
    option("--beside", metavar="MODEL", help=beside)
    option("--json", metavar="FILE", help="write the steps and every matrix")
    option("--npz", metavar="FILE", help="write every matrix, for numpy.load")
    pictures = "draw pictures, NAME.png: each attention, entropy, the mask, positions, …"
    option("--png", metavar="DIR", type=folder, help=pictures)


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
    for name, write in (("json", explanation.to_json), ("npz", explanation.to_npz)):
        if name in files:
            write(files[name])
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
        for other, theirs in files.items():
            if os.path.realpath(theirs) == os.path.realpath(path):
                raise UsageError(
                    f"--{other} and --{name} both name {path}: the second would replace the first. Give each "
                    "a file of its own."
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
