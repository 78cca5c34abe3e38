"""pellucid check: bad pairs in parallel text, found with a model that was trained on it."""

import argparse
from collections import Counter

from pellucid.cli.lines import OR_ELSE, corpus_of, put
from pellucid.data.corpus import corpus_pairs
from pellucid.probes.pairs import check_pairs
from pellucid.seeing.viewed import columns_of_terminal
from pellucid.translator import load


def run(arguments: argparse.Namespace) -> None:
    """Print the mean score by place in the text, suspicious pairs by kind, and the worst pairs."""
    corpus = corpus_of(arguments, "source", "target")
    translator = load(arguments.model, arguments.device, precision="fp32")
    pairs = corpus_pairs(corpus, 0, arguments.bad_utf8, Counter(), OR_ELSE)
    report = check_pairs(translator, pairs, arguments.to, arguments.worst)
    put(report.lines(max(60, columns_of_terminal())))
