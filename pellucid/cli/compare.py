"""pellucid compare: one word in two sentences, its vectors and what moved them apart."""

import argparse
from pathlib import Path

from pellucid.cli.arguments import DEVICE, MODEL, TO, Option, text

ABOUT = "compare a word in two sentences: how its vectors differ after each layer, and which words moved them"
EXAMPLES = """
pellucid compare demo bank "The boat is near the bank" "The money is at the bank" --to fr
pellucid compare demo bank "She brings water from the bank" "She brings money from the bank" --to hi
"""
BOTH = "the occurrences to compare in A and in B, counted from 1, where there are several"
OPTIONS = (
    MODEL,
    DEVICE,
    Option("WORD", "a word that both sentences have", type=text),
    Option("A", "the first sentence, in quotes", dest="first", type=text),
    Option("B", "the second sentence, in quotes", dest="second", type=text),
    TO,
    Option("--png FILE", "a picture: the cosines, and the words that moved it", type=Path),
    Option("--which N", BOTH, type=int, nargs=2),
)


def run(arguments: argparse.Namespace) -> None:
    """Print the comparison."""
    from pellucid.cli.lines import put, tell
    from pellucid.seeing.viewed import columns_of_terminal
    from pellucid.translator import load

    translator = load(arguments.model, arguments.device, precision="fp32")
    sentences, which = (arguments.first, arguments.second), arguments.which and tuple(arguments.which)
    comparison = translator.compare(arguments.word, *sentences, to=arguments.to, which=which)
    if arguments.png:
        comparison.plot(arguments.png)
        tell(f"written: {arguments.png}")
    put(comparison.lines(columns_of_terminal()))  # last, because the reader may leave early
