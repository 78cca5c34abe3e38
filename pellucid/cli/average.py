"""pellucid average: one model from several checkpoints."""

import argparse

from pellucid.cli.arguments import Verbs, folder, model, verb

EXAMPLES = """
pellucid average runs/mean runs/m30k/checkpoints/step-11000 runs/m30k/checkpoints/step-12000
pellucid average runs/mean runs/m30k/averaging/checkpoints/step-*
"""
NOTES = """
All checkpoints must have the same shape and the same vocabulary: those of one run have, and those of runs
that start from one model. OUT is a new folder.
"""


def add(verbs: Verbs) -> None:
    """Add the verb and its arguments."""
    about = "make one model whose weights are the mean of several checkpoints' weights"
    parser = verb(verbs, "average", about, run, EXAMPLES, NOTES)
    parser.add_argument("out", metavar="OUT", type=folder, help="the folder of the new model")
    what = "RUN/checkpoints/step-N, RUN/averaging/checkpoints/step-N, or a model folder"
    parser.add_argument("checkpoints", metavar="CHECKPOINT", nargs="+", type=model, help=what)


def run(arguments: argparse.Namespace) -> None:
    """The folder's name goes to standard output."""
    from pellucid.cli.lines import put, tell
    from pellucid.folder.manifest import read_manifest
    from pellucid.learning.finished import average
    from pellucid.learning.saving import what_is

    out = average(arguments.out, arguments.checkpoints)
    tell(what_is(read_manifest(out, "model")))
    put([str(out)])
