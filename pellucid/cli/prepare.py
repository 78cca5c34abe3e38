"""pellucid prepare: text for trainings, cleaned and encoded once."""

import argparse
import os

from pellucid.cli.arguments import configuration
from pellucid.cli.lines import put, tell


def run(arguments: argparse.Namespace) -> None:
    """Prepare the text of a configuration; print the folder on standard output."""
    config = configuration(arguments.config, dict(arguments.settings))  # before torch is imported
    from pellucid.learning.preparing import prepare

    prepare(config, arguments.out, arguments.processes or os.cpu_count() or 1, tell)
    put([str(arguments.out)])
