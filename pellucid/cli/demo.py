"""pellucid demo: the tour."""

import argparse
import shlex
from pathlib import Path

from pellucid.cli.arguments import Option, folder

ABOUT = "a tour: train the demo model, translate, write the page that shows every matrix"
EXAMPLES = """
pellucid demo
pellucid demo --no-train --out tour
"""
OPTIONS = (
    Option("--no-train", "use the model in the package"),
    Option("--out DIR", "default: runs/demo", type=folder, default=Path("runs/demo")),
)


def run(arguments: argparse.Namespace) -> None:
    """Give the tour on standard output, and show its training on standard error. No network is needed."""
    from pellucid import demo
    from pellucid.cli.lines import put
    from pellucid.learning.stop import Interrupted

    try:
        demo.run(arguments.out, train=not arguments.no_train, say=lambda line: put([line]))
    except Interrupted as interrupted:
        again = shlex.join(["pellucid", "demo", "--out", str(arguments.out)])
        raise Interrupted(f"{interrupted}\nTo go on: {again}") from None
