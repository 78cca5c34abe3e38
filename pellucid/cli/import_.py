"""pellucid import: turn a model of another program into a model folder."""

import argparse

from pellucid.cli.lines import put, tell
from pellucid.interop.importing import import_model


def run(arguments: argparse.Namespace) -> None:
    """Import the model; print the report on standard error, the folder's name on standard output."""
    check, source = not arguments.no_check, arguments.source_language
    conversion = import_model(arguments.path, arguments.out, check, source)
    tell(str(conversion))
    put([str(conversion.out)])
