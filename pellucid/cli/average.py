"""pellucid average: one model from several checkpoints."""

import argparse

from pellucid.cli.lines import put, tell
from pellucid.folder.manifest import read_manifest
from pellucid.learning.saving import average, what_is
from pellucid.translator import folder_of


def run(arguments: argparse.Namespace) -> None:
    """Write the average of the checkpoints as a new model; print its folder's name on standard output."""
    out = average(arguments.out, [folder_of(each) for each in arguments.checkpoints])
    tell(what_is(read_manifest(out, "model")))
    put([str(out)])
