"""pellucid demo: train the demo model, translate with it, and write a page that explains a translation."""

import argparse

from pellucid import demo
from pellucid.cli.lines import put


def run(arguments: argparse.Namespace) -> None:
    """Run the tour: print what it finds on standard output, and the training's progress on standard error. No
    network is needed."""
    demo.run(arguments.out, train=not arguments.no_train, say=lambda line: put([line]))
