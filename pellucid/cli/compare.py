"""pellucid compare: one word in two sentences, its vectors and what moved them apart."""

import argparse

from pellucid.cli.lines import put
from pellucid.seeing.viewed import columns_of_terminal
from pellucid.translator import load


def run(arguments: argparse.Namespace) -> None:
    """Print the comparison."""
    translator = load(arguments.model, arguments.device, precision="fp32")
    sentences, which = (arguments.first, arguments.second), arguments.which and tuple(arguments.which)
    comparison = translator.compare(arguments.word, *sentences, to=arguments.to, which=which)
    put(comparison.lines(columns_of_terminal()))
