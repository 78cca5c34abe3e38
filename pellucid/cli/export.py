"""pellucid export: a model of ours for another program."""

import argparse

from pellucid.cli.arguments import NO_CHECK, Option, folder, model

ABOUT = "write a model for another program, and compare what that computes with the model"
EXAMPLES = """
pellucid export huggingface runs/m30k runs/m30k-marian
pellucid export ctranslate2 runs/m30k runs/m30k-ct2 --quantization int8
"""
PROGRAM = "huggingface: a MarianMT folder for transformers; ctranslate2: a folder for that engine"
HOW = "how CTranslate2 keeps the weights (default: float32)"
QUANTIZATIONS = ("float32", "int8", "int8_float32", "int16")
OPTIONS = (
    Option("PROGRAM", PROGRAM, choices=("huggingface", "ctranslate2")),
    Option("MODEL", "a model folder, or the word demo", type=model),
    Option("OUT", "the new folder", type=folder),
    Option("--quantization", HOW, choices=QUANTIZATIONS, default=QUANTIZATIONS[0]),
    NO_CHECK,
)


def run(arguments: argparse.Namespace) -> None:
    """Export the model; the report goes to standard error, the folder's name to standard output."""
    from pellucid.cli.lines import put, tell
    from pellucid.interop.exporting import export
    from pellucid.interop.loading import load_folder
    from pellucid.translator import folder_of

    loaded = load_folder(folder_of(arguments.model))
    check, quantization = not arguments.no_check, arguments.quantization
    conversion = export(arguments.program, loaded, arguments.out, check, quantization)
    tell(str(conversion))
    put([str(conversion.out)])
