"""pellucid export: a model of ours for another program."""

import argparse

from pellucid.cli.lines import put, tell
from pellucid.interop.exporting import export
from pellucid.interop.importing import load_folder
from pellucid.translator import folder_of


def run(arguments: argparse.Namespace) -> None:
    """Export the model; the report goes to standard error, the folder's name to standard output."""
    loaded = load_folder(folder_of(arguments.model))
    check, quantization, see = not arguments.no_check, arguments.quantization, arguments.see
    conversion = export(arguments.program, loaded, arguments.out, check, quantization, see)
    tell(str(conversion))
    put([str(conversion.out)])
