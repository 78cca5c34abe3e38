"""pellucid explain: a translation, and every matrix of the pass that made it."""

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from pellucid.cli.arguments import add_model, folder, text, verb

if TYPE_CHECKING:
    from pellucid.cli.arguments import Verbs

EXAMPLES = """
pellucid explain demo "How are you" --to hi
pellucid explain demo "I like cats" --to es --html cats.html
pellucid explain demo "je suis étudiant" --to en --target "I am a student" --json steps.json
"""
NOTES = "A TEXT that begins with - is taken for an option, unless -- stands before it, after all options."


def add(verbs: "Verbs") -> None:
    """The verb and its arguments."""
    about = "translate a sentence and show every step: input, expected, probability, where it looked"
    parser = verb(verbs, "explain", about, run, EXAMPLES, NOTES)
    add_model(parser)
    option = parser.add_argument
    option("text", metavar="TEXT", type=text, help="the sentence, in quotes")
    option("--to", metavar="LANG", help="the language to translate to, where the model knows several")
    option("--target", metavar="TEXT", type=text, help="explain this translation, not the model's own")
    option("--html", metavar="FILE", type=Path, help="a page, one file, with every matrix")
    option("--json", metavar="FILE", type=Path, help="the steps and every matrix")
    option("--npz", metavar="FILE", type=Path, help="every matrix, for numpy.load")
    option("--png", metavar="DIR", type=folder, help="a picture of each attention, NAME.png")


def run(arguments: argparse.Namespace) -> None:
    """The steps go to standard output, the matrices to the files that were asked for."""
    from pellucid.cli.lines import tell
    from pellucid.translate.translator import load

    translator = load(arguments.model, arguments.device, precision="fp32")
    explanation = translator.explain(arguments.text, to=arguments.to, target=arguments.target)
    files = (arguments.html, explanation.to_html), (arguments.json, explanation.to_json)
    for path, write in (*files, (arguments.npz, explanation.to_npz)):
        if path:
            write(path)
            tell(f"written: {path}")
    if arguments.png:
        arguments.png.mkdir(parents=True, exist_ok=True)
        for name in [name for name in explanation.trace if name.endswith("attention.weights")]:
            explanation.plot(name, arguments.png / f"{name}.png")
        tell(f"written: pictures of each attention's weights, in {arguments.png}")
    explanation.show()  # last, for who reads it may leave
