"""pellucid import: a model of another program as a model folder of ours."""

import argparse

from pellucid.cli.lines import put, tell
from pellucid.interop.importing import import_model


def run(arguments: argparse.Namespace) -> None:
    """Import the model; the report goes to standard error, the folder's name to standard output."""
    check, source = not arguments.no_check, arguments.source_language
    conversion = import_model(arguments.path, arguments.out, check, source)
    tell(str(conversion))
    put([str(conversion.out)])
