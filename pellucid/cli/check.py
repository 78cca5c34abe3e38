"""pellucid check: bad pairs in parallel text, found with a model that was trained on it."""

import argparse
from collections import Counter
from functools import partial
from typing import Any

from pellucid.cli.lines import OR_ELSE, corpus_of, put, put_json, tracked
from pellucid.data.corpus import corpus_pairs
from pellucid.probes.pairs import PairsReport, check_pairs
from pellucid.seeing.viewed import columns_of_terminal
from pellucid.translator import load


def run(arguments: argparse.Namespace) -> None:
    """Print the mean score by place in the text, suspicious pairs by kind, and the worst pairs."""
    corpus = corpus_of(arguments, "source", "target")
    translator = load(arguments.model, arguments.device, precision="fp32")
    pairs = corpus_pairs(corpus, 0, arguments.bad_utf8, Counter(), OR_ELSE)
    report = check_pairs(translator, pairs, arguments.to, arguments.worst, partial(tracked, about="scoring"))
    if arguments.json:
        put_json(_described(report))
        return
    put(report.lines(max(60, columns_of_terminal())))


def _described(report: PairsReport) -> dict[str, Any]:
    """Return all that is known of the text, as a program reads it."""
    worst = [
        {"line": pair.line, "source": pair.source, "target": pair.target, "score": score, "translation": said}
        for pair, score, said in report.worst
    ]
    return {
        "pairs": report.pairs,
        "scored": report.scored,
        "parts": [dict(zip(("first", "last", "score"), part, strict=True)) for part in report.parts],
        "change": report.change and dict(zip(("line", "before", "after"), report.change, strict=True)),
        "kinds": {kind: list(lines) for kind, lines in report.kinds.items()},
        "prefers_copy": report.prefers_copy,
        "worst": worst,
    }
