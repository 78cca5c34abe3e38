"""pellucid score: how probable the model finds existing translations."""

import argparse
import json

from pellucid.cli.arguments import Verbs, add_bad_utf8, add_data, add_models, add_to, verb

EXAMPLES = """
pellucid score runs/m30k --source test.en --target test.de
pellucid score runs/m30k --data test.tsv
"""


def add(verbs: Verbs) -> None:
    """Add the verb and its arguments."""
    about = "print how probable each given translation is: log-probabilities, one total a line"
    parser = verb(verbs, "score", about, run, EXAMPLES)
    add_models(parser)
    option = parser.add_argument
    add_data(parser)
    option("--source", metavar="FILE", help="a sentence a line; .gz too")
    option("--target", metavar="FILE", help="its translation, line by line")
    add_to(parser, "the language of the target, where the model knows several")
    option(
        "--per-token",
        action="store_true",
        help="print a JSON object a line, with the log-probability of each token",
    )
    add_bad_utf8(parser)


def run(arguments: argparse.Namespace) -> None:
    """Print each target's log-probability (natural logarithm, end token included), one a line."""
    from pellucid.cli.lines import put, sides
    from pellucid.folder.manifest import jsonable
    from pellucid.translator import load

    sources, targets = sides(arguments, "source", "target")
    translator = load(arguments.model, arguments.device, precision="fp32")
    scores = translator.score(sources, targets, arguments.to)
    if not arguments.per_token:
        put(f"{score.total:.6f}" for score in scores)
        return
    for score in scores:
        table = {"total": score.total, "tokens": score.tokens, "per_token": score.per_token}
        put([json.dumps(jsonable(table), ensure_ascii=False, allow_nan=False)])
