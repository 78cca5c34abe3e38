"""pellucid explain: a translation, and every matrix of the pass that made it."""

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from pellucid.cli.arguments import Verbs, add_model, add_to, folder, text, verb

if TYPE_CHECKING:
    from pellucid.explain.explanation import Explanation

EXAMPLES = """
pellucid explain demo "How are you" --to hi
pellucid explain demo "I like cats" --to es --html cats.html
pellucid explain demo "I like cats" --to es --against "Me gustan los perros"
pellucid explain demo "I like cats" --to es --alignment
pellucid explain demo "je suis étudiant" --to en --target "I am a student" --json steps.json
"""
NOTES = "A TEXT that begins with - is taken for an option, unless -- stands before it, after all options."


def add(verbs: Verbs) -> None:
    """The verb and its arguments."""
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
    pairs = 'the word alignment alone, a line of Pharaoh pairs such as "0-0 1-2"'
    shown.add_argument("--alignment", action="store_true", help=pairs)
    shown.add_argument(
        "--more", action="store_true", help="the search, the heads and the steps as tables too"
    )
    option("--html", metavar="FILE", type=Path, help="a page, one file, with every matrix")
    option(
        "--beside",
        metavar="MODEL",
        help="another model, such as a checkpoint, in that page too: same sentence and target, side by side",
    )
    option("--json", metavar="FILE", type=Path, help="the steps and every matrix")
    option("--npz", metavar="FILE", type=Path, help="every matrix, for numpy.load")
    option(
        "--png",
        metavar="DIR",
        type=folder,
        help="pictures, NAME.png: each attention, entropy, the mask, positions, …",
    )


def run(arguments: argparse.Namespace) -> None:
    """What it shows goes to standard output, the matrices to the files that were asked for."""
    from pellucid.cli.lines import put, tell
    from pellucid.errors import UsageError
    from pellucid.translate.translator import load

    if arguments.beside and not arguments.html:
        raise UsageError("--beside puts another model into a page. Say with --html which file the page is.")
    translator = load(arguments.model, arguments.device, precision="fp32")
    explanation = translator.explain(arguments.text, to=arguments.to, target=arguments.target)
    if arguments.html:
        explanation.to_html(arguments.html, _beside(arguments, explanation), _names(arguments))
        tell(f"written: {arguments.html}")
    for path, write in ((arguments.json, explanation.to_json), (arguments.npz, explanation.to_npz)):
        if path:
            write(path)
            tell(f"written: {path}")
    if arguments.png:
        _draw(explanation, arguments.png)
    # Last, for who reads it may leave.
    if arguments.alignment:
        put([str(explanation.alignment())])
    elif arguments.against is not None:
        other = translator.explain(arguments.text, to=arguments.to, target=arguments.against)
        explanation.against(other).show()
    else:
        explanation.show(more=arguments.more)


def _beside(arguments: argparse.Namespace, explanation: "Explanation") -> "Explanation | None":
    """The other model's pass over the same sentence and target."""
    from pellucid.translate.translator import load

    if not arguments.beside:
        return None
    other = load(arguments.beside, arguments.device, precision="fp32")
    return other.explain(arguments.text, to=arguments.to, target=explanation.translation.text)


def _names(arguments: argparse.Namespace) -> tuple[str, str]:
    """What the two are called in the page."""
    return str(arguments.model), str(arguments.beside)


def _draw(explanation: "Explanation", folder: Path) -> None:
    """The whole set of pictures, each by its name."""
    from pellucid.cli.lines import tell
    from pellucid.explain.pictures import whole_set

    folder.mkdir(parents=True, exist_ok=True)
    names = whole_set(explanation)
    for name in names:
        explanation.plot(name, folder / f"{name}.png")
    tell(f"written: {len(names)} pictures, in {folder}")
