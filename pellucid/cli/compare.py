"""pellucid compare: one word in two sentences, its vectors, and what makes them differ."""

import argparse
from dataclasses import asdict

from pellucid.cli.lines import put, put_json
from pellucid.seeing.viewed import columns_of_terminal
from pellucid.translator import load


def run(arguments: argparse.Namespace) -> None:
    """Print how the word's vectors differ between the two sentences, and what makes them differ."""
    translator = load(arguments.model, arguments.device, precision="fp32")
    comparison = translator.compare(arguments.word, arguments.first, arguments.second, arguments.to)
    if arguments.json:
        put_json(asdict(comparison))
        return
    put(comparison.lines(columns_of_terminal()))
