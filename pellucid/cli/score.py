"""pellucid score: how probable a model holds given translations."""

import argparse
import json

from pellucid.cli.arguments import Verbs, add_bad_utf8, add_model, add_to, verb


def add(verbs: Verbs) -> None:
    """The verb and its arguments."""
    about = "print how probable each given translation is: log-probabilities, one total a line"
    parser = verb(verbs, "score", about, run, "pellucid score runs/m30k --source test.en --target test.de")
    add_model(parser)
    option = parser.add_argument
    option("--source", metavar="FILE", required=True, help="a sentence a line; .gz too")
    option("--target", metavar="FILE", required=True, help="its translation, line by line")
    add_to(parser, "the language of the target, where the model knows several")
    option("--per-token", action="store_true", help="a JSON object a line, with each token's share")
    add_bad_utf8(parser)


def run(arguments: argparse.Namespace) -> None:
    """Natural logarithms, the end token included."""
    from pellucid.cli.lines import check_same_count, file_lines, put
    from pellucid.seal import jsonable
    from pellucid.translate.translator import load

    sources = file_lines(arguments.source, arguments.bad_utf8)
    targets = file_lines(arguments.target, arguments.bad_utf8)
    check_same_count(arguments.source, arguments.target, (len(sources), len(targets)))
    translator = load(arguments.model, arguments.device, precision="fp32")
    scores = translator.score(sources, targets, arguments.to)
    if not arguments.per_token:
        put(f"{score.total:.6f}" for score in scores)
        return
    for score in scores:
        table = {"total": score.total, "tokens": score.tokens, "per_token": score.per_token}
        put([json.dumps(jsonable(table), ensure_ascii=False, allow_nan=False)])
