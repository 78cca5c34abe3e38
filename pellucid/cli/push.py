"""pellucid push: give a model away on a hub."""

import argparse

from pellucid.cli.lines import put
from pellucid.interop.hub import push
from pellucid.translator import folder_of


def run(arguments: argparse.Namespace) -> None:
    """Upload a model folder with its card, and print its address."""
    put([push(folder_of(arguments.model), arguments.name, arguments.private, arguments.licence)])
