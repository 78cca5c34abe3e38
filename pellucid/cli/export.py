"""pellucid export: write a model for another program."""

import argparse

from pellucid.cli.lines import put, tell
from pellucid.interop.exporting import export
from pellucid.interop.importing import load_folder
from pellucid.translator import folder_of


def run(arguments: argparse.Namespace) -> None:
    """Export the model; print the report on standard error, the folder's name on standard output."""
    loaded = load_folder(folder_of(arguments.model))
    check, quantization, see = not arguments.no_check, arguments.quantization, arguments.see
    conversion = export(arguments.program, loaded, arguments.out, check, quantization, see)
    tell(str(conversion))
    put([str(conversion.out)])
