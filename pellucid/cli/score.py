"""pellucid score: how probable the model finds existing translations."""

import argparse
import json

from pellucid.cli.arguments import BAD_UTF8, DATA, DEVICE, MODELS, Option

ABOUT = "print how probable each given translation is: log-probabilities, one total a line"
EXAMPLES = """
pellucid score runs/m30k --source test.en --target test.de
pellucid score runs/m30k --data test.tsv
"""
OPTIONS = (
    MODELS,
    DEVICE,
    DATA,
    Option("--source FILE", "a sentence a line; .gz too"),
    Option("--target FILE", "its translation, line by line"),
    Option("--to LANG", "the language of the target, where the model knows several"),
    Option("--per-token", "print a JSON object a line, with the log-probability of each token"),
    BAD_UTF8,
)


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
