"""pellucid score: how probable the model finds existing translations."""

import argparse
from functools import partial

from pellucid.cli.doubts import Doubts
from pellucid.cli.lines import put, put_json, sides, tracked
from pellucid.translator import load


def run(arguments: argparse.Namespace) -> None:
    """Print the log-probability of each target (natural logarithm, end token included), one per line. With
    --per-token, print JSON with each token."""
    sources, targets = sides(arguments, "source", "target")
    translator = load(arguments.model, arguments.device, precision="fp32")
    scores = translator.score(sources, targets, arguments.to, partial(tracked, about="scoring"))
    name = arguments.data or arguments.source
    doubts = Doubts(translator.vocabulary, name, arguments.to, hints=False)  # the words are of both sides
    for score in scores:
        doubts.add_unknown(score.unknown)
    doubts.tell()
    if not arguments.per_token:
        put(f"{score.total:.6f}" for score in scores)
        return
    for score in scores:
        put_json({"total": score.total, "tokens": score.tokens, "per_token": score.per_token})
