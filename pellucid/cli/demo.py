"""pellucid demo: train the demo model, translate with it, and write a page that explains a translation."""

import argparse
import shlex

from pellucid import demo
from pellucid.cli.lines import put
from pellucid.learning.stop import Interrupted


def run(arguments: argparse.Namespace) -> None:
    """Run the tour: print what it finds on standard output, and the training's progress on standard error. No
    network is needed."""
    try:
        demo.run(arguments.out, train=not arguments.no_train, say=lambda line: put([line]))
    except Interrupted as interrupted:
        again = shlex.join(["pellucid", "demo", "--out", str(arguments.out)])
        raise Interrupted(f"{interrupted}\nTo go on: {again}", interrupted.number) from None
