"""pellucid compare: one word in two sentences, its vectors and what moved them apart."""

import argparse
from pathlib import Path

from pellucid.cli.arguments import Verbs, add_model, add_to, text, verb

EXAMPLES = """
pellucid compare demo bank "The boat is near the bank" "The money is at the bank" --to fr
pellucid compare demo bank "She brings water from the bank" "She brings money from the bank" --to hi
"""


def add(verbs: Verbs) -> None:
    """Add the verb and its arguments."""
    about = (
        "compare a word in two sentences: how its vectors differ after each layer, and which words moved them"
    )
    parser = verb(verbs, "compare", about, run, EXAMPLES)
    add_model(parser)
    option = parser.add_argument
    option("word", metavar="WORD", type=text, help="a word that both sentences have")
    option("first", metavar="A", type=text, help="the first sentence, in quotes")
    option("second", metavar="B", type=text, help="the second sentence, in quotes")
    add_to(parser)
    both = "the occurrences to compare in A and in B, counted from 1, where there are several"
    option("--png", metavar="FILE", type=Path, help="a picture: the cosines, and the words that moved it")
    option("--which", metavar="N", type=int, nargs=2, help=both)


def run(arguments: argparse.Namespace) -> None:
    """Print the comparison."""
    from pellucid.cli.lines import put, tell
    from pellucid.seeing.viewed import columns_of_terminal
    from pellucid.translator import load

    translator = load(arguments.model, arguments.device, precision="fp32")
    which = (arguments.which[0], arguments.which[1]) if arguments.which else None
    word, first, second = arguments.word, arguments.first, arguments.second
    comparison = translator.compare(word, first, second, to=arguments.to, which=which)
    if arguments.png:
        comparison.plot(arguments.png)
        tell(f"written: {arguments.png}")
    put(comparison.lines(columns_of_terminal()))  # last, because the reader may leave early
