"""pellucid demo: the tour."""

import argparse
import shlex
from pathlib import Path

from pellucid.cli.arguments import Verbs, folder, verb


def add(verbs: Verbs) -> None:
    """Add the verb and its arguments."""
    about = "a tour: train the demo model, translate, write the page that shows every matrix"
    parser = verb(verbs, "demo", about, run, "pellucid demo\npellucid demo --no-train --out tour")
    parser.add_argument("--no-train", action="store_true", help="use the model in the package")
    where = Path("runs/demo")
    parser.add_argument("--out", metavar="DIR", type=folder, default=where, help=f"default: {where}")


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
