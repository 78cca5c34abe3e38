"""pellucid average: one model from several checkpoints."""

import argparse

from pellucid.cli.arguments import Option, folder, model

ABOUT = "make one model whose weights are the mean of several checkpoints' weights"
EXAMPLES = """
pellucid average runs/mean runs/m30k/checkpoints/step-11000 runs/m30k/checkpoints/step-12000
pellucid average runs/mean runs/m30k/averaging/checkpoints/step-*
"""
NOTES = """
All checkpoints must have the same shape and the same vocabulary: those of one run have, and those of runs
that start from one model. OUT is a new folder.
"""
WHICH = "RUN/checkpoints/step-N, RUN/averaging/checkpoints/step-N, or a model folder"
OPTIONS = (
    Option("OUT", "the folder of the new model", type=folder),
    Option("CHECKPOINT", WHICH, dest="checkpoints", nargs="+", type=model),
)


def run(arguments: argparse.Namespace) -> None:
    """Average the weights; the folder's name goes to standard output."""
    from pellucid.cli.lines import put, tell
    from pellucid.folder.manifest import read_manifest
    from pellucid.learning.finished import average
    from pellucid.learning.saving import what_is

    out = average(arguments.out, arguments.checkpoints)
    tell(what_is(read_manifest(out, "model")))
    put([str(out)])
